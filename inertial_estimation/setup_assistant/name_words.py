"""Words in the names of links and joints, and the part of a robot to which they refer."""

import re
from collections.abc import Iterable

_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")

LEG = ("leg", "hip", "thigh", "knee", "calf", "shank", "shin", "ank", "foot", "haa", "hfe", "kfe", "toe")
ARM = ("arm", "shoulder", "elbow", "wrist", "hand", "finger", "thumb", "gripper", "spine", "neck", "head")
FOOT = ("sole", "foot", "toe", "contact", "tip")
GRIPPER = ("gripper", "finger", "fingertip", "thumb", "jaw", "knuckle")
SCANNER = ("laser", "lidar", "velodyne", "hokuyo", "ouster")
HEAD = ("head", "neck", "camera", "eye", "cervical", *SCANNER)
WHEEL = ("wheel", "caster", "rotor", "propeller", "suspension")


def words_of(name: str) -> list[str]:
    """Return the words of a name in snake_case or CamelCase, in lower case."""
    return [word.lower() for word in _WORD.findall(name)]


def count_of(names: Iterable[str], vocabulary: Iterable[str]) -> int:
    """Return how many names have a word that begins or ends with one of a vocabulary."""
    known = tuple(vocabulary)
    return sum(any(w.startswith(known) or w.endswith(known) for w in words_of(name)) for name in names)


def is_imu(name: str) -> bool:
    """Return whether a link is named like an IMU, or like one of its sensors."""
    return any(word.startswith(("imu", "gyro", "acceleromet")) for word in words_of(name))


def side_of(names: Iterable[str]) -> str:
    """Return "left" or "right" if the words of names contain that side more often, else an empty text."""
    words = [word for name in names for word in words_of(name)]
    votes = {side: sum(w in (side, side[0], f"{side[0]}leg") for w in words) for side in ("left", "right")}
    if votes["left"] == votes["right"]:
        return ""
    return max(votes, key=lambda side: votes[side])


def is_force_sensor(name: str) -> bool:
    """Return whether a link is named like a force-torque sensor."""
    words = words_of(name)
    return "ft" in words or "wrench" in words or ("force" in words and "sensor" in words)
