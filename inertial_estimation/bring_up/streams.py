"""The inputs of a recording as arrays, one stream per sensor."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.errors import RecordingError
from inertial_estimation.models.joint_corrections import joint_corrections
from inertial_estimation.models.robot_config import RobotConfig, RobotSetup
from inertial_estimation.recordings.recorded_topics import RecordedTopics
from inertial_estimation.recordings.recording import Recording
from inertial_estimation.signals import NANOSECONDS, Array, ImuSample, JointReading, WrenchSample

Stamps = NDArray[np.int64]
FEWEST = 20  # messages of a stream that is judged


@dataclass(frozen=True, eq=False)
class Stream:
    """Readings of one sensor in the order of arrival.

    Attributes:
        stamps_ns: Stamps of the messages, not necessarily increasing [ns], shape (m,).
        values: Shape (m, c).
        log_ns: When each message was recorded [ns], shape (m,).
    """

    stamps_ns: Stamps
    values: Array
    log_ns: Stamps

    @property
    def size(self) -> int:
        """Number of readings."""
        return len(self.stamps_ns)

    def with_values(self, values: Array) -> "Stream":
        """Return the stream with other values at the same stamps, shape (m, c)."""
        return replace(self, values=values)

    def delayed(self, seconds: float) -> "Stream":
        """Return the stream with later stamps [s]."""
        return replace(self, stamps_ns=self.stamps_ns + round(seconds * NANOSECONDS))

    def kept(self, which: NDArray[np.bool_] | NDArray[np.int64]) -> "Stream":
        """Return the readings that a mask or indices select."""
        return Stream(self.stamps_ns[which], self.values[which], self.log_ns[which])


@dataclass(frozen=True, eq=False)
class RobotStreams:
    """The inputs of a robot.

    Attributes:
        joints: Positions, velocities and efforts in the model's order with offsets and gains of the
            parameter file applied, NaN where not sent, 3 n columns.
        imu: Specific force [m/s^2] and angular rate [rad/s], 6 columns; None without.
        wrenches: Of each contact that was recorded [N, Nm], 6 columns.
        missing: Joints of the model that the joint states lack.
        absent: Topics that the parameter file expects and the recording lacks.
    """

    joints: Stream
    imu: Stream | None
    wrenches: Mapping[str, Stream]
    missing: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()

    @property
    def by_name(self) -> dict[str, Stream]:
        """All streams by the name of their input."""
        found = {"joint_states": self.joints}
        if self.imu is not None:
            found["imu/data"] = self.imu
        return found | {f"{contact}/wrench": stream for contact, stream in self.wrenches.items()}

    @property
    def n_joints(self) -> int:
        """Number of joints of the model."""
        return int(self.joints.values.shape[1]) // 3

    def changed(self, change: Callable[[str, Stream], Stream]) -> "RobotStreams":
        """Return the streams with each one replaced by what a function of its name and itself returns."""
        return replace(
            self,
            joints=change("joint_states", self.joints),
            imu=None if self.imu is None else change("imu/data", self.imu),
            wrenches={name: change(f"{name}/wrench", stream) for name, stream in self.wrenches.items()},
        )

    def between(self, begin_ns: int, end_ns: int) -> "RobotStreams":
        """Return the readings stamped from one time on and before another [ns]."""
        return self.changed(
            lambda _name, stream: stream.kept((stream.stamps_ns >= begin_ns) & (stream.stamps_ns < end_ns))
        )

    def delayed(self, seconds: Mapping[str, float]) -> "RobotStreams":
        """Return the streams with later stamps, by the name of the input [s]."""
        return self.changed(lambda name, stream: stream.delayed(seconds.get(name, 0.0)))

    def with_joints(self, values: Array) -> "RobotStreams":
        """Return the streams with other joint states, as of `joints`."""
        return replace(self, joints=self.joints.with_values(values))

    def scaled_joints(self, part: int, factors: Array) -> "RobotStreams":
        """Return the streams with positions (part 0), velocities (1) or efforts (2) times factors."""
        values = self.joints.values.copy()
        n = self.n_joints
        values[:, part * n : (part + 1) * n] *= factors
        return self.with_joints(values)

    def scaled_joint(self, part: int, joint: int, factor: float) -> "RobotStreams":
        """Return the streams with `part` (as of `scaled_joints`) of one joint times a factor."""
        factors = np.ones(self.n_joints)
        factors[joint] = factor
        return self.scaled_joints(part, factors)

    def scaled_imu(self, factors: Array) -> "RobotStreams":
        """Return the streams with specific force and angular rate times factors, shape (6,)."""
        if self.imu is None:
            return self
        return replace(self, imu=self.imu.with_values(self.imu.values * factors))

    def turned_imu(self, force: Array | None = None, rate: Array | None = None) -> "RobotStreams":
        """Return the streams with specific force and angular rate times matrices, shape (3, 3)."""
        if self.imu is None:
            return self
        values = self.imu.values.copy()
        if force is not None:
            values[:, :3] = values[:, :3] @ force.T
        if rate is not None:
            values[:, 3:] = values[:, 3:] @ rate.T
        return replace(self, imu=self.imu.with_values(values))

    def changed_wrenches(self, contacts: Collection[str], change: Callable[[Array], Array]) -> "RobotStreams":
        """Return the streams with what a function makes of the readings of some contacts, shape (m, 6)."""
        wrenches = {
            name: stream.with_values(change(stream.values)) if name in contacts else stream
            for name, stream in self.wrenches.items()
        }
        return replace(self, wrenches=wrenches)

    def mirrored_joint(self, joint: int) -> "RobotStreams":
        """Return the streams with position and velocity of one joint of the other sign."""
        return self.scaled_joint(0, joint, -1.0).scaled_joint(1, joint, -1.0)

    def advanced_joints(self, part: int, seconds: float) -> "RobotStreams":
        """Return the streams with `part` (as of `scaled_joints`) that came late at its time, NaN beyond."""
        stamps, values, n = self.joints.stamps_ns, self.joints.values.copy(), self.n_joints
        order = np.argsort(stamps, kind="stable")
        at = (stamps - stamps[order[0]]) / NANOSECONDS
        for j in range(part * n, (part + 1) * n):
            values[:, j] = np.interp(
                at + seconds, at[order], self.joints.values[order, j], left=np.nan, right=np.nan
            )
        return self.with_joints(values)


@dataclass(eq=False)
class _Rows:
    """Readings of one topic while they are collected."""

    stamps_ns: list[int] = field(default_factory=list)
    values: list[Array] = field(default_factory=list)
    log_ns: list[int] = field(default_factory=list)

    def add(self, stamp_ns: int, row: Array, log_ns: int) -> None:
        self.stamps_ns.append(stamp_ns)
        self.values.append(row)
        self.log_ns.append(log_ns)

    def stream(self, columns: int) -> Stream:
        return Stream(
            np.array(self.stamps_ns, dtype=np.int64),
            np.array(self.values).reshape(-1, columns),
            np.array(self.log_ns, dtype=np.int64),
        )


class _JointRows:
    """Joint states by name as rows in the model's order."""

    def __init__(self, setup: RobotSetup, config: RobotConfig) -> None:
        self._robot = setup.robot
        self._corrections = joint_corrections(config.joint_offsets, config.drive_gains, setup.robot)
        self._names: tuple[str, ...] | None = None
        self._order: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self.missing: tuple[str, ...] = ()

    def row(self, reading: JointReading) -> Array:
        """Return positions, velocities and efforts; joints that are not named stay NaN, shape (3 n,)."""
        if reading.names != self._names:
            where = {name: i for i, name in enumerate(reading.names)}
            self._order = np.array([where.get(name, -1) for name in self._robot.joint_names], dtype=np.int64)
            self._names = reading.names
            self.missing = tuple(name for name in self._robot.joint_names if name not in where)
        row = np.full((3, len(self._order)), np.nan)
        there = self._order >= 0
        for k, values in enumerate((reading.position, reading.velocity, reading.effort)):
            if values is not None:
                row[k, there] = values[self._order[there]]
        row[0] += self._corrections.offset
        row[2] *= self._corrections.gain
        return row.ravel()


def read_streams(
    recording: Recording,
    topics: RecordedTopics,
    setup: RobotSetup,
    config: RobotConfig,
    span_ns: tuple[int, int],
) -> RobotStreams:
    """Read the inputs of a robot, with the delays, offsets and gains of its parameter file applied.

    Args:
        recording: The recording.
        topics: Topics of the inputs.
        setup: The robot.
        config: Its parameters.
        span_ns: Log times of the first and last messages read [ns].

    Raises:
        RecordingError: If the topic of the joint states is missing, or has too few messages.
    """
    contact_of = {topic: contact for contact, topic in topics.wrenches.items()}
    expected = [topics.joints, *filter(None, [topics.imu]), *contact_of]
    present = [topic for topic in expected if topic in recording.topics]
    if topics.joints not in present:
        raise RecordingError(
            f"'{recording.name}' has no joint states on '{topics.joints}'; name their topic with --remap, "
            f"it has {', '.join(sorted(recording.topics))}"
        )
    rows = {topic: _Rows() for topic in present}
    joints = _JointRows(setup, config)
    for entry in recording.entries(present, span_ns[0]):
        if entry.log_ns > span_ns[1]:
            break
        sample = entry.sample
        if isinstance(sample, JointReading):
            rows[entry.topic].add(sample.stamp_ns, joints.row(sample), entry.log_ns)
        elif isinstance(sample, ImuSample):
            row = np.concatenate((sample.specific_force_I, sample.angular_rate_I))
            rows[entry.topic].add(sample.stamp_ns, row, entry.log_ns)
        elif isinstance(sample, WrenchSample):
            rows[entry.topic].add(sample.stamp_ns, sample.wrench_F, entry.log_ns)
    filled = {topic: found for topic, found in rows.items() if len(found.stamps_ns) >= FEWEST}
    if topics.joints not in filled:
        count = len(rows[topics.joints].stamps_ns)
        raise RecordingError(
            f"'{recording.name}' has {count} joint states on '{topics.joints}' in that time, expected "
            f"{FEWEST} or more: examine another part (--start) or more of it (--duration)"
        )
    delays = config.inputs
    return RobotStreams(
        joints=filled[topics.joints].stream(3 * setup.robot.n_joints).delayed(-delays.joint_delay),
        imu=filled[topics.imu].stream(6).delayed(-delays.imu_delay) if topics.imu in filled else None,
        wrenches={
            contact: filled[topic].stream(6).delayed(-delays.wrench_delay)
            for topic, contact in contact_of.items()
            if topic in filled
        },
        missing=joints.missing,
        absent=tuple(topic for topic in expected if topic not in filled),
    )
