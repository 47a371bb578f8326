"""Editing of simulator models as XML that keeps all else of the file as it was."""

from pathlib import Path
from xml.dom import expatbuilder, minidom

from inertial_estimation.errors import ModelError
from inertial_estimation.files.text_file import read_text
from inertial_estimation.models.xml_text import LARGEST_TEXT, parse_xml

__all__ = ["numbers_text", "parsed_model", "read_model", "remove_children"]


def read_model(path: Path, root: str) -> str:
    """Read a model file.

    Args:
        path: The file.
        root: Tag of its root element.

    Raises:
        ModelError: If it cannot be read, or is of another format.
    """
    text = read_text(path, "model", limit=LARGEST_TEXT, error_class=ModelError)
    found = parsed_model(text, str(path)).documentElement
    if found is None or found.tagName != root:
        tag = None if found is None else found.tagName
        raise ModelError(f"'{path}' has the root element <{tag}>, expected <{root}>")
    return text


def parsed_model(text: str, where: str) -> minidom.Document:
    """Return the document of a model.

    Raises:
        ModelError: If it is not well-formed XML, or declares entities.
    """
    parse_xml(text, where)
    return expatbuilder.parseString(text.lstrip("\ufeff"), namespaces=False)


def remove_children(element: minidom.Element, tag: str) -> None:
    """Remove all direct children with a tag."""
    for node in list(element.childNodes):
        if isinstance(node, minidom.Element) and node.tagName == tag:
            element.removeChild(node)


def numbers_text(values: object) -> str:
    """Return numbers as text, precise to twelve digits."""
    return " ".join(f"{float(value):.12g}" for value in values)  # type: ignore[attr-defined]
