"""Sources of a robot description: a file, its text, a ROS package, or example-robot-data."""

import difflib
import importlib.util
import os
import re
import sys
from pathlib import Path

from inertial_estimation.errors import ModelError, did_you_mean, listing, one_line
from inertial_estimation.files.text_file import read_text, resolved_path
from inertial_estimation.models.urdf import LARGEST_TEXT, check_urdf, plain_numbers

EXAMPLE_PREFIX = "example-robot-data:"
PACKAGE_PREFIX = "package://"
LEAST_PREFIX = 3  # letters of a word in a file's name that may stand for a longer one (hand, hands)
NEIGHBOURS = 3
FILLERS = ("description", "data", "simple", "robot", "urdf", "robots")


def read_urdf(source: str, *, folder: Path | None = None) -> str:
    """Return the text of a URDF.

    Args:
        source: XML text; a path; ``package://PACKAGE/path``; or ``example-robot-data:NAME`` with NAME a
            file of that package without its ending (``talos_full_v2``) or a path below its folder of
            robots.
        folder: Folder in which relative paths are searched after the working directory (that of the
            parameter file that names them).

    Returns:
        XML text, infinite limits as huge ones.

    Raises:
        ModelError: If there is no such file (the message lists the places that were searched), or it is not
            the URDF of a possible robot.
    """
    if is_xml(source):
        text = plain_numbers(source)
        check_urdf(text, "the text of the parameter 'urdf'")
        return text
    if not source:
        raise ModelError("no robot description: set the parameter 'urdf' or pass --urdf")
    path = _locate(source, folder)
    text = plain_numbers(read_text(path, "robot description", limit=LARGEST_TEXT, error_class=ModelError))
    check_urdf(text, f"'{path}'")
    return text


def is_xml(text: str) -> bool:
    """Return whether a text is meant to be XML, as opposed to a path."""
    return text.lstrip("\ufeff \t\r\n").startswith("<")


def published_urdf(text: str, topic: str) -> str:
    """Return a URDF that was published.

    Args:
        text: Content of the message, which must be the description itself, never a path.
        topic: Name of the topic, for the message.

    Raises:
        ModelError: If it is not the URDF of a possible robot.
    """
    where = f"the description on {topic}"
    if not is_xml(text):
        got = f"'{one_line(text, limit=80)}'" if text else "an empty text"
        raise ModelError(f"{where} is {got}, expected the XML text of a URDF")
    text = plain_numbers(text)
    check_urdf(text, where)
    return text


def _locate(source: str, folder: Path | None) -> Path:
    if source.startswith(EXAMPLE_PREFIX):
        return _example(source[len(EXAMPLE_PREFIX) :])
    if source.startswith(PACKAGE_PREFIX):
        return _in_package(source[len(PACKAGE_PREFIX) :])
    path = resolved_path(os.path.expandvars(source))
    folders = [Path()] if folder is None or path.is_absolute() else [Path(), folder]
    for candidate in (beside / path for beside in folders):
        if _is_file(candidate):
            return candidate
    places = dict.fromkeys(str(beside.absolute()) for beside in folders)
    searched = "" if path.is_absolute() else f"; looked in {' and '.join(places)}"
    raise ModelError(f"no robot description '{one_line(source)}'{searched}")


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name that is too long, or holds a zero byte
        return False


def _share_folders() -> list[Path]:
    """Share folders in which packages are installed, nearest first."""
    folders = [Path(p) / "share" for p in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if p]
    spec = importlib.util.find_spec("example_robot_data")
    if spec is not None and spec.origin:  # .../PREFIX/lib/python3.x/site-packages/example_robot_data
        folders.append(Path(spec.origin).parents[4] / "share")
    site = Path(importlib.util.find_spec("numpy").origin or "").parents[1]  # type: ignore[union-attr]
    folders += [site / "cmeel.prefix" / "share", Path(sys.prefix) / "share"]
    return [folder for folder in dict.fromkeys(folders) if folder.is_dir()]


def mesh_folders() -> list[Path]:
    """Folders in which ``package://`` is searched, nearest first."""
    roots = [Path(p) for p in os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep) if p]
    return [*_share_folders(), *roots]


def _in_package(rest: str) -> Path:
    package, _, inside = rest.partition("/")
    candidates = [root / package / inside for root in mesh_folders()]
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    raise ModelError(
        f"no file 'package://{rest}'; looked for {listing(map(str, candidates))} "
        "(is the package in AMENT_PREFIX_PATH or ROS_PACKAGE_PATH?)"
    )


def example_robots_folder(name: str) -> Path:
    """Return the folder of the robots of example-robot-data.

    Args:
        name: Robot that is wanted, for the message.

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
    return robots


def _example(name: str) -> Path:
    robots = example_robots_folder(name)
    if (robots / name).is_file():
        return robots / name
    files = sorted(robots.rglob("*.urdf"))
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
    """Return the source of the robot of example-robot-data that a short name means.

    The words of the name must begin words of the file or its folder, in this order; of several files the one
    with the shortest name is meant, the plain variant of the robot. Files without any link are passed over.

    Args:
        name: A short name, or the name of a file without its ending.

    Returns:
        ``example-robot-data:PATH``, for the parameter ``urdf``.

    Raises:
        ModelError: If no robot has such a name; the message gives the nearest ones.
    """
    robots = example_robots_folder(name)
    files = sorted(robots.rglob("*.urdf"), key=lambda p: (len(_words(p.stem)), len(p.stem), str(p)))
    wanted = _words(name)
    found = [path for path in files if path.stem.lower() == name.lower() and _has_links(path)]
    for shortened in (False, True) if wanted else ():
        found = found or [
            path for path in files if _begins(wanted, path, robots, shortened=shortened) and _has_links(path)
        ]
    if not found:
        raise ModelError(
            f"no robot description '{one_line(name, limit=80)}': no file, and no robot of example-robot-data"
            + _nearest(name, files, robots)
        )
    return EXAMPLE_PREFIX + str(found[0].relative_to(robots))


def _begins(wanted: list[str], path: Path, robots: Path, *, shortened: bool) -> bool:
    """Return whether the words begin words of the folder's or the file's name, in their order.

    Args:
        wanted: The words.
        path: The file.
        robots: Folder of all robots.
        shortened: Whether a word of the file may also be the beginning of a wanted one (hand, hands).
    """

    def alike(word: str, other: str) -> bool:
        return other.startswith(word) or (shortened and len(other) >= LEAST_PREFIX and word.startswith(other))

    folder = path.relative_to(robots).parts[0]
    for text in (path.stem, folder, f"{folder} {path.stem}"):
        words = _words(text)
        rest = iter(words)
        if words and alike(wanted[0], words[0]) and all(any(alike(w, o) for o in rest) for w in wanted):
            return True
    return False


def _has_links(path: Path) -> bool:
    """Return whether a file describes anything: ur3.urdf is an empty robot."""
    return "<link" in path.read_text(encoding="utf-8", errors="replace")


def _words(text: str) -> list[str]:
    return [word for word in re.split(r"[^a-z0-9]+", text.lower()) if word]


def _nearest(name: str, files: list[Path], robots: Path) -> str:
    short = {"_".join(w for w in _words(p.relative_to(robots).parts[0]) if w not in FILLERS) for p in files}
    known = sorted(short | {path.stem for path in files})
    close = difflib.get_close_matches(name.lower(), known, n=NEIGHBOURS, cutoff=0.5)
    return f"; did you mean {listing(close)}?" if close else f"; it has {listing(sorted(short), limit=100)}"
