"""Readings of the IMU and of contact sensors of all kinds, converted to SI units and to their frames."""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

import numpy as np

from inertial_estimation.errors import ConfigurationError, ModelError, did_you_mean, listing
from inertial_estimation.inputs.config import DEGREE, IMU_UNITS, RobotInputConfig, unit_factors
from inertial_estimation.inputs.messages import BOOL_TYPE, NUMBER_TYPES, WRENCH_TYPES
from inertial_estimation.inputs.stream import ClockGroup, Stream, StreamSpec, number_range, vector_range
from inertial_estimation.models.bodies import BodyPlacements
from inertial_estimation.models.contacts import ContactFrames, WrenchAxes
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.models.robot_config import RobotSetup
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import NANOSECONDS, Array, ContactSample, ImuSample, WrenchSample

IMU = "imu/data"
LARGEST_SPECIFIC_FORCE = 320.0  # along one axis: 32 g accelerometers; common ones measure 16 g [m/s^2]
LARGEST_RATE = 40.0  # about one axis; common gyroscopes measure up to 35 [rad/s]
SAME_AXES = 0.5  # angle between two frames below which the difference is not reported [deg]
FORCE = slice(3)  # columns of a row of an IMU [m/s^2]
RATE = slice(3, 6)  # [rad/s]


class ImuInput:
    """Converts readings of the IMU to rows of specific force and angular rate in the configured frame."""

    def __init__(self, robot: RobotModel, frame: str, config: RobotInputConfig, clocks: ClockGroup) -> None:
        """Start without a reading and join the group of clocks of the robot's inputs."""
        self._robot, self._frame, self._frame_id = robot, frame, frame
        limits = ("specific force", "m/s^2", LARGEST_SPECIFIC_FORCE), ("angular rate", "rad/s", LARGEST_RATE)
        spec = StreamSpec(IMU, 6, vector_range(*limits), config.inputs.imu_delay)
        self.stream = Stream(spec, config.inputs, clocks)
        factors = unit_factors(config.imu.units, IMU_UNITS)
        scale = np.repeat([factors.get("force", 1.0), factors.get("rate", 1.0)], 3)
        self._scale = None if (scale == 1.0).all() else scale
        self._use_frames = config.inputs.frame_ids == "use"
        self._rotation: Array | None = None  # from the axes of the messages to those of the configured frame

    def push(self, sample: ImuSample, arrival_ns: int, frame_id: str = "") -> bool:
        """Take a reading with its arrival [ns] and header.frame_id; return whether it is stored."""
        if frame_id and frame_id != self._frame_id and self._use_frames:
            self._frame_id = frame_id
            pose, self.stream.remarks["frame"] = _pose(self._robot, self._frame, frame_id, "imu_frame")
            self._rotation = None if pose is None else pose.rotation.copy()
        force, rate = sample.specific_force_I, sample.angular_rate_I
        if self._rotation is not None:
            force, rate = self._rotation @ force, self._rotation @ rate
        row = np.concatenate((force, rate))
        if self._scale is not None:
            row *= self._scale
        return self.stream.push(sample.stamp_ns, row, arrival_ns)


def _pose(robot: RobotModel, frame: str, frame_id: str, parameter: str) -> tuple[Any, str]:
    """Return the pose (SE3) of a message's frame in the configured frame, and a sentence about it.

    The pose is None if both are the same or it is unknown; the sentence is empty if the axes are the same.
    """
    name = frame_id if robot.model.existFrame(frame_id) else frame_id.rpartition("/")[2]
    what = f"header.frame_id '{frame_id}' is"
    if not robot.model.existFrame(name):
        return None, f"{what} no frame of the robot; {parameter} '{frame}' is used"
    try:
        pose = robot.fixed_transform(frame, name)
    except ModelError:
        return None, f"{what} on another body than {parameter} '{frame}', which is used"
    if pose.isIdentity(1e-6):
        return None, ""
    angle = float(np.arccos(np.clip(0.5 * (np.trace(pose.rotation) - 1.0), -1.0, 1.0))) / DEGREE
    turned = f"{what} turned by {angle:.1f} deg against {parameter} '{frame}': readings are turned to it"
    return pose, f"{turned}; set {parameter}, or inputs.frame_ids: ignore" if angle >= SAME_AXES else ""


FORCE_FACTOR, LEAST_FORCE = 8.0, 300.0  # largest contact force: in weights of the robot, but at least [N]
MOMENT_ARM = 0.5  # lever arm of that force for the largest moment [m]
LARGEST_RAW = 1e6  # reading of a sensor without a unit
MEAN_TIME_NS = NANOSECONDS  # averaging time of the forces from which the scale of raw sensors follows
LIFTED = 0.5  # share of the largest reading, below which the smallest one is that of a foot in the air


class ContactSource(Enum):
    """Source of a contact's force or state. All but the last three are read from <contact>/wrench."""

    WRENCH = "wrench"  # force-torque sensor or state estimator [N, Nm]
    FORCE = "force"  # sensor of the vertical force [N]
    RAW_FORCE = "raw_force"  # numbers without a unit that grow with it (Unitree's feet), scaled to the weight
    SWITCH = "switch"  # contact switch, or a probability of contact from 0 to 1
    JOINT_TORQUES = "joint_torques"  # computed from the torques of the joints between base and contact
    DESIRED = "desired"  # wrench planned by a controller, on <contact>/desired_wrench
    NONE = "none"

    @property
    def width(self) -> int:
        """Width of a row: 6 for a wrench, 1 for a force or switch, 0 without a topic."""
        return TOPICS[self][0] if self in TOPICS else 0

    @property
    def types(self) -> tuple[str, ...]:
        """Message types from which it is read."""
        return TOPICS[self][1] if self in TOPICS else ()

    @property
    def described(self) -> str:
        """Its name, with the meaning of its values."""
        return f"{self.value} ({TOPICS[self][2]})" if self in TOPICS else self.value


TOPICS = {  # width of a row, message types, meaning of the values
    ContactSource.WRENCH: (6, WRENCH_TYPES, "N, Nm"),
    ContactSource.DESIRED: (6, WRENCH_TYPES, "wanted"),
    ContactSource.FORCE: (1, (*NUMBER_TYPES, WRENCH_TYPES[0]), "newtons"),
    ContactSource.RAW_FORCE: (1, NUMBER_TYPES, "grows with the force"),
    ContactSource.SWITCH: (1, (BOOL_TYPE, *NUMBER_TYPES), "0 to 1"),
}


def contact_sources(texts: str | Sequence[str], contacts: Sequence[str]) -> dict[str, ContactSource]:
    """Return the source of each contact from the parameter `contact.source`: one for all, or one for each.

    Raises:
        ConfigurationError: If a source does not exist, or their number is neither one nor that of contacts.
    """
    given, known = [texts] if isinstance(texts, str) else list(texts), [one.value for one in ContactSource]
    for text in given:
        if text not in known:
            raise ConfigurationError(f"no contact source '{text}'{did_you_mean(text, known, 'there are')}")
    if len(given) not in (1, len(contacts)):
        one_each = f"expected one, or one for each of {listing(contacts)}"
        raise ConfigurationError(f"'contact.source' has {len(given)} entries, {one_each}")
    every = given * len(contacts) if len(given) == 1 else given
    return {name: ContactSource(text) for name, text in zip(contacts, every, strict=True)}


class ContactInput:
    """Converts readings of one contact to rows; wrenches have the axes `axes`, set by their frame_id."""

    def __init__(
        self,
        robot: RobotModel,
        contact: ContactFrames,
        source: ContactSource,
        config: RobotInputConfig,
        clocks: ClockGroup,
        scale: "RawScale | None" = None,
        *,
        awaited: bool = True,
    ) -> None:
        """Start without a reading of a contact whose source has a topic.

        `scale` is shared by all sensors without a unit; steps wait for readings if `awaited`.
        """
        self.name, self.source, self._robot, self._scale = contact.name, source, robot, scale
        self.axes, self._frame = contact.axes, contact.wrench_frame
        self._frame_id = self._frame  # of the last reading
        self._pose: tuple[Array, Array] | None = None  # of that frame in the one of the parameters
        self._follow_frames = config.inputs.frame_ids == "use" and self.axes is WrenchAxes.SENSOR
        desired = source is ContactSource.DESIRED
        largest = max(FORCE_FACTOR * STANDARD_GRAVITY * robot.total_mass, LEAST_FORCE)
        ranges = {
            ContactSource.FORCE: number_range(-largest, largest, "vertical force", "N"),
            ContactSource.RAW_FORCE: number_range(-LARGEST_RAW, LARGEST_RAW, "force without a unit"),
            ContactSource.SWITCH: number_range(0.0, 1.0, "probability of contact"),
        }
        wrench = vector_range(("force", "N", largest), ("moment", "Nm", MOMENT_ARM * largest))
        name = f"{contact.name}/{'desired_wrench' if desired else 'wrench'}"
        delay, holds = 0.0 if desired else config.inputs.wrench_delay, source is ContactSource.SWITCH
        self._columns = slice(6) if source.width == 6 else slice(2, 3)  # of a wrench
        plausible, required = ranges.get(source, wrench), awaited and not desired
        spec = StreamSpec(name, source.width, plausible, delay, required=required, holds=holds)
        self.stream = Stream(spec, config.inputs, clocks)

    def push(self, sample: WrenchSample | ContactSample, arrival_ns: int, frame_id: str = "") -> bool:
        """Take a reading with its arrival [ns] and header.frame_id; return whether it is stored."""
        if isinstance(sample, ContactSample):
            self.stream.clock.by_arrival = self.stream.clock.by_arrival or not sample.stamp_ns
            value = sample.value
            if self._scale is not None and abs(value) <= LARGEST_RAW:
                value = self._scale.force(self.name, value, arrival_ns or sample.stamp_ns)
            return self.stream.push(sample.stamp_ns, np.array([value]), arrival_ns)
        if frame_id and frame_id != self._frame_id and self._follow_frames:
            self._look_up(frame_id)
        row = sample.wrench_F
        if self._pose is not None:
            rotation, position = self._pose
            force = rotation @ row[:3]
            row = np.concatenate((force, rotation @ row[3:] + np.cross(position, force)))
        return self.stream.push(sample.stamp_ns, row[self._columns], arrival_ns)

    def _look_up(self, frame_id: str) -> None:
        """Determine the axes and the pose of wrenches from their header.frame_id."""
        name, remarks = frame_id.rpartition("/")[2], self.stream.remarks
        self._frame_id, self._pose = frame_id, None
        self.axes = WrenchAxes.named(name, self._robot.base_link)
        if self.axes is not WrenchAxes.SENSOR:
            taken = f"header.frame_id '{frame_id}': its forces are taken in the axes of the {self.axes.value}"
            remarks["frame"] = f"{taken}; set wrench_frames: {self.axes.value}, or inputs.frame_ids: ignore"
            return
        pose, remarks["frame"] = _pose(self._robot, self._frame, name, "wrench_frames")
        self._pose = None if pose is None else (pose.rotation.copy(), pose.translation.copy())


class SensorAxes:
    """Rotates the wrenches of a robot to the axes of their wrench frames."""

    def __init__(self, setup: RobotSetup, inputs: Mapping[str, ContactInput]) -> None:
        self._contacts, self._inputs, self._bodies = setup.contacts, inputs, BodyPlacements(setup.robot)

    @property
    def unknown(self) -> list[str]:
        """Contacts whose wrenches are in world axes, for which the yaw of the base would be needed."""
        return [name for name, contact in self._inputs.items() if contact.axes is WrenchAxes.WORLD]

    @property
    def note(self) -> str:
        """Sentence about wrenches that cannot be used because of their axes; empty if there are none."""
        note = f"the wrenches of {listing(self.unknown)} are in the axes of the world, whose yaw is not known"
        return note if self.unknown else ""

    def turned(self, wrenches: Array, q: Array) -> Array:
        """Return wrenches of all contacts in their wrench frames.

        Args:
            wrenches: In the axes of their messages, of the sensor or of the base [N, Nm], shape (n, 6).
            q: Positions of the joints [rad or m], shape (n_joints,).
        """
        known = self._inputs
        axes = [known[c.name].axes if c.name in known else WrenchAxes.SENSOR for c in self._contacts]
        if WrenchAxes.BASE not in axes:
            return wrenches
        turned: Array = wrenches.copy()
        self._bodies.update(q)
        for i, contact in enumerate(self._contacts):
            if axes[i] is not WrenchAxes.SENSOR:
                R_BF, _position = self._bodies.frame_B(contact.wrench_frame)
                turned[i] = (axes[i].in_base(wrenches[i].reshape(2, 3), R_BF) @ R_BF).ravel()
        return turned


class RawScale:
    """Scale of force sensors without a unit: the mean of their sum is the robot's weight.

    The zero of a sensor is its smallest reading once its foot has been in the air. The scale follows from the
    largest mean of the sum over a second, so that lifting the robot later does not change it.
    """

    def __init__(self, contacts: Sequence[str], weight: float) -> None:
        """Start without a reading of the sensors of some contacts, for a robot of a weight [N]."""
        self._weight, self._place = weight, {name: k for k, name in enumerate(contacts)}
        self._mean, self._least, self._most = (np.full(len(contacts), np.nan) for _ in range(3))
        self._last_ns = np.zeros(len(contacts), dtype=np.int64)
        self._largest = 0.0  # mean of the sum

    def force(self, contact: str, value: float, arrival_ns: int) -> float:
        """Take a reading of a sensor; return its vertical force [N], 0 until every sensor has been read."""
        k = self._place[contact]
        step = max(arrival_ns - int(self._last_ns[k]), 0)
        self._last_ns[k] = arrival_ns
        if np.isnan(self._mean[k]):
            self._mean[k] = self._least[k] = self._most[k] = value
        else:
            self._mean[k] += min(step / MEAN_TIME_NS, 1.0) * (value - self._mean[k])
            self._least[k], self._most[k] = min(value, self._least[k]), max(value, self._most[k])
        zero = np.where(self._least < LIFTED * self._most, self._least, 0.0)
        total = float((self._mean - zero).sum())
        self._largest = max(self._largest, total if total > 0.0 else 0.0)  # NaN: not every sensor was read
        return self._weight / self._largest * (value - float(zero[k])) if self._largest > 0.0 else 0.0
