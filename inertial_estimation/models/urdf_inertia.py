"""URDF text with other inertial parameters: estimated ones, or of a perturbed robot.

All else of a text stays as it was, comments and namespaces as well.
"""

from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement

import numpy as np
import pinocchio as pin
from numpy.random import Generator

from inertial_estimation.errors import ModelError, did_you_mean
from inertial_estimation.models.bodies import BodyReference
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.models.urdf import (
    MOMENTS,
    ROUND_OFF,
    XmlDocument,
    mass_and_moments,
    numbers_of,
    numbers_text,
    set_child,
)
from inertial_estimation.signals import Array
from inertial_estimation.spatial.inertial_parameters import InertialParameters


def urdf_with_bodies(
    urdf: str, robot: RobotModel, bodies: Sequence[BodyReference], parameters_L: Sequence[Array]
) -> str:
    """Return a URDF in which the inertial parameters of bodies are replaced.

    A body is a link with all that is fixed to it. The named link takes the difference: its own inertia
    plus the body's estimate less the body's nominal. Where that is no possible body by itself, it takes
    the whole estimate but for `ROUND_OFF`, which is left to the links fixed to it; the sum is the estimate.

    Args:
        urdf: XML text.
        robot: The model of it.
        bodies: The bodies.
        parameters_L: Parameters of each body in its link frame, Pinocchio's order, shape (10,) each.

    Raises:
        ModelError: If a link is not in the URDF.
    """
    document = XmlDocument.parsed(urdf, "the URDF")
    links = document.named("link")
    for body, whole in zip(bodies, parameters_L, strict=True):
        if body.link not in links:
            raise ModelError(f"no link '{body.link}' in the URDF{did_you_mean(body.link, links, 'it has')}")
        link = links[body.link]
        others = body.to_link @ body.nominal_C - _read(link)
        own = InertialParameters.from_vector(whole - others)
        if own.violations():
            own = InertialParameters.from_vector(whole - ROUND_OFF * others)
            for name in {*robot.body_links(body.joint_id)} - {body.link}:
                if name in links and (pi := _read(links[name]))[0] > 0.0:
                    _write(links[name], InertialParameters.from_vector(ROUND_OFF * pi))
        _write(link, own)
    return document.text()


def link_parameters(urdf: str) -> dict[str, Array]:
    """Return every link's own parameters about its frame, by link, zeros where it has none, (10,) each."""
    return {
        name: _read(element) for name, element in XmlDocument.parsed(urdf, "the URDF").named("link").items()
    }


def origin_of(element: Element) -> pin.SE3:
    """Return the pose of an element's ``origin``; identity where there is none."""
    origin = element.find("origin")
    xyz, rpy = (np.array(numbers_of(origin, name)) for name in ("xyz", "rpy"))
    return pin.SE3(pin.rpy.rpyToMatrix(rpy), xyz)


def urdf_with_load(urdf: str, link: str, name: str, inertia: InertialParameters) -> str:
    """Return a URDF with a load as a link of its own, fixed to another link in the same frame.

    Args:
        urdf: XML text.
        link: The link that carries the load.
        name: Name of the new link; its joint is called ``<name>_joint``.
        inertia: Inertia of the load in the frame of `link`.

    Raises:
        ModelError: If there is no link to carry it, or there is one of the load's name.
    """
    document = XmlDocument.parsed(urdf, "the URDF")
    links = document.named("link")
    if link not in links:
        raise ModelError(f"no link '{link}' in the URDF{did_you_mean(link, links, 'it has')}")
    if name in links:
        raise ModelError(f"the URDF already has a link '{name}', expected the name of a new one")
    _write(SubElement(document.root, "link", {"name": name}), inertia)
    joint = SubElement(document.root, "joint", {"name": f"{name}_joint", "type": "fixed"})
    SubElement(joint, "parent", {"link": link})
    SubElement(joint, "child", {"link": name})
    return document.text()


def perturbed_urdf(urdf: str, rng: Generator, *, mass_sigma: float, com_sigma: float) -> str:
    """Return the URDF of a robot with randomly perturbed masses and centres of mass.

    The mass of every link is multiplied by e^(sigma n), its rotational inertia with it, and its centre of
    mass is shifted; n and the shifts are normally distributed. The result is physically consistent.

    Args:
        urdf: XML text.
        rng: Source of the deviations.
        mass_sigma: Standard deviation of the logarithm of each mass.
        com_sigma: Standard deviation of each component of each centre of mass [m].
    """
    document = XmlDocument.parsed(urdf, "the URDF")
    for link in document.named("link").values():
        factor, move = np.exp(mass_sigma * rng.standard_normal()), com_sigma * rng.standard_normal(3)
        pi = _read(link)
        if pi[0] > 0.0:
            own = InertialParameters.from_vector(pi)
            moved = InertialParameters(factor * own.mass, own.com_F + move, factor * own.inertia_Fcm)
            _write(link, moved)
    return document.text()


def _read(link: Element) -> Array:
    inertial = link.find("inertial")
    if inertial is None:
        return np.zeros(10)
    (mass, moments), T = mass_and_moments(inertial), origin_of(inertial)
    return InertialParameters(mass, T.translation, T.rotation @ moments @ T.rotation.T).vector


def _write(link: Element, value: InertialParameters) -> None:
    inertial = set_child(link, "inertial", {})
    set_child(inertial, "origin", {"xyz": numbers_text(value.com_F), "rpy": "0 0 0"})
    set_child(inertial, "mass", {"value": f"{value.mass:.12g}"})
    set_child(inertial, "inertia", {name: f"{value.inertia_Fcm[ij]:.12g}" for name, ij in MOMENTS.items()})
