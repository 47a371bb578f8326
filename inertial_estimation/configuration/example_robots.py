"""Short names of the robots of example-robot-data, such as ``g1`` or ``ur5``."""

import difflib
import re
from pathlib import Path

from inertial_estimation.configuration.urdf_source import EXAMPLE_PREFIX, example_robots_folder
from inertial_estimation.errors import ModelError, listing, one_line

LEAST_PREFIX = 3  # letters of a word in a file's name that may stand for a longer one (hand, hands)
NEIGHBOURS = 3
FILLERS = ("description", "data", "simple", "robot", "urdf", "robots")


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
