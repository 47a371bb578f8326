"""Contacts by what a robot has: wrenches, vertical forces, integers that grow with the force, switches, none."""

from collections.abc import Sequence
from enum import Enum

import numpy as np

from inertial_estimation.errors import ConfigurationError, ModelError, did_you_mean, listing
from inertial_estimation.inputs.clocks import ClockGroup
from inertial_estimation.inputs.config import STANDARD_GRAVITY, RobotInputConfig
from inertial_estimation.inputs.imu import rotation_between
from inertial_estimation.inputs.messages import BOOL_TYPE, NUMBER_TYPES, WRENCH_TYPES
from inertial_estimation.inputs.possible import scalar_range, wrench_range
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
    """Where it is known from whether a contact is closed, and with which force.

    Attributes:
        WRENCH: A sensor of force and moment, or a state estimator (``<contact>/wrench``).
        FORCE: A sensor of the vertical force [N].
        RAW_FORCE: A sensor whose numbers grow with the vertical force and have no unit, such as the integers of
            Unitree's feet; all of them together are scaled to the robot's weight.
        SWITCH: A switch, or a probability from 0 to 1.
        JOINT_TORQUES: The torques of the joints between base and contact; no topic.
        DESIRED: The wrench that a planner wants (``<contact>/desired_wrench``).
        NONE: Nothing.
    """

    WRENCH = "wrench"
    FORCE = "force"
    RAW_FORCE = "raw_force"
    SWITCH = "switch"
    JOINT_TORQUES = "joint_torques"
    DESIRED = "desired"
    NONE = "none"

    @property
    def width(self) -> int:
        """Numbers in a row: 6 of a wrench, 1 of a force or switch, 0 without a topic."""
        return 6 if self in (self.WRENCH, self.DESIRED) else 1 if self in (self.FORCE, self.RAW_FORCE, self.SWITCH) else 0

    @property
    def types(self) -> tuple[str, ...]:
        """Types of messages that it is read from."""
        if self.width == 6:
            return WRENCH_TYPES
        number = (*NUMBER_TYPES, *WRENCH_TYPES[:1]) if self is self.FORCE else NUMBER_TYPES
        return (BOOL_TYPE, *number) if self is self.SWITCH else number if self.width else ()


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
        axes: Axes of the rows of a wrench.
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
        axes = wrench_axes(robot, contact.wrench_frame)
        self.name, self.source, self.axes = contact.name, source, axes
        self._robot, self._frame = robot, contact.wrench_frame if axes is WrenchAxes.SENSOR else contact.frame
        self._by_parameters, self._scale = axes, scale
        self._use_frames = config.inputs.frame_ids == "use"
        desired = source is ContactSource.DESIRED
        weight = STANDARD_GRAVITY * robot.total_mass
        largest = max(config.inputs.range.force_factor * weight, 300.0)
        ranges = {
            ContactSource.FORCE: (-largest, largest, "vertical force", "N"),
            ContactSource.RAW_FORCE: (-LARGEST_RAW, LARGEST_RAW, "force without a unit", ""),
            ContactSource.SWITCH: (0.0, 1.0, "probability of contact", ""),
        }
        limits = scalar_range(*ranges[source]) if source in ranges else wrench_range(config.inputs.range, robot)
        spec = StreamSpec(
            f"{contact.name}/{'desired_wrench' if desired else 'wrench'}",
            source.width,
            limits,
            0.0 if desired else config.inputs.wrench_delay,
            required=not desired,
            holds=source is ContactSource.SWITCH,
        )
        self.stream = Stream(spec, config.inputs, clocks)
        self._frame_id = self._frame  # of the last reading
        self._pose: tuple[Array, Array] | None = None  # rotation, position of its frame in that of the parameters

    def push(self, sample: WrenchSample | ContactSample, arrival_ns: int, frame_id: str = "") -> bool:
        """Take a reading; return whether it is stored.

        Args:
            sample: A wrench, or a number.
            arrival_ns: Its arrival [ns].
            frame_id: Frame in the header of its message; empty: not known.
        """
        if isinstance(sample, ContactSample):
            row = np.array([sample.value])
            if self._scale is not None:
                self._scale.update(self.name, sample.value, arrival_ns)
                row[0] = self._scale.force(self.name, sample.value)
            return self.stream.push(sample.stamp_ns, row, arrival_ns)
        if frame_id != self._frame_id and frame_id and self._use_frames:
            self._look_up(frame_id)
        row = sample.wrench_F.copy()
        if self._pose is not None:
            rotation, position = self._pose
            force = rotation @ row[:3]
            row = np.concatenate((force, rotation @ row[3:] + np.cross(position, force)))
        if self.stream.spec.width == 1:
            row = row[2:3]
        return self.stream.push(sample.stamp_ns, row, arrival_ns)

    def _look_up(self, frame_id: str) -> None:
        """Find what the frame of a message means for its wrench."""
        self._frame_id, self._pose, self.axes = frame_id, None, self._by_parameters
        self.stream.remarks.pop("frame", None)
        name, own = frame_id.rpartition("/")[2], {WrenchAxes.BASE: self._robot.base_link, WrenchAxes.SENSOR: self._frame}
        if name == own.get(self.axes) or (self.axes is WrenchAxes.WORLD and name in WORLD_FRAMES):
            return
        meant = WrenchAxes.BASE if name == self._robot.base_link else WrenchAxes.WORLD if name in WORLD_FRAMES else None
        if meant is not None:
            self.axes = meant
            self.stream.remarks["frame"] = (
                f"header.frame_id '{frame_id}': its forces are taken in the axes of the {meant.value}; set "
                f"wrench_frames: {meant.value}, or inputs.frame_ids: ignore"
            )
            return
        _rotation, remark = rotation_between(self._robot, self._frame, name, "wrench_frames")
        if remark:
            self.stream.remarks["frame"] = remark
        try:
            pose = self._robot.fixed_transform(self._frame, name)
        except ModelError:
            return
        self.axes = WrenchAxes.SENSOR
        if not (np.allclose(pose.rotation, np.eye(3), atol=1e-6) and np.allclose(pose.translation, 0.0, atol=1e-6)):
            self._pose = pose.rotation.copy(), pose.translation.copy()


class RawScale:
    """Scale of force sensors without a unit: the mean of their sum is the weight while the robot stands or walks.

    A sensor's zero is its least reading once its foot has been in the air, before that zero. The scale follows the
    largest mean of the sum over a second, so that a robot that hangs does not change it.
    """

    def __init__(self, contacts: Sequence[str], weight: float) -> None:
        """Begin without a reading of the sensors of some contacts of a robot of some weight [N]."""
        self._weight, self._place = weight, {name: k for k, name in enumerate(contacts)}
        self._mean, self._least, self._most = np.zeros(len(contacts)), np.zeros(len(contacts)), np.zeros(len(contacts))
        self._known = np.zeros(len(contacts), dtype=bool)
        self._last_ns = np.zeros(len(contacts), dtype=np.int64)
        self._largest = 0.0  # mean of the sum

    def update(self, contact: str, value: float, arrival_ns: int) -> None:
        """Take a reading of a contact's sensor."""
        k = self._place[contact]
        if not self._known[k]:
            self._known[k] = True
            self._mean[k] = self._least[k] = self._most[k] = value
        elif np.isfinite(value):
            step = max(arrival_ns - int(self._last_ns[k]), 0)
            self._mean[k] += min(step / MEAN_TIME_NS, 1.0) * (value - self._mean[k])
            forget = min(step / MEMORY_NS, 1.0) * (self._most[k] - self._least[k])
            self._least[k] = min(value, self._least[k] + forget)
            self._most[k] = max(value, self._most[k] - forget)
            self._largest -= min(step / MEMORY_NS, 1.0) * self._largest / len(self._mean)
        self._last_ns[k] = arrival_ns
        if self._known.all():
            self._largest = max(self._largest, float((self._mean - self._zero).sum()))

    @property
    def _zero(self) -> Array:
        return np.where(self._least < LIFTED * self._most, self._least, 0.0)

    def force(self, contact: str, value: float) -> float:
        """Return the vertical force of a reading [N]; zero before all sensors have been heard."""
        if self._largest <= 0.0:
            return 0.0
        return self._weight / self._largest * (value - float(self._zero[self._place[contact]]))


def wrench_axes(robot: RobotModel, frame: str) -> WrenchAxes:
    """Return the axes that an entry of `wrench_frames` means: of a frame of the contact's body, base or world."""
    if frame in (WrenchAxes.BASE.value, robot.base_link):
        return WrenchAxes.BASE
    return WrenchAxes.WORLD if frame in WORLD_FRAMES else WrenchAxes.SENSOR
