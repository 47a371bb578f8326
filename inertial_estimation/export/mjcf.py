"""MJCF, the format of MuJoCo: a model made from a URDF by MuJoCo, and inertias written into a model."""

from collections.abc import Mapping
from typing import Any
from xml.dom import minidom

import numpy as np

from inertial_estimation.errors import MissingDependencyError, ModelError, one_line
from inertial_estimation.models.urdf_document import (
    child_of,
    named_elements,
    numbers_of,
    numbers_text,
    parsed_document,
    remove_children,
    set_child,
)
from inertial_estimation.signals import Array
from inertial_estimation.spatial.inertial_parameters import InertialParameters

ROTATIONS = ("quat", "axisangle", "xyaxes", "zaxis", "euler")  # of the axes of the inertia
_UPPER = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))  # order of MJCF's fullinertia


def mjcf_from_urdf(urdf: str, *, floating_base: bool) -> str:
    """Convert a URDF by MuJoCo: a body for every link, primitive collision shapes, no meshes.

    Args:
        urdf: XML text; every link that moves, and the root, has a mass.
        floating_base: Whether the root moves freely.

    Returns:
        MJCF.

    Raises:
        MissingDependencyError: If MuJoCo is not installed.
        ModelError: If MuJoCo refuses the description.
    """
    mujoco = _mujoco()
    try:
        spec = mujoco.MjSpec.from_string(_for_mujoco(urdf))
        if floating_base:
            spec.worldbody.first_body().add_freejoint()
        spec.compile()
        return str(spec.to_xml())
    except ValueError as error:
        raise ModelError(f"MuJoCo cannot convert the description: {one_line(error)}") from error


def mjcf_bodies(mjcf: str) -> dict[str, minidom.Element]:
    """Return the named bodies of a model; those of files that it includes are not seen."""
    return named_elements(parsed_document(mjcf, "the MJCF"), "body")


def mjcf_with_inertias(mjcf: str, inertias: Mapping[str, InertialParameters]) -> str:
    """Return a model in which bodies have other inertias.

    Args:
        mjcf: XML text.
        inertias: Inertia about the body's frame, by body.

    Raises:
        ModelError: If there is no such body.
    """
    document = parsed_document(mjcf, "the MJCF")
    bodies = named_elements(document, "body")
    for name, inertia in inertias.items():
        if name not in bodies:
            raise ModelError(f"no body '{name}' in the MJCF")
        values = {
            "pos": numbers_text(inertia.com_F),
            "mass": numbers_text([inertia.mass]),
            "fullinertia": numbers_text(inertia.inertia_Fcm[ij] for ij in _UPPER),
        }
        element = set_child(bodies[name], "inertial", values, first=True)
        for other in (*ROTATIONS, "diaginertia"):
            if element.hasAttribute(other):
                element.removeAttribute(other)
    return document.toxml() + "\n"


def mjcf_mass(body: minidom.Element) -> tuple[float, Array] | None:
    """Return mass [kg] and centre of mass [m] of a body; None where they follow from its shapes."""
    inertial = child_of(body, "inertial")
    if inertial is None or not inertial.hasAttribute("mass"):
        return None
    return float(inertial.getAttribute("mass")), np.array(numbers_of(inertial, "pos"))


def _for_mujoco(urdf: str) -> str:
    """Take away what MuJoCo would look for in files, and keep every link a body of its own."""
    document = parsed_document(urdf, "the URDF")
    root = document.documentElement
    assert root is not None
    for link in root.getElementsByTagName("link"):
        remove_children(link, "visual")
        for shape in list(link.getElementsByTagName("collision")):
            geometry = child_of(shape, "geometry")
            if geometry is None or child_of(geometry, "mesh") is not None:
                link.removeChild(shape)
    remove_children(root, "mujoco")
    compiler = {"fusestatic": "false", "balanceinertia": "false", "inertiafromgeom": "false"}
    set_child(set_child(root, "mujoco", {}, first=True), "compiler", compiler)
    return document.toxml()


def _mujoco() -> Any:
    try:
        import mujoco
    except ImportError as error:
        raise MissingDependencyError(
            "a conversion to MJCF needs mujoco (pip install 'inertial_estimation[sim]'); or give an MJCF of "
            "the robot with --model"
        ) from error
    return mujoco
