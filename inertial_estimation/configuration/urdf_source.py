"""Sources of a robot description: a file, its text, a ROS package, or example-robot-data."""

import importlib.util
import os
import re
import sys
from contextlib import suppress
from pathlib import Path

from inertial_estimation.errors import ModelError, did_you_mean, listing, one_line
from inertial_estimation.files.text_file import read_text, resolved_path
from inertial_estimation.models.urdf import check_urdf, plain_urdf

EXAMPLE_PREFIX = "example-robot-data:"
PACKAGE_PREFIX = "package://"


def read_urdf(source: str, *, folder: Path | None = None) -> str:
    """Return the text of a URDF.

    Args:
        source: XML text; a path; ``package://PACKAGE/path``; or ``example-robot-data:NAME``, where NAME is a
            file of that package without its ending (``talos_full_v2``) or a path below its folder of
            robots.
        folder: Folder in which relative paths are searched after the working directory (that of the
            parameter file that names them).

    Returns:
        XML text in which infinite limits are replaced by large finite ones.

    Raises:
        ModelError: If there is no such file (the message lists the places that were searched), or it is not
            the URDF of a possible robot.
    """
    if is_xml(source):
        return _checked(source, "the text of the parameter 'urdf'")
    if not source:
        raise ModelError("no robot description: set the parameter 'urdf' or pass --urdf")
    path = _locate(source, folder)
    return _checked(read_text(path, "robot description", ModelError), f"'{path}'")


def _checked(text: str, where: str) -> str:
    text = plain_urdf(text)
    check_urdf(text, where)
    return text


def is_xml(text: str) -> bool:
    """Return whether a text is XML rather than a path: whether it begins with ``<``."""
    return text.lstrip("\ufeff \t\r\n").startswith("<")


def published_urdf(text: str, topic: str) -> str:
    """Return a URDF that was published on a topic: the description itself, never a path.

    Raises:
        ModelError: If it is not the URDF of a possible robot.
    """
    where = f"the description on {topic}"
    if not is_xml(text):
        got = f"'{one_line(text, limit=80)}'" if text else "an empty text"
        raise ModelError(f"{where} is {got}, expected the XML text of a URDF")
    return _checked(text, where)


def _locate(source: str, folder: Path | None) -> Path:
    if source.startswith(EXAMPLE_PREFIX):
        return _example(source[len(EXAMPLE_PREFIX) :])
    if source.startswith(PACKAGE_PREFIX):
        return _in_package(source[len(PACKAGE_PREFIX) :])
    path = resolved_path(os.path.expandvars(source))
    folders = [Path()] if folder is None or path.is_absolute() else [Path(), folder]
    for candidate in (beside / path for beside in folders):
        with suppress(OSError):  # a name that is too long
            if candidate.is_file():
                return candidate
    places = dict.fromkeys(str(beside.absolute()) for beside in folders)
    searched = "" if path.is_absolute() else f"; looked in {' and '.join(places)}"
    raise ModelError(f"no robot description '{one_line(source)}'{searched}")


def _share_folders() -> list[Path]:
    """Return the share folders in which packages are installed, nearest first."""
    folders = [Path(p) / "share" for p in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if p]
    spec = importlib.util.find_spec("example_robot_data")
    if spec is not None and spec.origin:  # .../PREFIX/lib/python3.x/site-packages/example_robot_data
        folders.append(Path(spec.origin).parents[4] / "share")
    site = Path(importlib.util.find_spec("numpy").origin or "").parents[1]  # type: ignore[union-attr]
    folders += [site / "cmeel.prefix" / "share", Path(sys.prefix) / "share"]
    return [folder for folder in dict.fromkeys(folders) if folder.is_dir()]


def mesh_folders() -> list[Path]:
    """Return the folders in which ``package://`` is searched, nearest first."""
    roots = [Path(p) for p in os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep) if p]
    return [*_share_folders(), *roots]


def _in_package(inside: str) -> Path:
    candidates = [root / inside for root in mesh_folders()]
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    raise ModelError(
        f"no file 'package://{inside}'; looked for {listing(map(str, candidates))} "
        "(is the package in AMENT_PREFIX_PATH or ROS_PACKAGE_PATH?)"
    )


def _example_robots(name: str) -> tuple[Path, list[Path]]:
    """Return the folder of the robots of example-robot-data and their URDF files; `name` is for the message.

    Raises:
        ModelError: If the package is not installed.
    """
    folders = [f / "example-robot-data" / "robots" for f in _share_folders()]
    robots = next((folder for folder in folders if folder.is_dir()), None)
    if robots is None:
        raise ModelError(
            f"'{EXAMPLE_PREFIX}{name}' needs the package example-robot-data: "
            "pip install 'inertial_estimation[robots]'"
        )
    return robots, sorted(robots.rglob("*.urdf"))


def _example(name: str) -> Path:
    robots, files = _example_robots(name)
    if (robots / name).is_file():
        return robots / name
    found = [path for path in files if path.stem == name]
    if not found:
        stems = sorted({path.stem for path in files})
        raise ModelError(
            f"no robot '{name}' in example-robot-data{did_you_mean(name, stems, 'it has', limit=200)}"
        )
    if len(found) > 1:
        options = [str(path.relative_to(robots)) for path in found]
        raise ModelError(f"robot '{name}' of example-robot-data is ambiguous, name one of {listing(options)}")
    return found[0]


def example_source(name: str) -> str:
    """Return the source of the robot of example-robot-data with a short name (``g1``, ``ur5``).

    A file matches if its name, or else that of its folder, begins with the short name. Of several files that
    with the fewest words and letters is chosen, the plain variant of the robot; those without links are not.

    Returns:
        ``example-robot-data:PATH``, for the parameter ``urdf``.

    Raises:
        ModelError: If no robot has such a name; the message gives the nearest ones.
    """
    robots, files = _example_robots(name)
    wanted = _letters(name)
    by_length = sorted(files, key=lambda p: (len(re.findall("[A-Za-z0-9]+", p.stem)), len(p.stem), str(p)))
    found = [path for path in by_length if _letters(path.stem) == wanted]
    found += [path for path in by_length if _letters(path.stem).startswith(wanted)]
    found += [path for path in by_length if _letters(path.relative_to(robots).parts[0]).startswith(wanted)]
    for path in found:
        if "<link" in path.read_text(encoding="utf-8", errors="replace"):  # ur3.urdf is an empty robot
            return EXAMPLE_PREFIX + str(path.relative_to(robots))
    hint = did_you_mean(name, sorted({path.stem for path in files}), "it has", limit=200)
    raise ModelError(
        f"no robot description '{one_line(name, limit=80)}': no file or robot of example-robot-data{hint}"
    )


def _letters(text: str) -> str:
    return re.sub("[^a-z0-9]", "", text.lower())
