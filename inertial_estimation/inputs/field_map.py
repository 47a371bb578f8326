"""Custom messages as inputs: a map from the fields of a message to quantities, as for Unitree's LowState.

A map is a small YAML file (`inputs.map`; those of the package are in config/maps)::

    topic: lowstate
    type: unitree_go/msg/LowState
    stamp: arrival                        # or a field: header.stamp (a Time), tick[ms] (a number)
    imu: {specific_force: imu_state.accelerometer, angular_rate: imu_state.gyroscope}
    joints: {names: [FR_hip_joint, ...], position: "motor_state[0:12].q", velocity: ..., effort: ...}
    contacts: {FR_foot: "foot_force[0]"}  # by the name of the contact or of its frame, in any case

A field is a path of names; ``[i]`` selects an element of a sequence and ``[i:j]`` several of them, to each of
which the rest of the path is applied.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from inertial_estimation.errors import ConfigurationError, MeasurementError, did_you_mean, listing
from inertial_estimation.files.yaml_file import packaged_files, read_yaml
from inertial_estimation.inputs.config import UNITS
from inertial_estimation.inputs.messages import stamp_from_msg
from inertial_estimation.models.contacts import ContactFrames
from inertial_estimation.signals import NANOSECONDS, Array, ContactSample, ImuSample, JointReading

ARRIVAL = "arrival"
TIMES = {unit: round(NANOSECONDS * value) for unit, value in UNITS["time"].items()}  # units in nanoseconds
IMU_KEYS, JOINT_KEYS = ("specific_force", "angular_rate"), ("position", "velocity", "effort")
KEYS = ("topic", "type", "stamp", "imu", "joints", "contacts")
STEP, INDEX = re.compile(r"(\w+)((?:\[\d+(?::\d+)?\])*)"), re.compile(r"\[(\d+)(?::(\d+))?\]")
Getter = Callable[[Any], Any]


class FieldMap:
    """Converts messages of one topic to readings of an IMU (`has_imu`), joints (`joint_names`), contacts."""

    def __init__(self, content: Any, where: str) -> None:
        """Read the content of a map, a mapping of the keys of the file; `where` is its name in errors.

        Raises:
            ConfigurationError: If a key is missing or unknown, or a path is malformed.
        """
        self._where = where
        self._check(content, KEYS, ("topic", "type"))
        imu, joints, contacts = (content.get(key) or {} for key in KEYS[3:])
        self._check(imu, IMU_KEYS, IMU_KEYS if imu else ())
        self._check(joints, ("names", *JOINT_KEYS), ("names", "position") if joints else ())
        self._check(contacts, list(contacts) if isinstance(contacts, Mapping) else (), ())
        self.topic, self.message_type = str(content["topic"]).strip("/"), str(content["type"])
        self.has_imu, self.joint_names = bool(imu), tuple(str(name) for name in joints.get("names", ()))
        self._stamp = self._time(str(content.get("stamp", ARRIVAL)))
        self._imu = [self._path(imu[key]) for key in IMU_KEYS if imu]
        self._joints = {key: self._path(joints[key]) for key in JOINT_KEYS if joints.get(key)}
        self._contacts = {str(name): self._path(path) for name, path in contacts.items()}

    @classmethod
    def find(cls, name: str) -> "FieldMap":
        """Read a map by its path, or by its name if it comes with the package (unitree_go).

        Raises:
            ConfigurationError: If there is none, or it cannot be read.
        """
        known = packaged_files("config/maps")
        if not Path(name).suffix and name not in known:
            raise ConfigurationError(f"no map of messages '{name}'{did_you_mean(name, known, 'there are')}")
        return cls(read_yaml(known.get(name, Path(name)), "map of messages"), f"'{name}'")

    def values(self, msg: Any, arrival_ns: int) -> dict[str, Any]:
        """Return the readings of a message that arrived at a time [ns], by "imu", "joints", contact's name.

        Raises:
            MeasurementError: If a field is missing, or its length is not that of the names.
        """
        values: dict[str, Any] = {}
        try:
            stamp_ns = arrival_ns if self._stamp is None else self._stamp(msg)
            if self._imu:
                values["imu"] = ImuSample(stamp_ns, *(_array(get(msg)) for get in self._imu))
            if self._joints:
                fields = {key: _array(get(msg)) for key, get in self._joints.items()}
                values["joints"] = JointReading(stamp_ns, self.joint_names, **fields)
            values |= {own: ContactSample(stamp_ns, float(get(msg))) for own, get in self._contacts.items()}
        except (AttributeError, IndexError, TypeError, ValueError) as error:
            raise MeasurementError(f"a {self.message_type} lacks what its map names: {error}") from error
        return values

    def contacts_of(self, contacts: Sequence[ContactFrames]) -> dict[str, str]:
        """Return the names of a robot's contacts, by the names of contacts or frames that the map has."""
        known = {name.lower(): one.name for one in contacts for name in (one.frame, one.name)}
        return {own: known[own.lower()] for own in self._contacts if own.lower() in known}

    def _check(self, content: Any, keys: Sequence[str], needed: Sequence[str]) -> None:
        if not isinstance(content, Mapping):
            raise ConfigurationError(f"the map {self._where} has {content!r}, expected keys {listing(keys)}")
        for key in content:
            if key not in keys:
                hint = did_you_mean(str(key), keys, "there are")
                raise ConfigurationError(f"the map {self._where} has the key '{key}'{hint}")
        lacks = [key for key in needed if not content.get(key)]
        if lacks:
            raise ConfigurationError(f"the map {self._where} lacks {listing(lacks)}")

    def _time(self, text: str) -> Getter | None:
        """Return a function from a message to its stamp [ns]; None if the arrival is used."""
        if text == ARRIVAL:
            return None
        match = re.fullmatch(r"(.+)\[(s|ms|us|ns)\]", text)
        get = self._path(match[1] if match else text)
        return lambda msg: round(float(get(msg)) * TIMES[match[2]]) if match else stamp_from_msg(get(msg))

    def _path(self, text: Any) -> Getter:
        """Return a function from a message to the field at a path."""
        steps: list[str | int | slice] = []
        for part in str(text).split("."):
            match = STEP.fullmatch(part)
            if match is None:
                what = f"'{text}' of the map {self._where}"
                raise ConfigurationError(f"{what} is no path like motor_state[0:12].q")
            steps.append(match[1])
            steps += [slice(int(a), int(b)) if b else int(a) for a, b in INDEX.findall(match[2])]
        return lambda msg: _follow(msg, steps)


def _array(values: Any) -> Array:
    return np.asarray(values, dtype=np.float64)


def _follow(value: Any, steps: Sequence[str | int | slice]) -> Any:
    for place, step in enumerate(steps):
        if isinstance(step, slice):
            if len(value) < step.stop:
                raise IndexError(f"{len(value)} elements, expected at least {step.stop}")
            return [_follow(one, steps[place + 1 :]) for one in value[step]]
        value = getattr(value, step) if isinstance(step, str) else value[step]
    return value
