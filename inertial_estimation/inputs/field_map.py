"""Custom messages as inputs: a map from the fields of a message to quantities, as for Unitree's LowState.

A map is a small YAML file (`inputs.map`; those of the package are in config/maps)::

    topic: lowstate
    type: unitree_go/msg/LowState
    stamp: arrival                        # or a field: header.stamp (a Time), tick[ms] (a number)
    imu: {specific_force: imu_state.accelerometer, angular_rate: imu_state.gyroscope}
    joints: {names: [FR_hip_joint, ...], position: motor_state[0:12].q, velocity: ..., effort: ...}
    contacts: {FR_foot: foot_force[0]}    # by the name of the contact or of its frame, any case

A field is a path of names; ``[i]`` picks an element of a sequence and ``[i:j]`` several, each of which the rest of
the path is then taken of.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from inertial_estimation.errors import ConfigurationError, MeasurementError, did_you_mean, listing
from inertial_estimation.files.safe_yaml import read_yaml
from inertial_estimation.inputs.messages import stamp_from_msg
from inertial_estimation.signals import Array, ContactSample, ImuSample, JointReading

ARRIVAL = "arrival"
TIMES = {"s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1.0}  # in nanoseconds
SECTIONS = {"imu": ("specific_force", "angular_rate"), "joints": ("names", "position", "velocity", "effort")}
KEYS = ("topic", "type", "stamp", "imu", "joints", "contacts")
STEP = re.compile(r"(\w+)((?:\[\d+(?::\d+)?\])*)")
INDEX = re.compile(r"\[(\d+)(?::(\d+))?\]")

Getter = Callable[[Any], Any]


class Mapped(NamedTuple):
    """The values of one message.

    Attributes:
        imu: Reading of the IMU; None where the map has none.
        joints: Joint state; None likewise.
        contacts: Readings of contact sensors by name.
    """

    imu: ImuSample | None
    joints: JointReading | None
    contacts: Mapping[str, ContactSample]


@dataclass(frozen=True)
class FieldMap:
    """Quantities of the messages of one topic.

    Attributes:
        topic: Name of the topic.
        message_type: Type of its messages.
        stamp: Returns the stamp of a message [ns], 0 where it has none.
        imu: Returns specific force and angular rate; None: the messages have none.
        joint_names: Names of the joints.
        joints: Return positions, velocities and efforts; None: the messages have none.
        contacts: Return the number of each contact, by its name.
    """

    topic: str
    message_type: str
    stamp: Getter
    imu: tuple[Getter, Getter] | None
    joint_names: tuple[str, ...]
    joints: tuple[Getter, Getter | None, Getter | None] | None
    contacts: Mapping[str, Getter]

    @classmethod
    def read(cls, path: str | Path) -> "FieldMap":
        """Read a map from a YAML file.

        Raises:
            ConfigurationError: If it cannot be read, or is no map.
        """
        return cls.of(read_yaml(path, "map of messages"), f"'{path}'")

    @classmethod
    def of(cls, content: Any, where: str) -> "FieldMap":
        """Build a map from its content.

        Args:
            content: Mapping of the keys of the file.
            where: Where it came from, for messages.

        Raises:
            ConfigurationError: If a key is missing or unknown, or a path is none.
        """
        if not isinstance(content, Mapping):
            raise ConfigurationError(f"the map {where} is no mapping, expected the keys {listing(KEYS)}")
        _check_keys(content, KEYS, where)
        for key in ("topic", "type"):
            if not isinstance(content.get(key), str):
                raise ConfigurationError(f"the map {where} has no '{key}'")
        for section, keys in SECTIONS.items():
            _check_keys(content.get(section) or {}, keys, f"{where}, '{section}'")
        imu, joints = content.get("imu"), content.get("joints")
        if imu is not None and set(imu) != set(SECTIONS["imu"]):
            raise ConfigurationError(f"'imu' of the map {where} has {listing(imu)}, expected {listing(SECTIONS['imu'])}")
        if joints is not None and not (joints.get("names") and joints.get("position")):
            raise ConfigurationError(f"'joints' of the map {where} needs 'names' and 'position'")
        parts = [_path(joints[key], where) if joints.get(key) else None for key in SECTIONS["joints"][1:]] if joints else []
        return cls(
            content["topic"],
            content["type"],
            _stamp(content.get("stamp", ARRIVAL), where),
            None if imu is None else (_path(imu["specific_force"], where), _path(imu["angular_rate"], where)),
            tuple(str(name) for name in joints["names"]) if joints else (),
            None if not parts or parts[0] is None else (parts[0], parts[1], parts[2]),
            {str(name): _path(path, where) for name, path in (content.get("contacts") or {}).items()},
        )

    def values(self, msg: Any) -> Mapped:
        """Return the values of a message.

        Raises:
            MeasurementError: If a field is missing, or has another length than the names.
        """
        try:
            stamp_ns = self.stamp(msg)
            imu = None if self.imu is None else ImuSample(stamp_ns, *(_array(get(msg)) for get in self.imu))
            joints = None
            if self.joints is not None:
                parts = [None if get is None else _array(get(msg)) for get in self.joints]
                assert parts[0] is not None
                joints = JointReading(stamp_ns, self.joint_names, parts[0], parts[1], parts[2])
            contacts = {name: ContactSample(stamp_ns, float(get(msg))) for name, get in self.contacts.items()}
        except (AttributeError, IndexError, TypeError, ValueError) as error:
            raise MeasurementError(f"a {self.message_type} lacks what its map names: {error}") from error
        return Mapped(imu, joints, contacts)

    def contacts_of(self, names: Sequence[str], frames: Sequence[str]) -> dict[str, str]:
        """Return the robot's contact by the name that the map has for it; others of the map are not used.

        Args:
            names: Names of the robot's contacts.
            frames: Frame of each.
        """
        known = {frame.lower(): name for name, frame in zip(names, frames, strict=True)}
        known |= {name.lower(): name for name in names}
        return {own: known[own.lower()] for own in self.contacts if own.lower() in known}


def _check_keys(content: Any, keys: Sequence[str], where: str) -> None:
    if not isinstance(content, Mapping):
        raise ConfigurationError(f"the map {where} is {content!r}, expected the keys {listing(keys)}")
    for key in content:
        if key not in keys:
            raise ConfigurationError(f"the map {where} has the key '{key}'{did_you_mean(str(key), keys, 'there are')}")


def _array(values: Any) -> Array:
    return np.asarray(values, dtype=np.float64)


def _stamp(text: Any, where: str) -> Getter:
    """Return what takes the stamp of a message in nanoseconds."""
    if text == ARRIVAL:
        return lambda _msg: 0
    match = re.fullmatch(r"(.+)\[(s|ms|us|ns)\]", str(text))
    if match:
        get, factor = _path(match[1], where), TIMES[match[2]]
        return lambda msg: round(float(get(msg)) * factor)
    get_time = _path(text, where)
    return lambda msg: stamp_from_msg(get_time(msg))


def _path(text: Any, where: str) -> Getter:
    """Return what takes a field of a message.

    Raises:
        ConfigurationError: If the text is no path.
    """
    steps: list[str | int | slice] = []
    for part in str(text).split("."):
        match = STEP.fullmatch(part)
        if match is None:
            raise ConfigurationError(f"'{text}' of the map {where} is no path such as motor_state[0:12].q")
        steps.append(match[1])
        steps += [slice(int(a), int(b)) if b else int(a) for a, b in INDEX.findall(match[2])]
    return lambda msg: _follow(msg, steps)


def _follow(value: Any, steps: Sequence[str | int | slice]) -> Any:
    for place, step in enumerate(steps):
        if isinstance(step, str):
            value = getattr(value, step)
        elif isinstance(step, int):
            value = value[step]
        else:
            rest = steps[place + 1 :]
            if len(value) < step.stop:
                raise IndexError(f"{len(value)} elements, expected at least {step.stop}")
            return [_follow(one, rest) for one in value[step]] if rest else value[step]
    return value
