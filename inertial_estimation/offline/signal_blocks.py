"""A recording as a stream of uniformly sampled blocks, in memory that does not grow with it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from inertial_estimation.errors import MeasurementError, RecordingError, listing
from inertial_estimation.identification.signal_block import SignalBlock
from inertial_estimation.inputs.config import JOINT_UNITS, unit_factors
from inertial_estimation.inputs.imu import IMU
from inertial_estimation.inputs.joints import JOINTS, NO_EFFORT, NO_VELOCITY, JointNames, JointOrder
from inertial_estimation.inputs.messages import IMU_TYPE, JOINT_STATE_TYPE, WRENCH_TYPE
from inertial_estimation.models.joint_corrections import joint_corrections
from inertial_estimation.models.robot_config import RobotConfig
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.offline.uniform_resampler import GridInput, GridPart, UniformGrid
from inertial_estimation.recordings.recorded_topics import RecordedTopics
from inertial_estimation.recordings.recording import Recording, check_topic
from inertial_estimation.signals import NANOSECONDS, Array, ImuSample, JointReading, WrenchSample, seconds

BLOCK_S = 10.0  # length of a block [s]
MOST_DROPPED_AT_START = 1000  # joint states dropped without a good one, after which the recording is given up


@dataclass(frozen=True)
class SignalNeeds:
    """What the blocks must hold in addition to joint positions.

    Attributes:
        velocity: Joint velocities.
        effort: Joint torques.
        imu: Specific force and rate of the IMU.
        contacts: Contacts whose wrenches are needed, in the order of the blocks.
    """

    velocity: bool = False
    effort: bool = True
    imu: bool = False
    contacts: tuple[str, ...] = ()


class BlockStream:
    """Reads a recording once, topic by topic in the order of its log, and yields blocks.

    Joint states, picked by name and corrected as online, set the grid; IMU and wrenches are
    interpolated onto it (`UniformGrid`). Angles of continuous joints are unwrapped. Velocities are those
    measured: where there are none, positions are differentiated later, and better, over a window that looks
    ahead as well.

    Attributes:
        name: Of the recording.
        dropped: Readings left out, by reason.
        samples: Samples yielded so far.
    """

    def __init__(
        self,
        recording: Recording,
        topics: RecordedTopics,
        robot: RobotModel,
        config: RobotConfig,
        needs: SignalNeeds,
        *,
        max_gap_s: float | None = None,
        block_s: float = BLOCK_S,
    ) -> None:
        """Check the topics.

        Args:
            recording: The recording.
            topics: Topics of the inputs.
            robot: The model, for the order of its joints.
            config: Parameters of the robot: delays, limits, corrections.
            needs: What the blocks must hold.
            max_gap_s: Widest gap that is interpolated over [s]; None: that of `config`.
            block_s: Length of a block [s].

        Raises:
            RecordingError: If a topic is missing or of another type.
        """
        self.name = recording.name
        self._recording = recording
        self._needs = needs
        self._topics = topics
        self._block_s = block_s
        self._rows = _JointRows(robot, config, needs)
        self._n = robot.n_joints
        self._continuous = robot.continuous_joints
        self._without_velocity = False
        self._last_angles: Array | None = None
        self._wrench_of = {topics.wrenches[c]: f"{c}/wrench" for c in needs.contacts}
        self._check_topics(recording)
        inputs = config.inputs
        others = [GridInput(IMU, 6, inputs.imu_delay)] if needs.imu else []
        others += [GridInput(name, 6, inputs.wrench_delay) for name in self._wrench_of.values()]
        width = (1 + needs.velocity + needs.effort) * robot.n_joints
        driver = GridInput(JOINTS, width, inputs.joint_delay)
        gap = inputs.max_gap if max_gap_s is None else max_gap_s
        self._grid = UniformGrid(driver, others, inputs, max_gap_s=gap)
        self.samples = 0

    @property
    def dropped(self) -> Mapping[str, int]:
        """Readings left out, by reason."""
        malformed = getattr(self._recording, "malformed", {})
        return {**self._grid.dropped, **{f"{topic}: malformed": n for topic, n in malformed.items() if n}}

    def blocks(self, progress: Callable[[float], None] | None = None) -> Iterator[SignalBlock]:
        """Yield the blocks.

        Args:
            progress: Called now and then with the seconds of the recording done.

        Raises:
            RecordingError: If there are no usable joint states, or no time at which all inputs are there.
        """
        cutter = _BlockCutter(self._needs, self._n)
        begin_ns = self._recording.start_ns
        for parts, log_ns in self._parts():
            for part in parts:
                for block in cutter.push(part, self._grid.step_ns, self._block_s):
                    self.samples += block.size
                    yield block
            if progress is not None:
                progress(seconds(log_ns - begin_ns))
        for block in cutter.rest():
            self.samples += block.size
            yield block
        if not self.samples:
            raise RecordingError(self._nothing())

    def _parts(self) -> Iterator[tuple[list[GridPart], int]]:
        log_ns = self._recording.start_ns
        for entry in self._recording.entries(self._wanted()):
            log_ns, sample = entry.log_ns, entry.sample
            if isinstance(sample, JointReading):
                self._push_joints(sample)
            elif isinstance(sample, WrenchSample):
                self._grid.push(self._wrench_of[entry.topic], sample.stamp_ns, sample.wrench_F)
            elif isinstance(sample, ImuSample):
                row = np.concatenate((sample.specific_force_I, sample.angular_rate_I))
                self._grid.push(IMU, sample.stamp_ns, row)
            if self._grid.due:
                yield self._grid.pop(), log_ns
        yield self._grid.pop(final=True), log_ns

    def _push_joints(self, reading: JointReading) -> None:
        if self._needs.velocity and not self._grid.kept[JOINTS]:
            self._without_velocity = _lacks_velocity(reading)
        try:
            row = self._rows.row(reading)
        except MeasurementError as error:
            self._grid.drop(JOINTS, str(error))
            if not self._grid.kept[JOINTS] and sum(self._grid.dropped.values()) >= MOST_DROPPED_AT_START:
                raise RecordingError(self._nothing()) from error
            return
        if len(self._continuous) and np.isfinite(row @ row):
            angles = row[self._continuous]
            last = angles if self._last_angles is None else self._last_angles
            row[self._continuous] = self._last_angles = angles - 2 * np.pi * np.round(
                (angles - last) / (2 * np.pi)
            )
        self._grid.push(JOINTS, reading.stamp_ns, row)

    def _wanted(self) -> list[str]:
        imu = [self._topics.imu] if self._needs.imu else []
        return [self._topics.joints, *imu, *self._wrench_of]

    def _check_topics(self, recording: Recording) -> None:
        check_topic(recording, self._topics.joints, [JOINT_STATE_TYPE])
        if self._needs.imu:
            check_topic(recording, self._topics.imu, [IMU_TYPE])
        for topic in self._wrench_of:
            check_topic(recording, topic, [WRENCH_TYPE])

    def _nothing(self) -> str:
        kept = [f"{name} {count}" for name, count in self._grid.kept.items()]
        why = [f"{reason} ({count})" for reason, count in self.dropped.items()]
        hint = "; are the stamps of all inputs of one clock?" if all(self._grid.kept.values()) else ""
        if self._without_velocity and not self._grid.kept[JOINTS]:
            hint = "; without joint velocities, 'smoothing.differentiate: position' needs none"
        return f"'{self.name}' gives no sample: good readings {listing(kept)}; left out {listing(why)}{hint}"


class _JointRows:
    """Positions and, where needed, velocities and efforts of the joints of a model, as rows."""

    def __init__(self, robot: RobotModel, config: RobotConfig, needs: SignalNeeds) -> None:
        self._names, self._needs = JointNames(robot, config.joint_names), needs
        self._order: tuple[tuple[str, ...], JointOrder] | None = None  # names of the last joint state
        self._joints = robot.joint_names
        corrections = joint_corrections(config.joint_offsets, config.drive_gains, robot)
        factors = unit_factors(config.joint_states.units, JOINT_UNITS)
        turning = np.isin(np.arange(robot.n_joints), robot.turning_joints)
        position, velocity, effort = (
            np.where(turning, factors.get(what, 1.0), 1.0) for what in ("position", "velocity", "effort")
        )
        self._offset, self._scales = corrections.offset, (position, velocity, effort * corrections.gain)

    def row(self, reading: JointReading) -> Array:
        """Return the row of a joint state; a joint without a finite number is refused later.

        Raises:
            MeasurementError: If it lacks a joint of the model, or a quantity that is needed.
        """
        if self._order is None or self._order[0] != reading.names:
            self._order = reading.names, self._names.order(reading.names)
        order = self._order[1]
        if len(order.joints) < len(self._joints):
            missing = listing(np.delete(np.array(self._joints), order.joints).tolist())
            raise MeasurementError(f"the joint state misses {missing}; it has {listing(reading.names)}")
        q_scale, v_scale, tau_scale = self._scales
        parts = [reading.position[order.places] * q_scale + self._offset]
        for needed, sent, scale, lacks in (
            (self._needs.velocity, reading.velocity, v_scale, NO_VELOCITY),
            (self._needs.effort, reading.effort, tau_scale, NO_EFFORT),
        ):
            if needed and sent is None:
                raise MeasurementError(lacks)
            if needed and sent is not None:
                parts.append(sent[order.places] * scale)
        return np.concatenate(parts)


def _lacks_velocity(reading: JointReading) -> bool:
    """Whether a joint state has positions but no velocities."""
    velocity = reading.velocity
    lacking = velocity is None or not np.isfinite(velocity).any()
    return lacking and bool(np.isfinite(reading.position).all())


def split_block(block: SignalBlock, time_ns: int) -> tuple[SignalBlock | None, SignalBlock | None]:
    """Cut a block in two: samples before a time, and from it on.

    Args:
        block: The block.
        time_ns: Where to cut [ns].

    Returns:
        The two parts, None where empty; the second, if both are there, continues nothing.
    """
    at = int(np.searchsorted(block.stamps_ns, time_ns))
    if at == 0:
        return None, block
    if at == block.size:
        return block, None
    before = block.part(0, at, continues=block.continues)
    return before, block.part(at, block.size, continues=False)


class _BlockCutter:
    """Joins parts of the grid and cuts them into blocks of one length."""

    def __init__(self, needs: SignalNeeds, n_joints: int) -> None:
        self._needs = needs
        self._n = n_joints
        self._parts: list[GridPart] = []
        self._size = 0
        self._step_ns = 0.0

    def push(self, part: GridPart, step_ns: float, block_s: float) -> Iterator[SignalBlock]:
        self._step_ns = step_ns
        most = max(round(block_s * NANOSECONDS / step_ns), 1)
        if not part.continues:
            yield from self.rest()
        while len(part.times_ns):
            room = most - self._size
            self._parts.append(_part(part, slice(None, room)))
            self._size += len(self._parts[-1].times_ns)
            part = replace(_part(part, slice(room, None)), continues=True)
            if self._size == most:
                yield from self.rest()

    def rest(self) -> Iterator[SignalBlock]:
        """Yield what has gathered."""
        if self._parts:
            columns = [np.concatenate(rows) for rows in zip(*(p.rows for p in self._parts), strict=True)]
            first = self._parts[0]
            yield self._block(int(first.times_ns[0]), columns, continues=first.continues)
        self._parts, self._size = [], 0

    def _block(self, start_ns: int, inputs: Sequence[Array], *, continues: bool) -> SignalBlock:
        joints, *others = inputs
        n, needs = self._n, self._needs
        fields = iter(np.hsplit(joints, range(n, joints.shape[1], n)))
        q = next(fields)
        v = next(fields) if needs.velocity else None
        tau = next(fields) if needs.effort else None
        imu = others.pop(0) if needs.imu else None
        wrenches = np.stack(others, axis=1) if others else None
        f_I, w_I = (imu[:, :3], imu[:, 3:]) if imu is not None else (None, None)
        return SignalBlock(start_ns, seconds(self._step_ns), continues, q, v, tau, f_I, w_I, wrenches)


def _part(part: GridPart, where: slice) -> GridPart:
    return replace(part, times_ns=part.times_ns[where], rows=tuple(rows[where] for rows in part.rows))
