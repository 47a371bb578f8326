"""Models of simulators, read from files."""

from pathlib import Path

from inertial_estimation.errors import ModelError
from inertial_estimation.files.text_file import read_text
from inertial_estimation.models.urdf_document import parsed_document
from inertial_estimation.models.xml_text import LARGEST_TEXT


def read_model(path: Path, root: str) -> str:
    """Read a model file.

    Args:
        path: The file.
        root: Tag of its root element.

    Raises:
        ModelError: If it cannot be read, or is of another format.
    """
    text = read_text(path, "model", limit=LARGEST_TEXT, error_class=ModelError)
    found = parsed_document(text, str(path)).documentElement
    if found is None or found.tagName != root:
        tag = None if found is None else found.tagName
        raise ModelError(f"'{path}' has the root element <{tag}>, expected <{root}>")
    return text
