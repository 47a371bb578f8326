"""Checks of a URDF before Pinocchio reads it, which takes impossible values and ends on very long chains.

What makes a robot impossible is an error: a negative mass, an axis of length zero, two parents. Zero masses
and inertias that no body has are frequent in manufacturers' files, on links that do not matter; they are
warnings (`urdf_warnings`), and errors only for a link whose inertia is a prior (`check_priors`).
"""

import math
import re
from collections import Counter
from collections.abc import Mapping
from xml.etree.ElementTree import Element

import numpy as np

from inertial_estimation.errors import ModelError, listing, one_line
from inertial_estimation.models.xml_text import parse_xml
from inertial_estimation.spatial.inertial_parameters import InertialParameters

MOST_MOVING_JOINTS = 200  # Pinocchio's data grow with the third power: 640 MB at 200, 1.9 GB at 300
MOST_LINKS = 5000
LONGEST_CHAIN = 250  # links; the parser's recursion ends the process some way beyond 1000
LARGEST_NUMBER = 1e6  # of masses [kg], moments [kg m^2], positions [m] and angles [rad]
SMALLEST_AXIS = 1e-6
ROUND_OFF = 1e-6  # share of an inertia; its square, in kg m^2, of moments that are meant to be zero
NEGLIGIBLE_MASS = 1e-4  # [kg], of links that only carry a frame
JOINT_TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")
NO_LIMIT = "1e9"  # [rad, m, Nm, N ...], in place of an infinite limit, which the parsers of URDFs refuse
_PADDED = re.compile(r"""=\s*(["'])\s*([-+.\deE]+)\s+\1""")  # also by a blank that does not break
_NEGATIVE_LIMIT = re.compile(r"""\b(effort|velocity)(\s*=\s*)(["'])\s*-[^"']*\3""")
_INFINITE_LIMIT = re.compile(
    r"""\b(lower|upper|effort|velocity)(\s*=\s*)(["'])\s*([+-]?)inf(?:inity)?\s*\3""", re.IGNORECASE
)
MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")


def plain_numbers(urdf: str) -> str:
    """Return a URDF whose numbers parsers take as they are meant.

    Exporters write infinite limits (``lower="-Inf"``), which become huge ones, efforts and speeds of -1 for
    none, which become zero, and blanks behind a number, for which the parser drops the whole inertia.

    Args:
        urdf: XML text.
    """
    text = _INFINITE_LIMIT.sub(rf"\1\2\3\g<4>{NO_LIMIT}\3", _PADDED.sub(r"=\1\2\1", urdf))
    return _NEGATIVE_LIMIT.sub(r"\1\2\g<3>0\3", text)


def check_urdf(urdf: str, where: str = "the robot description") -> Element:
    """Check that a text is a URDF of a possible robot.

    Args:
        urdf: XML text.
        where: Where it came from, for messages (``'robot.urdf'``, ``topic /robot_description``).

    Returns:
        The root element.

    Raises:
        ModelError: If it is not well-formed XML, not a URDF, not one tree of links, too large, or holds
            an impossible value; the message names the place, the link or joint, and the value.
    """
    root = parse_xml(urdf, where)
    try:
        if root.tag != "robot":
            raise _ImpossibleError(f"its root element is <{one_line(root.tag, limit=80)}>, expected <robot>")
        _check_expanded(root)
        links = _named(root, "link")
        joints = _named(root, "joint")
        _check_tree(links, joints)
        for name, link in links.items():
            _check_link(name, link)
        for name, joint in joints.items():
            _check_joint(name, joint)
    except _ImpossibleError as error:
        raise ModelError(f"{where} is not a usable URDF: {one_line(error)}") from None
    return root


def urdf_warnings(urdf: str) -> list[str]:
    """Return what is doubtful in a URDF that `check_urdf` accepts, a sentence for each kind.

    Args:
        urdf: XML text.
    """
    massless, inconsistent = [], []
    for name, link in _named(check_urdf(urdf), "link").items():
        inertia = _link_inertia(link)
        if inertia is None:
            continue
        if not inertia.mass > 0.0:
            massless += [f"'{name}'"] if inertia.inertia_Fcm.any() else []
        elif inertia.mass > NEGLIGIBLE_MASS and inertia.inconsistency > ROUND_OFF:
            inconsistent.append(f"'{name}' ({'; '.join(inertia.violations())})")
    said = []
    if massless:
        said.append(f"links of mass zero with an inertia, which is not used alone: {listing(massless)}")
    if inconsistent:
        said.append(f"inertias in the URDF that no body has: {listing(inconsistent, limit=10)}")
    return said


def _link_inertia(link: Element) -> InertialParameters | None:
    """Return the inertia of a checked link about its centre of mass; None without one.

    The axes are those of its <inertial>; the centre of mass is left at zero.
    """
    inertial = link.find("inertial")
    if inertial is None:
        return None
    mass, inertia = inertial.find("mass"), inertial.find("inertia")
    (kilograms,) = _numbers("", mass, "mass", "value")
    xx, xy, xz, yy, yz, zz = (_numbers("", inertia, "inertia", moment)[0] for moment in MOMENTS)
    return InertialParameters(kilograms, np.zeros(3), np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))


class _ImpossibleError(Exception):
    """What is wrong with a URDF."""


def _check_expanded(root: Element) -> None:
    """Raise for macros that xacro has not replaced; paths of meshes are not read."""
    macro = next((element.tag for element in root.iter() if element.tag.startswith("xacro:")), "")
    for element in root.iter() if not macro else ():
        if element.tag not in ("mesh", "texture") and any(
            mark in text for text in element.attrib.values() for mark in ("${", "$(")
        ):
            macro = element.tag
    if macro:
        raise _ImpossibleError(
            f"it has the xacro <{macro}>, expected a URDF: expand it by `xacro FILE > robot.urdf`"
        )


def _named(root: Element, tag: str) -> dict[str, Element]:
    elements = root.findall(tag)
    names = [element.get("name", "") for element in elements]
    if not all(name.strip() for name in names):
        raise _ImpossibleError(f"a {tag} has no name")
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise _ImpossibleError(f"several {tag}s are named '{twice[0]}'")
    return dict(zip(names, elements, strict=True))


def _check_tree(links: Mapping[str, Element], joints: Mapping[str, Element]) -> None:
    """Raise unless the joints make one tree of the links, not too large and not too deep."""
    if not links:
        raise _ImpossibleError("it has no link")
    moving = sum(joint.get("type") != "fixed" for joint in joints.values())
    for count, most, what in (
        (len(links), MOST_LINKS, "links"),
        (moving, MOST_MOVING_JOINTS, "moving joints"),
    ):
        if count > most:
            raise _ImpossibleError(f"it has {count} {what}, expected at most {most}")
    parents: dict[str, str] = {}
    for name, joint in joints.items():
        parent, child = (_link_of(name, joint, end, links) for end in ("parent", "child"))
        if child in parents:
            raise _ImpossibleError(f"link '{child}' is the child of several joints, one of them '{name}'")
        parents[child] = parent
    roots = [name for name in links if name not in parents]
    if len(roots) != 1:
        got = f"{len(roots)} root links ({listing(roots, limit=5)})" if roots else "a circle of joints"
        raise _ImpossibleError(f"it has {got}, expected one tree of links with one root")
    depths = {roots[0]: 1}
    for link in links:
        depth = _depth(link, parents, depths)
        if depth > LONGEST_CHAIN:
            raise _ImpossibleError(
                f"link '{link}' is at the end of a chain of {depth} links or more, "
                f"expected at most {LONGEST_CHAIN}"
            )


def _depth(link: str, parents: Mapping[str, str], depths: dict[str, int]) -> int:
    """Return the number of links from the root to a link, which is stored for all between them."""
    chain: list[str] = []
    while link not in depths:
        chain.append(link)
        link = parents[link]
        if len(chain) > len(parents):
            raise _ImpossibleError(f"the joints at link '{link}' make a circle, expected one tree of links")
    depth = depths[link]
    for below in reversed(chain):
        depth += 1
        depths[below] = depth
    return depth


def _link_of(name: str, joint: Element, end: str, links: Mapping[str, Element]) -> str:
    element = joint.find(end)
    link = element.get("link", "") if element is not None else ""
    if link not in links:
        raise _ImpossibleError(f"the {end} of joint '{name}' is link '{link}', which does not exist")
    return link


def _check_link(name: str, link: Element) -> None:
    where = f"link '{name}'"
    if len(link.findall("inertial")) > 1:
        raise _ImpossibleError(f"{where} has several <inertial>")
    inertial = link.find("inertial")
    if inertial is None:
        return
    _check_origin(where, inertial)
    (mass,) = _numbers(where, inertial.find("mass"), "mass", "value")
    if mass < 0.0:
        raise _ImpossibleError(f"{where} has the mass {mass:g} kg, expected at least 0")
    for moment in MOMENTS:
        (value,) = _numbers(where, inertial.find("inertia"), "inertia", moment)
        if value < -(ROUND_OFF**2) and moment in ("ixx", "iyy", "izz"):
            raise _ImpossibleError(f"{where} has the inertia {moment}='{value:g}', expected at least 0")


def _check_joint(name: str, joint: Element) -> None:
    where, kind = f"joint '{name}'", joint.get("type", "")
    if kind not in JOINT_TYPES:
        raise _ImpossibleError(f"{where} has the type '{kind}', expected one of {listing(JOINT_TYPES)}")
    _check_origin(where, joint)
    if kind in ("fixed", "floating"):
        return
    axis = joint.find("axis")
    if axis is not None and math.hypot(*_numbers(where, axis, "axis", "xyz", 3)) < SMALLEST_AXIS:
        raise _ImpossibleError(f"{where} has the axis '{axis.get('xyz')}', expected a direction")
    limit = joint.find("limit")
    if limit is None:
        if kind in ("revolute", "prismatic"):
            raise _ImpossibleError(f"{where} of type {kind} has no <limit>")
        return
    values = {
        attribute: _limit(where, limit, attribute) for attribute in ("lower", "upper", "effort", "velocity")
    }
    if kind in ("revolute", "prismatic") and values["lower"] > values["upper"]:
        raise _ImpossibleError(
            f"{where} has the lower limit {values['lower']:g} and the upper limit {values['upper']:g}, "
            "expected the lower one not to be above"
        )
    for attribute in ("effort", "velocity"):
        if values[attribute] < 0.0:
            raise _ImpossibleError(
                f"{where} has the {attribute} limit {values[attribute]:g}, expected at least 0"
            )


def _limit(where: str, limit: Element, attribute: str) -> float:
    if attribute in ("lower", "upper") and limit.get(attribute) is None:
        return 0.0  # as URDF defines it
    return _numbers(where, limit, "limit", attribute, largest=math.inf)[0]


def _check_origin(where: str, element: Element) -> None:
    origin = element.find("origin")
    if origin is not None:
        for attribute in ("xyz", "rpy"):
            if origin.get(attribute) is not None:
                _numbers(where, origin, "origin", attribute, 3)


def _numbers(
    where: str,
    element: Element | None,
    tag: str,
    attribute: str,
    count: int = 1,
    *,
    largest: float = LARGEST_NUMBER,
) -> list[float]:
    """Return the numbers of an attribute, read as the parser of URDFs reads them."""
    text = element.get(attribute) if element is not None else None
    if text is None:
        raise _ImpossibleError(f"{where} has no {tag} {attribute}")
    try:
        numbers = [float(word) for word in text.split()]
    except ValueError:
        numbers = []
    good = [number for number in numbers if math.isfinite(number) and abs(number) <= largest]
    if not len(good) == len(numbers) == count or "_" in text:
        expected = "a finite number" if count == 1 else f"{count} finite numbers"
        within = "" if largest == math.inf else f", at most {largest:g}"
        if attribute in ("lower", "upper") and any(map(math.isinf, numbers)):
            within = '; a joint that turns without limits has type="continuous"'
        raise _ImpossibleError(f"{where} has the {tag} {attribute}='{text}', expected {expected}{within}")
    return good
