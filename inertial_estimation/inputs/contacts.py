"""Contacts by what a robot has: wrenches, vertical forces, integers that grow with the force, switches, none."""

from collections.abc import Sequence
from enum import Enum

import numpy as np

from inertial_estimation.errors import ConfigurationError, ModelError, did_you_mean, listing
from inertial_estimation.inputs.clocks import ClockGroup
from inertial_estimation.inputs.config import RobotInputConfig
from inertial_estimation.inputs.imu import rotation_between
from inertial_estimation.inputs.messages import BOOL_TYPE, NUMBER_TYPES, WRENCH_TYPES
from inertial_estimation.inputs.possible import largest_force, number_range, wrench_range
from inertial_estimation.inputs.stream import Stream, StreamSpec
from inertial_estimation.models.robot_config import ContactFrames
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import NANOSECONDS, Array, ContactSample, WrenchSample

WORLD_FRAMES = ("world", "map", "odom")
LARGEST_RAW = 1e6  # of a sensor without a unit
MEAN_TIME_NS = NANOSECONDS  # of the mean force from which the scale of raw sensors follows
MEMORY_NS = 60 * NANOSECONDS  # of the largest mean and of the least reading of each
LIFTED = 0.5  # of the largest reading, below which the least one is that of a foot in the air


class ContactSource(Enum):
    """Where it is known from whether a contact is closed, and with which force."""

    WRENCH = "wrench"  # a sensor of force and moment, or a state estimator, on <contact>/wrench
    FORCE = "force"  # a sensor of the vertical force [N], on the same topic, as the next two
    RAW_FORCE = "raw_force"  # numbers without a unit that grow with it (Unitree's feet), scaled to the weight
    SWITCH = "switch"  # a switch, or a probability from 0 to 1
    JOINT_TORQUES = "joint_torques"  # the torques of the joints between base and contact; no topic
    DESIRED = "desired"  # the wrench that a planner wants, on <contact>/desired_wrench
    NONE = "none"

    @property
    def width(self) -> int:
        """Numbers in a row: 6 of a wrench, 1 of a force or switch, 0 without a topic."""
        return TOPICS[self][0] if self in TOPICS else 0

    @property
    def types(self) -> tuple[str, ...]:
        """Types of messages that it is read from."""
        return TOPICS[self][1] if self in TOPICS else ()


TOPICS = {  # numbers in a row and types of the messages
    ContactSource.WRENCH: (6, WRENCH_TYPES),
    ContactSource.DESIRED: (6, WRENCH_TYPES),
    ContactSource.FORCE: (1, (*NUMBER_TYPES, WRENCH_TYPES[0])),
    ContactSource.RAW_FORCE: (1, NUMBER_TYPES),
    ContactSource.SWITCH: (1, (BOOL_TYPE, *NUMBER_TYPES)),
}


class WrenchAxes(Enum):
    """Axes of the rows of a contact's wrench."""

    SENSOR = "sensor"  # of the contact's wrench frame, about its origin
    BASE = "base"  # of the base, about the origin of the contact's wrench frame
    WORLD = "world"  # of the world, about it


def contact_sources(texts: str | Sequence[str], contacts: Sequence[str]) -> dict[str, ContactSource]:
    """Return the source of each contact.

    Args:
        texts: Value of the parameter `contact.source`: one for all contacts, or one for each.
        contacts: Names of the contacts.

    Raises:
        ConfigurationError: If there are neither one nor as many as contacts, or one does not exist.
    """
    given = [texts] if isinstance(texts, str) else list(texts)
    known = [source.value for source in ContactSource]
    for text in given:
        if text not in known:
            raise ConfigurationError(f"no contact source '{text}'{did_you_mean(text, known, 'there are')}")
    if len(given) not in (1, len(contacts)):
        raise ConfigurationError(
            f"'contact.source' has {len(given)} entries, expected one, or one for each of {listing(contacts)}"
        )
    given = given * len(contacts) if len(given) == 1 else given
    return {name: ContactSource(text) for name, text in zip(contacts, given, strict=True)}


def force_in_base(row: Array, axes: WrenchAxes, R_BF: Array, R_WB: Array) -> Array:
    """Return the force of a row of a wrench in the axes of the base [N], shape (3,).

    Args:
        row: Force, moment, shape (6,).
        axes: Those of the row.
        R_BF: Orientation of the wrench frame in the base, used if the axes are those of the sensor.
        R_WB: Orientation of the base in the world, used if the axes are those of the world.
    """
    force: Array = row[:3]
    if axes is WrenchAxes.BASE:
        return force
    return R_BF @ force if axes is WrenchAxes.SENSOR else R_WB.T @ force


class ContactInput:
    """The readings of one contact.

    Attributes:
        name: Name of the contact.
        source: Where they come from.
        axes: Axes of the rows of a wrench; those of the parameters, unless the frame of the messages says others.
        stream: The rows.
    """

    def __init__(
        self,
        robot: RobotModel,
        contact: ContactFrames,
        source: ContactSource,
        config: RobotInputConfig,
        clocks: ClockGroup,
        scale: "RawScale | None" = None,
    ) -> None:
        """Begin without a reading.

        Args:
            robot: The model.
            contact: The contact; its wrench frame may be the base or the world, whose axes are then meant.
            source: Where its readings come from, with a topic.
            config: Parameters of the inputs.
            clocks: Those of the inputs of the robot.
            scale: Of all raw sensors of the robot; None: not needed.
        """
        self.name, self.source, self._robot, self._scale = contact.name, source, robot, scale
        self.axes = self._by_parameters = self._axes(contact.wrench_frame) or WrenchAxes.SENSOR
        self._frame = contact.wrench_frame if self.axes is WrenchAxes.SENSOR else contact.frame
        self._frame_id = self._frame  # of the last reading
        self._pose: tuple[Array, Array] | None = (
            None  # rotation, position of that frame in that of the parameters
        )
        self._use_frames = config.inputs.frame_ids == "use"
        largest, desired = largest_force(robot), source is ContactSource.DESIRED
        ranges = {
            ContactSource.FORCE: number_range(-largest, largest, "vertical force", "N"),
            ContactSource.RAW_FORCE: number_range(-LARGEST_RAW, LARGEST_RAW, "force without a unit"),
            ContactSource.SWITCH: number_range(0.0, 1.0, "probability of contact"),
        }
        spec = StreamSpec(
            f"{contact.name}/desired_wrench" if desired else f"{contact.name}/wrench",
            source.width,
            ranges.get(source, wrench_range(robot)),
            0.0 if desired else config.inputs.wrench_delay,
            required=not desired,
            holds=source is ContactSource.SWITCH,
        )
        self.stream = Stream(spec, config.inputs, clocks)

    def push(self, sample: WrenchSample | ContactSample, arrival_ns: int, frame_id: str = "") -> bool:
        """Take a wrench or a number; return whether it is stored.

        Args:
            sample: The reading.
            arrival_ns: Its arrival [ns].
            frame_id: Frame in the header of its message; empty: not known.
        """
        if isinstance(sample, ContactSample):
            value = (
                sample.value
                if self._scale is None
                else self._scale.force(self.name, sample.value, arrival_ns)
            )
            return self.stream.push(sample.stamp_ns, np.array([value]), arrival_ns)
        if frame_id and frame_id != self._frame_id and self._use_frames:
            self._look_up(frame_id)
        row = sample.wrench_F.copy()
        if self._pose is not None:
            rotation, position = self._pose
            force = rotation @ row[:3]
            row = np.concatenate((force, rotation @ row[3:] + np.cross(position, force)))
        return self.stream.push(sample.stamp_ns, row if self.source.width == 6 else row[2:3], arrival_ns)

    def _axes(self, frame: str) -> WrenchAxes | None:
        """Return the axes that a name means if it is not that of a frame of the contact's body."""
        base = frame in (WrenchAxes.BASE.value, self._robot.base_link)
        return WrenchAxes.BASE if base else WrenchAxes.WORLD if frame in WORLD_FRAMES else None

    def _look_up(self, frame_id: str) -> None:
        """Find what the frame of a message means for its wrench."""
        self._frame_id, self._pose, self.axes = frame_id, None, self._by_parameters
        name, remarks = frame_id.rpartition("/")[2], self.stream.remarks
        meant, remarks["frame"] = self._axes(name), ""
        if meant is not None and meant is not self._by_parameters:
            self.axes = meant
            remarks["frame"] = (
                f"header.frame_id '{frame_id}': its forces are taken in the axes of the {meant.value}; set wrench_frames: "
                f"{meant.value}, or inputs.frame_ids: ignore"
            )
        if meant is not None:
            return
        _rotation, remarks["frame"] = rotation_between(self._robot, self._frame, name, "wrench_frames")
        try:
            pose = self._robot.fixed_transform(self._frame, name)
        except ModelError:
            return
        self.axes = WrenchAxes.SENSOR
        if not pose.isIdentity(1e-6):
            self._pose = pose.rotation.copy(), pose.translation.copy()


class RawScale:
    """Scale of force sensors without a unit: the mean of their sum is the weight while the robot stands or walks.

    The zero of a sensor is its least reading once its foot has been in the air. The scale follows the largest mean of
    the sum over a second, so that a robot that hangs later on does not change it.
    """

    def __init__(self, contacts: Sequence[str], weight: float) -> None:
        """Begin without a reading of the sensors of some contacts of a robot of some weight [N]."""
        self._weight, self._place = weight, {name: k for k, name in enumerate(contacts)}
        self._mean, self._least, self._most = (np.full(len(contacts), np.nan) for _ in range(3))
        self._last_ns = np.zeros(len(contacts), dtype=np.int64)
        self._largest = 0.0  # mean of the sum

    def force(self, contact: str, value: float, arrival_ns: int) -> float:
        """Take a reading of a contact's sensor; return its vertical force [N], 0 before all have been heard."""
        k = self._place[contact]
        step = max(arrival_ns - int(self._last_ns[k]), 0)
        self._last_ns[k] = arrival_ns
        if np.isnan(self._mean[k]):
            self._mean[k] = self._least[k] = self._most[k] = value
        else:
            forget = min(step / MEMORY_NS, 1.0)
            spread = forget * (self._most[k] - self._least[k])
            self._mean[k] += min(step / MEAN_TIME_NS, 1.0) * (value - self._mean[k])
            self._least[k] = min(value, self._least[k] + spread)
            self._most[k] = max(value, self._most[k] - spread)
            self._largest *= 1.0 - forget / len(self._mean)
        zero = np.where(self._least < LIFTED * self._most, self._least, 0.0)
        total = float((self._mean - zero).sum())
        self._largest = max(self._largest, total if total > 0.0 else 0.0)  # NaN: not all have been heard
        return self._weight / self._largest * (value - float(zero[k])) if self._largest > 0.0 else 0.0
