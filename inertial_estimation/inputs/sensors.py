"""Readings of the IMU and of contacts by what a robot has: units, and the frames in whose axes they are."""

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
LARGEST_SPECIFIC_FORCE = 320.0  # along one axis; accelerometers for impacts reach it, others half [m/s^2]
LARGEST_RATE = 40.0  # about one axis; common gyroscopes measure up to 35 [rad/s]
SAME_AXES = 0.5  # angle between two frames below which it does not matter which one is meant [deg]
FORCE = slice(3)  # columns of a row of an IMU [m/s^2]
RATE = slice(3, 6)  # [rad/s]


class ImuInput:
    """Readings of the IMU as rows of specific force and angular rate, in the frame of the parameters."""

    def __init__(self, robot: RobotModel, frame: str, config: RobotInputConfig, clocks: ClockGroup) -> None:
        """Begin without a reading; the clocks are those of the inputs of the robot."""
        self._robot, self._frame, self._frame_id = robot, frame, frame
        limits = ("specific force", "m/s^2", LARGEST_SPECIFIC_FORCE), ("angular rate", "rad/s", LARGEST_RATE)
        spec = StreamSpec(IMU, 6, vector_range(*limits), config.inputs.imu_delay)
        self.stream = Stream(spec, config.inputs, clocks)
        factors = unit_factors(config.imu.units, IMU_UNITS)
        scale = np.repeat([factors.get("force", 1.0), factors.get("rate", 1.0)], 3)
        self._scale = None if (scale == 1.0).all() else scale
        self._use_frames = config.inputs.frame_ids == "use"
        self._rotation: Array | None = None  # from the axes of the readings to those of the parameters

    def push(self, sample: ImuSample, arrival_ns: int, frame_id: str = "") -> bool:
        """Take a reading, its arrival [ns] and the frame in its header; return whether it is stored."""
        if frame_id and frame_id != self._frame_id and self._use_frames:
            self._frame_id = frame_id
            pose, self.stream.remarks["frame"] = _pose(self._robot, self._frame, frame_id, "imu_frame")
            self._rotation = None if pose is None else pose.rotation.copy()
        row, rotation = np.empty(6), self._rotation
        row[FORCE] = sample.specific_force_I if rotation is None else rotation @ sample.specific_force_I
        row[RATE] = sample.angular_rate_I if rotation is None else rotation @ sample.angular_rate_I
        if self._scale is not None:
            row *= self._scale
        return self.stream.push(sample.stamp_ns, row, arrival_ns)


def _pose(robot: RobotModel, frame: str, frame_id: str, parameter: str) -> tuple[Any, str]:
    """Return the pose (SE3) of a message's frame in that of a parameter, and what to say of it.

    It is None where both are the same or it is not known; nothing is said of axes that are the same.
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


FORCE_FACTOR, LEAST_FORCE = 8.0, 300.0  # largest force of a contact: times the weight; of light robots [N]
MOMENT_ARM = 0.5  # of it [m]
LARGEST_RAW = 1e6  # of a sensor without a unit
MEAN_TIME_NS = NANOSECONDS  # of the mean force from which the scale of raw sensors follows
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

    @property
    def described(self) -> str:
        """Its name with what a number means."""
        return f"{self.value} ({TOPICS[self][2]})" if self in TOPICS else self.value


TOPICS = {  # numbers in a row, types of the messages, meaning
    ContactSource.WRENCH: (6, WRENCH_TYPES, "N, Nm"),
    ContactSource.DESIRED: (6, WRENCH_TYPES, "wanted"),
    ContactSource.FORCE: (1, (*NUMBER_TYPES, WRENCH_TYPES[0]), "newtons"),
    ContactSource.RAW_FORCE: (1, NUMBER_TYPES, "grows with the force"),
    ContactSource.SWITCH: (1, (BOOL_TYPE, *NUMBER_TYPES), "0 to 1"),
}


def contact_sources(texts: str | Sequence[str], contacts: Sequence[str]) -> dict[str, ContactSource]:
    """Return the source of each contact by the parameter `contact.source`: one for all, or one for each.

    Raises:
        ConfigurationError: If there are neither one nor as many as contacts, or one does not exist.
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
    """The readings of one contact; a wrench is in `axes`, which the frame of its messages may change."""

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
        """Begin without a reading of a contact.

        The source is one with a topic; the scale is that of all raw sensors of the robot. Steps wait for one
        that is awaited.
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
        """Take a reading, its arrival [ns] and the frame in its header; return whether it is stored."""
        if isinstance(sample, ContactSample):
            self.stream.clock.by_arrival = self.stream.clock.by_arrival or not sample.stamp_ns
            value = sample.value
            if self._scale is not None and abs(value) <= LARGEST_RAW:
                value = self._scale.force(self.name, value, arrival_ns or sample.stamp_ns)
            return self.stream.push(sample.stamp_ns, np.array([value]), arrival_ns)
        if frame_id and frame_id != self._frame_id and self._follow_frames:
            self._look_up(frame_id)
        row = sample.wrench_F.copy()
        if self._pose is not None:
            rotation, position = self._pose
            force = rotation @ row[:3]
            row = np.concatenate((force, rotation @ row[3:] + np.cross(position, force)))
        return self.stream.push(sample.stamp_ns, row[self._columns], arrival_ns)

    def _look_up(self, frame_id: str) -> None:
        """Find what the frame of a message means for its wrench."""
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
    """Turns the wrenches of a robot into the axes of their wrench frames."""

    def __init__(self, setup: RobotSetup, inputs: Mapping[str, ContactInput]) -> None:
        self._contacts, self._inputs, self._bodies = setup.contacts, inputs, BodyPlacements(setup.robot)

    @property
    def unknown(self) -> list[str]:
        """Contacts whose wrenches are in the axes of the world, which need the yaw of the base."""
        return [name for name, contact in self._inputs.items() if contact.axes is WrenchAxes.WORLD]

    @property
    def note(self) -> str:
        """Say that wrenches cannot be used for their axes; empty where none is."""
        note = f"the wrenches of {listing(self.unknown)} are in the axes of the world, whose yaw is not known"
        return note if self.unknown else ""

    def turned(self, wrenches: Array, q: Array) -> Array:
        """Return wrenches of all contacts in their wrench frames.

        Args:
            wrenches: In the axes of their messages, those of the sensor or of the base, shape (n, 6).
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
    """Scale of force sensors without a unit: their mean sum is the weight while the robot stands or walks.

    The zero of a sensor is its least reading once its foot has been in the air. The scale follows the largest
    mean of the sum over a second, so that a robot that hangs later on does not change it.
    """

    def __init__(self, contacts: Sequence[str], weight: float) -> None:
        """Begin without a reading of the sensors of some contacts of a robot of some weight [N]."""
        self._weight, self._place = weight, {name: k for k, name in enumerate(contacts)}
        self._mean, self._least, self._most = (np.full(len(contacts), np.nan) for _ in range(3))
        self._last_ns = np.zeros(len(contacts), dtype=np.int64)
        self._largest = 0.0  # mean of the sum

    def force(self, contact: str, value: float, arrival_ns: int) -> float:
        """Take a reading of a sensor; return its vertical force [N], 0 before all have been heard."""
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
        self._largest = max(self._largest, total if total > 0.0 else 0.0)  # NaN: not all have been heard
        return self._weight / self._largest * (value - float(zero[k])) if self._largest > 0.0 else 0.0
