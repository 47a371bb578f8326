"""Edits of a URDF, or another XML model, that preserve comments, namespaces and the order of attributes."""

import re
from collections.abc import Iterable, Mapping
from xml.dom import expatbuilder, minidom

from inertial_estimation.models.xml_text import parse_xml

_DECLARATION = re.compile(r"\s*(<\?xml\s[^>]*\?>)")


class UrdfDocument:
    """A parsed URDF.

    Attributes:
        links: Link elements by name, in the document's order.
        parent_joints: Joint elements by the name of their child link.
    """

    def __init__(self, urdf: str) -> None:
        """Parse a URDF.

        Args:
            urdf: XML text.

        Raises:
            ModelError: If it is not well-formed XML, or too large.
        """
        self._document = parsed_document(urdf, "the URDF")
        declared = _DECLARATION.match(urdf)
        self._declaration = declared.group(1) if declared else ""
        self.links: Mapping[str, minidom.Element] = named_elements(self._document, "link")
        self.parent_joints: Mapping[str, minidom.Element] = {
            child.getAttribute("link"): joint
            for joint in self._document.getElementsByTagName("joint")
            if (child := child_of(joint, "child")) is not None
        }

    def add_fixed_link(self, name: str, parent: str) -> minidom.Element:
        """Add an empty link, fixed to another one in the same frame by the joint ``<name>_joint``.

        Args:
            name: Name of the new link.
            parent: Name of the link it is fixed to.

        Returns:
            The new link.
        """
        robot = self.links[parent].parentNode
        assert isinstance(robot, minidom.Element)
        link = self._document.createElement("link")
        joint = self._document.createElement("joint")
        link.setAttribute("name", name)
        joint.setAttribute("name", f"{name}_joint")
        joint.setAttribute("type", "fixed")
        set_child(joint, "origin", {"xyz": "0 0 0", "rpy": "0 0 0"})
        set_child(joint, "parent", {"link": parent})
        set_child(joint, "child", {"link": name})
        for element in (link, joint):
            robot.appendChild(self._document.createTextNode("  "))
            robot.appendChild(element)
            robot.appendChild(self._document.createTextNode("\n"))
        self.links = {**self.links, name: link}
        self.parent_joints = {**self.parent_joints, name: joint}
        return link

    def text(self) -> str:
        """Return the XML text, with the declaration, comments and namespaces of the input."""
        nodes = [node.toxml() for node in self._document.childNodes]
        return "\n".join(filter(None, [self._declaration, *nodes])) + "\n"


def parsed_document(text: str, where: str) -> minidom.Document:
    """Return the document of an XML text.

    Args:
        text: The text.
        where: Where it came from, for messages.

    Raises:
        ModelError: If it is not well-formed XML, declares entities, or is too large.
    """
    parse_xml(text, where)  # refuses entities, which would be expanded below
    return expatbuilder.parseString(text.lstrip("\ufeff"), namespaces=False)  # attributes as they stand


def named_elements(document: minidom.Document, tag: str) -> dict[str, minidom.Element]:
    """Return all elements with a tag, at any depth, by their attribute ``name``."""
    return {element.getAttribute("name"): element for element in document.getElementsByTagName(tag)}


def child_of(element: minidom.Element, tag: str) -> minidom.Element | None:
    """Return the first direct child with a tag; None where there is none."""
    for node in element.childNodes:
        if isinstance(node, minidom.Element) and node.tagName == tag:
            return node
    return None


def set_child(
    element: minidom.Element, tag: str, attributes: Mapping[str, str], *, first: bool = False
) -> minidom.Element:
    """Set attributes of the first direct child with a tag; it is made where there is none.

    Args:
        element: The parent.
        tag: Tag of the child.
        attributes: Values by name; other attributes and the order of existing ones are preserved.
        first: Whether a new child is inserted before all others instead of after them.

    Returns:
        The child.
    """
    child = child_of(element, tag)
    if child is None:
        document = element.ownerDocument
        assert document is not None
        child = document.createElement(tag)
        element.insertBefore(child, element.firstChild if first else None)
    for name, value in attributes.items():
        child.setAttribute(name, value)
    return child


def remove_children(element: minidom.Element, tag: str) -> None:
    """Remove all direct children with a tag."""
    while (child := child_of(element, tag)) is not None:
        element.removeChild(child)


def numbers_of(element: minidom.Element | None, name: str) -> list[float]:
    """Return the three numbers of an attribute such as ``xyz``; zeros where it is missing."""
    text = element.getAttribute(name) if element is not None else ""
    return [float(number) for number in text.split()] or [0.0, 0.0, 0.0]


def numbers_text(values: Iterable[float]) -> str:
    """Return numbers as the text of an attribute or element, precise to twelve digits."""
    return " ".join(f"{value:.12g}" for value in values)
