"""Parameter files as the launch files need them: lookup by name, their sections, values of one parameter."""

import atexit
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from inertial_estimation.files.text_file import read_text
from inertial_estimation.files.yaml_file import load_yaml, read_yaml

CONFIG = Path(__file__).resolve().parents[1] / "config"
KEY = "ros__parameters"


def parameter_files(robot: str, later: str) -> list[str]:
    """Return the parameter file of a robot and those read after it, which are separated by commas."""
    names = [robot, *(name.strip() for name in later.split(",") if name.strip())]
    return [str(parameter_file(name)) for name in names]


def parameter_file(robot: str) -> Path:
    """Return the parameter file of a robot, by name or by path.

    Raises:
        RuntimeError: If there is none; lists the names that exist.
    """
    path = Path(robot).expanduser()
    if path.suffix in {".yaml", ".yml"} and path.is_file():
        return path
    named = CONFIG / f"{robot}.yaml"
    if named.is_file():
        return named
    known = ", ".join(sorted(file.stem for file in CONFIG.glob("*.yaml")))
    raise RuntimeError(f"no parameter file '{robot}': not a file, and config/ has {known}")


def nodes_in(file: str | Path) -> set[str]:
    """Return the nodes a parameter file has a section for, without namespaces; ``**`` is all nodes."""
    return {section.rpartition("/")[2] for section, _ in _sections(_content(file))}


def last_value(files: list[str], node: str, parameter: str) -> Any:
    """Return the value of a parameter for a node in several parameter files, the last of which wins.

    Args:
        files: The files in their order.
        node: Name of the node; its section overrides the one for all nodes.
        parameter: Name at the top level.

    Returns:
        The value; None if no file sets it.
    """
    value = None
    for file in files:
        sections = list(_sections(_content(file)))
        for name in ("**", node):
            for section, parameters in sections:
                if section.rpartition("/")[2] == name:
                    value = parameters.get(parameter, value)
    return value


def reaching_files(files: list[str]) -> list[str]:
    """Return parameter files whose sections reach the nodes in any namespace, in which the last one wins.

    rcl gives a section ``tilt_observer`` to a node of the root namespace only, and orders tables by section
    name, not by file. A file that has such a section is replaced by a copy in which it is
    ``/**/tilt_observer``; everything else in it, comments included, is unchanged.
    """
    return [_reaching(Path(file)) for file in files]


def with_wildcards(text: str) -> str:
    """Return a parameter file's text with sections of plain node names turned into ``/**/NAME``."""
    load_yaml(text, "the parameter file")  # refuses what would take for ever below
    root = yaml.compose(text, yaml.SafeLoader)
    if not isinstance(root, yaml.MappingNode):
        return text
    for key, body in reversed(root.value):  # from the end: earlier positions stay
        inner = body.value if isinstance(body, yaml.MappingNode) else []
        if "/" not in key.value and any(name.value == KEY for name, _ in inner):
            start = key.start_mark.index + (1 if key.style else 0)  # behind the quote
            text = f"{text[:start]}/**/{text[start:]}"
    return text


def _reaching(path: Path) -> str:
    text = read_text(path, "parameter file")
    changed = with_wildcards(text)
    if changed == text:
        return str(path)
    folder = tempfile.mkdtemp(prefix="inertial_estimation_")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    copy = Path(folder) / path.name  # the node's messages show the name
    copy.write_text(changed, encoding="utf-8")
    return str(copy)


def _content(file: str | Path) -> dict[str, Any]:
    content = read_yaml(file, "parameter file") or {}
    if not isinstance(content, dict):
        raise RuntimeError(f"'{file}' is no ROS parameter file: expected sections named after nodes")
    return content


def _sections(content: dict[str, Any], namespace: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield section names and parameters, those in nested namespaces too."""
    for name, body in content.items():
        if not isinstance(body, dict):
            continue
        if KEY in body:
            yield f"{namespace}{name}", body[KEY] or {}
        inner = {key: value for key, value in body.items() if key != KEY}
        yield from _sections(inner, f"{namespace}{name}/")
