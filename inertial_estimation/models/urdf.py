"""Robot descriptions as XML: parsed, and checked before Pinocchio reads them.

Pinocchio takes impossible values. What makes a robot impossible is an error: a negative mass, an axis of
length zero, two parents. Zero masses and inertias that no body has are frequent in manufacturers' files, on
links that do not matter; they are warnings (`urdf_warnings`), and errors only for a link whose inertia is a
prior (`check_priors`).
"""

import itertools
import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement, TreeBuilder
from xml.parsers import expat

import numpy as np

from inertial_estimation.errors import ModelError, listing, one_line
from inertial_estimation.signals import Array
from inertial_estimation.spatial.inertial_parameters import InertialParameters

DEEPEST = 64  # elements within one another, which parsers of other libraries follow by recursion
LARGEST_NUMBER = 1e6  # of masses [kg], moments [kg m^2], positions [m] and angles [rad]
ROUND_OFF = 1e-6  # share of an inertia; length of an axis; its square, in kg m^2, of moments meant to be zero
NEGLIGIBLE_MASS = 1e-4  # [kg], of links that only carry a frame
JOINT_TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")
SHAPES = ("collision", "visual")
NO_LIMIT = "1e9"  # [rad, m, Nm, N ...], in place of an infinite limit, which the parsers of URDFs refuse
# names of the moments in URDF and SDF, and their entries in the matrix
MOMENTS = {"ixx": (0, 0), "ixy": (0, 1), "ixz": (0, 2), "iyy": (1, 1), "iyz": (1, 2), "izz": (2, 2)}
_PADDED = re.compile(r"""=\s*(["'])\s*([-+.\deE]+)\s+\1""")  # also by a blank that does not break
_NEGATIVE_LIMIT = re.compile(r"""\b(effort|velocity)(\s*=\s*)(["'])\s*-[^"']*\3""")
_INFINITE_LIMIT = re.compile(
    r"""\b(lower|upper|effort|velocity)(\s*=\s*)(["'])\s*([+-]?)inf(?:inity)?\s*\3""", re.IGNORECASE
)
_LIMIT = re.compile(r"<limit\b([^>]*?)(\s*/?>)")
_WORLD = r"""<{}\b[^>]*\b{}\s*=\s*["']world["']"""


@dataclass(frozen=True)
class XmlDocument:
    """An XML text whose elements can be changed; comments, prefixes and the order of attributes stay."""

    root: Element  # the root element; prefixes of names are part of them
    before: str  # text before it
    after: str  # text behind it

    @classmethod
    def parsed(cls, text: str, where: str, *, comments: bool = True) -> "XmlDocument":
        """Parse a text.

        Args:
            text: The text.
            where: Where it came from, for messages.
            comments: Whether comments become elements, too.

        Raises:
            ModelError: If it is not well-formed, too deep, or defines entities: one that holds others ten
                times, ten deep, takes gigabytes. The message names the line.
        """
        builder, parser = TreeBuilder(insert_comments=comments), expat.ParserCreate("utf-8")
        open_tags, bounds = list[str](), list[int]()

        def start(tag: str, attributes: dict[str, str]) -> None:
            if not open_tags:
                bounds.append(parser.CurrentByteIndex)
            open_tags.append(tag)
            if len(open_tags) > DEEPEST:
                raise _ImpossibleError(f"elements nested more than {DEEPEST} deep")
            builder.start(tag, attributes)

        def end(tag: str) -> None:
            open_tags.pop()
            if not open_tags:
                bounds.append(parser.CurrentByteIndex)
            builder.end(tag)

        def comment(said: str) -> None:
            if open_tags:
                builder.comment(said)

        def entity(name: str, *_rest: Any) -> None:
            raise _ImpossibleError(f"a definition of the entity '{name}'")

        parser.buffer_text = True
        parser.StartElementHandler, parser.EndElementHandler = start, end
        parser.CharacterDataHandler, parser.CommentHandler = builder.data, comment
        parser.EntityDeclHandler = entity
        try:
            data = text.lstrip("\ufeff").encode()
            parser.Parse(data, True)
        except expat.ExpatError as error:
            said = expat.errors.messages.get(error.code, str(error))
            line = f"line {error.lineno} is not well-formed XML: {said}"
            raise ModelError(f"{where} is no URDF: {line}") from error
        except _ImpossibleError as error:
            line = f"line {parser.CurrentLineNumber} has {one_line(error)}"
            raise ModelError(f"{where} is no URDF: {line}") from None
        except ValueError as error:  # a lone surrogate
            raise ModelError(f"{where} is not a text that UTF-8 can hold: {one_line(error)}") from error
        after = data[bounds[1] :]
        if after.startswith(b"</"):  # an empty root has ended already
            after = after.partition(b">")[2]
        return cls(builder.close(), data[: bounds[0]].decode(), after.decode())

    def named(self, tag: str) -> dict[str, Element]:
        """Return all elements with a tag, at any depth, by their attribute ``name``."""
        return {element.get("name", ""): element for element in self.root.iter(tag)}

    def parent_joints(self) -> dict[str, Element]:
        """Return the joints of a URDF by the name of their child link."""
        found = ((joint.find("child"), joint) for joint in self.root.iter("joint"))
        return {child.get("link", ""): joint for child, joint in found if child is not None}

    def text(self) -> str:
        """Return the XML text."""
        return self.before + ElementTree.tostring(self.root, encoding="unicode") + self.after


def set_child(element: Element, tag: str, attributes: Mapping[str, str]) -> Element:
    """Set attributes of the first child with a tag, which is added where there is none; return it."""
    child = element.find(tag)
    if child is None:
        child = SubElement(element, tag)
    child.attrib.update(attributes)
    return child


def numbers_of(element: Element | None, name: str) -> list[float]:
    """Return the three numbers of an attribute such as ``xyz``; zeros where it is missing."""
    text = element.get(name, "") if element is not None else ""
    return [float(number) for number in text.split()] or [0.0, 0.0, 0.0]


def mass_and_moments(inertial: Element) -> tuple[float, Array]:
    """Return the numbers of an ``inertial``: mass [kg] and moments in its axes [kg m^2], shape (3, 3)."""
    moments = np.zeros((3, 3))
    for name, (i, j) in MOMENTS.items():
        moments[i, j] = moments[j, i] = float(attribute_of(inertial, "inertia", name) or "0")
    return float(attribute_of(inertial, "mass", "value") or "0"), moments


def numbers_text(values: Iterable[float]) -> str:
    """Return numbers as the text of an attribute or element, precise to twelve digits."""
    return " ".join(f"{value:.12g}" for value in values)


def parse_xml(text: str, where: str) -> Element:
    """Return the root element of an XML text without its comments; as `XmlDocument.parsed`."""
    return XmlDocument.parsed(text, where, comments=False).root


def plain_urdf(urdf: str) -> str:
    """Return a URDF that parsers take as it is meant.

    Exporters write infinite limits (``lower="-Inf"``), which become huge ones, efforts and speeds of -1 for
    none, which become zero, limits without an effort or a speed, which the parser refuses, and blanks behind
    a number, for which it drops the whole inertia. For Drake the link "world" need not be written.
    """
    of_world, world = (_WORLD.format(*names) for names in (("parent", "link"), ("link", "name")))
    if re.search(of_world, urdf) and not re.search(world, urdf):
        urdf = re.sub(r"(<robot\b[^>]*>)", r'\1<link name="world"/>', urdf, count=1)
    text = _INFINITE_LIMIT.sub(rf"\1\2\3\g<4>{NO_LIMIT}\3", _PADDED.sub(r"=\1\2\1", urdf))
    return _LIMIT.sub(_completed, _NEGATIVE_LIMIT.sub(r"\1\2\g<3>0\3", text))


def _completed(limit: re.Match[str]) -> str:
    lacking = (name for name in ("effort", "velocity") if not re.search(rf"\b{name}\s*=", limit[1]))
    return "<limit" + limit[1] + "".join(f' {name}="0"' for name in lacking) + limit[2]


def check_urdf(urdf: str, where: str = "the robot description") -> Element:
    """Check that a text is a URDF of a possible robot.

    Args:
        urdf: XML text.
        where: Where it came from, for messages (``'robot.urdf'``, ``topic /robot_description``).

    Returns:
        The root element.

    Raises:
        ModelError: If it is not well-formed XML, not a URDF, not one tree of links, or holds an impossible
            value; the message names the place, the link or joint, and the value.
    """
    root = parse_xml(urdf, where)
    try:
        if root.tag != "robot":
            raise _ImpossibleError(f"its root element is <{one_line(root.tag, limit=80)}>, expected <robot>")
        _check_expanded(root)
        links, joints = _named(root, "link"), _named(root, "joint")
        _check_tree(links, joints)
        for name, link in links.items():
            _check_link(f"link '{name}'", link)
        for name, joint in joints.items():
            _check_joint(f"joint '{name}'", joint)
    except _ImpossibleError as error:
        raise ModelError(f"{where} is not a usable URDF: {one_line(error)}") from None
    return root


def with_shapes(urdf: str, links: Collection[str] = (), kind: str = "") -> str:
    """Return a URDF in which only some links have shapes, and only of one kind.

    Materials are left out, too: for one without a name the parser writes to the terminal.

    Args:
        urdf: XML text; checked as by `check_urdf`.
        links: Links that keep their shapes.
        kind: Kind of the shapes that they keep: collision or visual.
    """
    root = check_urdf(urdf)
    for link in root.findall("link"):
        kept = (kind,) if link.get("name") in links else ()
        for shape in [child for child in link if child.tag in SHAPES and child.tag not in kept]:
            link.remove(shape)
    for owner in list(root.iter()):
        for material in owner.findall("material"):
            owner.remove(material)
    return ElementTree.tostring(root, encoding="unicode")


def urdf_warnings(urdf: str) -> list[str]:
    """Return what is doubtful in a URDF that `check_urdf` accepts, a sentence for each kind."""
    massless, inconsistent, root = [], [], check_urdf(urdf)
    for name, link in _named(root, "link").items():
        inertial = link.find("inertial")
        if inertial is None:
            continue
        mass, moments = mass_and_moments(inertial)
        inertia = InertialParameters(mass, np.zeros(3), moments)  # about the centre of mass
        if not mass > 0.0:
            massless += [f"'{name}'"] if moments.any() else []
        elif mass > NEGLIGIBLE_MASS and inertia.inconsistency > ROUND_OFF:
            inconsistent.append(f"'{name}' ({'; '.join(inertia.violations())})")
    said = []
    if massless:
        said.append(f"links of mass zero with an inertia, which is not used alone: {listing(massless)}")
    if inconsistent:
        said.append(f"inertias in the URDF that no body has: {listing(inconsistent, limit=10)}")
    followed = {n: attribute_of(joint, "mimic", "joint") for n, joint in _named(root, "joint").items()}
    lone = [f"'{name}' ('{other}')" for name, other in followed.items() if other and other not in followed]
    if lone:
        said.append(f"joints that mimic one that the URDF lacks, locked by init: {listing(lone)}")
    return said


class _ImpossibleError(Exception):
    """What is wrong with a URDF."""


def _check_expanded(root: Element) -> None:
    """Raise for macros that xacro has not replaced; paths of meshes are not read."""
    for element in root.iter():
        texts = element.attrib.values() if element.tag not in ("mesh", "texture") else ()
        if element.tag.startswith("xacro:") or any("${" in text or "$(" in text for text in texts):
            raise _ImpossibleError(
                f"it has the xacro <{element.tag}>, expected a URDF: expand it by `xacro FILE > robot.urdf`"
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
    """Raise unless the joints make one tree of the links."""
    if not links:
        raise _ImpossibleError("it has no link")
    children: dict[str, list[str]] = {name: [] for name in links}
    roots = dict.fromkeys(links)
    for name, joint in joints.items():
        parent, child = attribute_of(joint, "parent", "link"), attribute_of(joint, "child", "link")
        for end, link in (("parent", parent), ("child", child)):
            if link not in links:
                raise _ImpossibleError(f"the {end} of joint '{name}' is link '{link}', which does not exist")
        if child not in roots:
            raise _ImpossibleError(f"link '{child}' is the child of several joints, one of them '{name}'")
        del roots[child]
        children[parent].append(child)
    if len(roots) != 1:
        got = f"{len(roots)} root links ({listing(roots, limit=5)})" if roots else "a circle of joints"
        raise _ImpossibleError(f"it has {got}, expected one tree of links with one root")
    reached = [*roots]
    for link in reached:
        reached += children[link]
    lost = links.keys() - reached
    if lost:
        raise _ImpossibleError(f"the joints at link '{min(lost)}' make a circle, expected one tree of links")


def _check_link(where: str, link: Element) -> None:
    inertials = link.findall("inertial")
    if len(inertials) > 1:
        raise _ImpossibleError(f"{where} has several <inertial>")
    for inertial in inertials:
        _check_vectors(where, inertial)
        (mass,) = _numbers(where, inertial, "mass", "value")
        if mass < 0.0:
            raise _ImpossibleError(f"{where} has the mass {mass:g} kg, expected at least 0")
        for moment, (i, j) in MOMENTS.items():
            (value,) = _numbers(where, inertial, "inertia", moment)
            if i == j and value < -(ROUND_OFF**2):
                raise _ImpossibleError(f"{where} has the inertia {moment}='{value:g}', expected at least 0")


def _check_joint(where: str, joint: Element) -> None:
    kind, limit = joint.get("type", ""), joint.find("limit")
    if kind not in JOINT_TYPES:
        raise _ImpossibleError(f"{where} has the type '{kind}', expected one of {listing(JOINT_TYPES)}")
    moves, bounded = kind not in ("fixed", "floating"), kind in ("revolute", "prismatic")
    _check_vectors(where, joint, *(("axis",) if moves else ()))
    if bounded and limit is None:
        raise _ImpossibleError(f"{where} of type {kind} has no <limit>")
    if limit is None or not moves:
        return
    lower, upper = (
        _numbers(where, joint, "limit", name)[0] if name in limit.attrib else 0.0
        for name in ("lower", "upper")
    )
    if bounded and lower > upper:
        raise _ImpossibleError(
            f"{where} has the lower limit {lower:g} and the upper limit {upper:g}, expected the lower one "
            "not to be above"
        )
    for name in ("effort", "velocity"):
        (value,) = _numbers(where, joint, "limit", name)
        if value < 0.0:
            raise _ImpossibleError(f"{where} has the {name} limit {value:g}, expected at least 0")


def _check_vectors(where: str, element: Element, *tags: str) -> None:
    """Check the vectors of origin and axis, where they are given."""
    for tag, name in itertools.product(("origin", *tags), ("xyz", "rpy")):
        text = attribute_of(element, tag, name)
        if text and math.hypot(*_numbers(where, element, tag, name, count=3)) < ROUND_OFF and tag == "axis":
            raise _ImpossibleError(f"{where} has the axis '{text}', expected a direction")


def attribute_of(element: Element, path: str, name: str) -> str:
    """Return an attribute of the first child at a path; empty where it is missing."""
    child = element.find(path)
    return "" if child is None else child.get(name, "")


def _numbers(where: str, element: Element, tag: str, attribute: str, count: int = 1) -> list[float]:
    """Return the numbers of an attribute of a child, read as the parser of URDFs reads them."""
    child = element.find(tag)
    text = None if child is None else child.get(attribute)
    if text is None:
        raise _ImpossibleError(f"{where} has no {tag} {attribute}")
    try:
        numbers = [float(word) for word in text.split()]
    except ValueError:
        numbers = []
    largest = math.inf if tag == "limit" else LARGEST_NUMBER
    good = [number for number in numbers if math.isfinite(number) and abs(number) <= largest]
    if not len(good) == len(numbers) == count or "_" in text:
        expected = "a finite number" if count == 1 else f"{count} finite numbers"
        within = "" if tag == "limit" else f", at most {largest:g}"
        if attribute in ("lower", "upper") and any(map(math.isinf, numbers)):
            within = '; a joint that turns without limits has type="continuous"'
        raise _ImpossibleError(f"{where} has the {tag} {attribute}='{text}', expected {expected}{within}")
    return good
