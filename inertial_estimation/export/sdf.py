"""SDF, the format of Gazebo and Drake: a model made from a URDF, and inertias written into a model.

A link of a URDF that has no mass and is fixed to another is a frame of the SDF: an SDF link without an
inertia would weigh 1 kg.
"""

from collections.abc import Mapping
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from inertial_estimation.errors import ModelError, listing
from inertial_estimation.models.urdf import XmlDocument, numbers_text, parse_xml
from inertial_estimation.models.urdf_inertia import MOMENTS, link_parameters
from inertial_estimation.signals import Array
from inertial_estimation.spatial.inertial_parameters import InertialParameters

VERSION = "1.9"
TYPES = {"revolute": "revolute", "continuous": "revolute", "prismatic": "prismatic", "fixed": "fixed"}
LIMITS = ("lower", "upper", "effort", "velocity")
SHAPES = {"box": ("size",), "cylinder": ("radius", "length"), "sphere": ("radius",)}


def sdf_from_urdf(urdf: str, *, floating_base: bool) -> str:
    """Convert a URDF: links, joints with axes, limits and friction, shapes; no plugins, no transmissions.

    Args:
        urdf: XML text; every link that moves, and the root, has a mass.
        floating_base: Whether the root moves freely; otherwise it is fixed to the world.

    Returns:
        SDF.

    Raises:
        ModelError: If a joint's type has no counterpart.
    """
    robot = parse_xml(urdf, "the URDF")
    joints = {_attribute(joint, "child", "link"): joint for joint in robot.iter("joint") if _is_joint(joint)}
    inertias = {name: InertialParameters.from_vector(pi) for name, pi in link_parameters(urdf).items()}
    _check(joints)
    sdf = Element("sdf", {"version": VERSION})
    model = SubElement(sdf, "model", {"name": robot.get("name") or "robot"})
    root = next(str(link.get("name")) for link in robot.findall("link") if link.get("name") not in joints)
    is_world = root == "world" and not floating_base  # the name is reserved for it
    for link in robot.findall("link"):
        name = str(link.get("name"))
        joint = joints.get(name)
        if is_world and name == root:
            continue
        if not inertias[name].mass > 0.0 and joint is not None:
            frame = SubElement(
                model, "frame", {"name": name, "attached_to": _attribute(joint, "parent", "link")}
            )
            SubElement(frame, "pose").text = _pose(joint)
            continue
        _add_link(model, link, joint, inertias[name])
        if joint is not None:
            _add_joint(model, joint)
    if not floating_base and not is_world:
        fixed = SubElement(model, "joint", {"name": "fixed_to_world", "type": "fixed"})
        SubElement(fixed, "parent").text, SubElement(fixed, "child").text = "world", root
    ElementTree.indent(sdf)
    return '<?xml version="1.0"?>\n' + ElementTree.tostring(sdf, encoding="unicode") + "\n"


def sdf_links(sdf: str) -> dict[str, Element]:
    """Return the links of a model by name."""
    return XmlDocument.parsed(sdf, "the SDF").named("link")


def sdf_with_inertias(sdf: str, inertias: Mapping[str, InertialParameters]) -> str:
    """Return a model in which links have other inertias.

    Args:
        sdf: XML text.
        inertias: Inertia about the link's frame, by link.

    Raises:
        ModelError: If there is no such link.
    """
    document = XmlDocument.parsed(sdf, "the SDF")
    links = document.named("link")
    for name, inertia in inertias.items():
        if name not in links:
            raise ModelError(f"no link '{name}' in the SDF")
        for other in links[name].findall("inertial"):
            links[name].remove(other)
        inertial = _inertial(inertia)
        ElementTree.indent(inertial, level=3)
        inertial.tail = links[name].text
        links[name].insert(0, inertial)
    return document.text()


def sdf_mass(link: Element) -> tuple[float, Array] | None:
    """Return mass [kg] and centre of mass [m] of a link; None where it has no inertia of its own."""
    mass, place = link.findtext("inertial/mass"), link.findtext("inertial/pose", "").split()
    if mass is None:
        return None
    return float(mass), np.array([float(number) for number in place[:3]] or [0.0, 0.0, 0.0])


def _check(joints: Mapping[str, Element]) -> None:
    others = [joint for joint in joints.values() if joint.get("type") not in TYPES]
    unknown = [f"{joint.get('name')} ({joint.get('type')})" for joint in others]
    if unknown:
        raise ModelError(f"no counterpart in SDF for {listing(unknown)}, expected {listing(TYPES)}")


def _is_joint(element: Element) -> bool:
    return element.find("child") is not None  # a <joint> of a transmission has none


def _attribute(element: Element, tag: str, name: str) -> str:
    child = element.find(tag)
    return "" if child is None else str(child.get(name, ""))


def _pose(element: Element) -> str:
    """Return x y z roll pitch yaw of an element's origin; the convention is the same in both formats."""
    xyz, rpy = (_attribute(element, "origin", name) or "0 0 0" for name in ("xyz", "rpy"))
    return f"{' '.join(xyz.split())} {' '.join(rpy.split())}"


def _inertial(inertia: InertialParameters) -> Element:
    element = Element("inertial")
    SubElement(element, "pose").text = f"{numbers_text(inertia.com_F)} 0 0 0"
    SubElement(element, "mass").text = numbers_text([inertia.mass])
    moments = SubElement(element, "inertia")
    for name, ij in MOMENTS.items():
        SubElement(moments, name).text = numbers_text([inertia.inertia_Fcm[ij]])
    return element


def _add_link(model: Element, link: Element, joint: Element | None, inertia: InertialParameters) -> None:
    made = SubElement(model, "link", {"name": str(link.get("name"))})
    if joint is not None:
        SubElement(made, "pose", {"relative_to": str(joint.get("name"))})
    if inertia.mass > 0.0:
        made.append(_inertial(inertia))
    for kind in ("collision", "visual"):
        for number, shape in enumerate(link.findall(kind)):
            _add_shape(made, shape, f"{link.get('name')}_{kind}_{number}")


def _add_shape(link: Element, shape: Element, name: str) -> None:
    geometry = shape.find("geometry")
    if geometry is None or not len(geometry):
        return
    made = SubElement(link, shape.tag, {"name": name})
    SubElement(made, "pose").text = _pose(shape)
    form = geometry[0]
    target = SubElement(SubElement(made, "geometry"), form.tag)
    if form.tag == "mesh":
        SubElement(target, "uri").text = form.get("filename")
        if form.get("scale"):
            SubElement(target, "scale").text = form.get("scale")
    for name in SHAPES.get(form.tag, ()):
        SubElement(target, name).text = form.get(name)


def _add_joint(model: Element, joint: Element) -> None:
    kind = str(joint.get("type"))
    made = SubElement(model, "joint", {"name": str(joint.get("name")), "type": TYPES[kind]})
    SubElement(made, "pose", {"relative_to": _attribute(joint, "parent", "link")}).text = _pose(joint)
    for tag in ("parent", "child"):
        SubElement(made, tag).text = _attribute(joint, tag, "link")
    if kind == "fixed":
        return
    axis = SubElement(made, "axis")
    SubElement(axis, "xyz").text = _attribute(joint, "axis", "xyz") or "1 0 0"
    given = joint.find("limit")
    if given is not None:
        limit = SubElement(axis, "limit")
        for name in LIMITS:
            if given.get(name) is not None and not (kind == "continuous" and name in ("lower", "upper")):
                SubElement(limit, name).text = given.get(name)
    friction = joint.find("dynamics")
    if friction is not None:
        dynamics = SubElement(axis, "dynamics")
        for name in ("damping", "friction"):
            if friction.get(name) is not None:
                SubElement(dynamics, name).text = friction.get(name)
