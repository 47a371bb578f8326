"""The inputs of a robot as arrays: rows of a recording, of a pipeline, or of aligned signals.

Messages are taken as online (`RobotInputs`): joint states in parts and under other names, units, frames,
custom messages, clocks, even stamps. Only the ranges of the sensors are open, since what is impossible is to be
judged and not dropped.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.errors import RecordingError
from inertial_estimation.inputs.contacts import ContactSource
from inertial_estimation.inputs.imu import IMU
from inertial_estimation.inputs.joints import JOINTS, JointRow
from inertial_estimation.inputs.messages import CONVERSIONS, IMU_TYPE, WRENCH_TYPES
from inertial_estimation.inputs.possible import DropReason, Fault, RowRange
from inertial_estimation.inputs.robot_inputs import RobotInputs
from inertial_estimation.inputs.stream import Ring
from inertial_estimation.inputs.stream import Stream as Input
from inertial_estimation.models.joint_corrections import joint_corrections
from inertial_estimation.models.robot_config import RobotConfig, RobotSetup
from inertial_estimation.recordings.connection import clock_offset_ns, connect
from inertial_estimation.recordings.recorded_topics import RecordedTopics
from inertial_estimation.recordings.recording import Recording
from inertial_estimation.signals import NANOSECONDS, Array, JointReading

Times = NDArray[np.int64]
FEWEST = 20  # readings of a stream that is judged
FIRST_ROWS = 4096  # room for rows of a stream at first; doubled when it is used up
STEP_HZ = 1.0  # at which the inputs align samples, which are not used here


class StreamNotes(NamedTuple):
    """What the inputs saw of a stream while its rows came."""

    received: int = 0
    dropped: Mapping[DropReason, int] = {}
    unset: bool = False  # its stamps are zero: rows are at their arrival
    even: bool = False  # its stamps come in bursts and have been made even
    clock_s: float = 0.0  # by which its stamps were moved, as they are of another clock [s]
    restarts: int = 0  # how often its rows began anew, as stamps went back


@dataclass(frozen=True, eq=False)
class Stream:
    """Rows of one sensor in the order of their times of measurement.

    Attributes:
        times_ns: Of measurement [ns], increasing, shape (m,).
        values: Shape (m, c).
        notes: What was seen while they came.
    """

    times_ns: Times
    values: Array
    notes: StreamNotes = StreamNotes()

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(self.times_ns)

    def with_values(self, values: Array) -> "Stream":
        """Return the stream with other values at the same times, shape (m, c)."""
        return replace(self, values=values)


@dataclass(frozen=True, eq=False)
class RobotStreams:
    """The inputs of a robot.

    Attributes:
        joints: Positions, velocities and efforts in the model's order with offsets and gains of the
            parameter file applied, NaN where not sent, 3 n columns.
        imu: Specific force [m/s^2] and angular rate [rad/s], 6 columns; None without.
        wrenches: Of each contact that has some [N, Nm], 6 columns.
        missing: Joints of the model that no joint state has.
        absent: Topics that the parameter file expects and the recording lacks or has of another type.
    """

    joints: Stream
    imu: Stream | None
    wrenches: Mapping[str, Stream]
    missing: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()

    @property
    def by_name(self) -> dict[str, Stream]:
        """All streams by the name of their input."""
        found = {JOINTS: self.joints}
        if self.imu is not None:
            found[IMU] = self.imu
        return found | {f"{contact}/wrench": stream for contact, stream in self.wrenches.items()}

    @property
    def n_joints(self) -> int:
        """Number of joints of the model."""
        return int(self.joints.values.shape[1]) // 3

    def changed(self, change: Callable[[str, Stream], Stream]) -> "RobotStreams":
        """Return the streams with each one replaced by what a function of its name and itself returns."""
        return replace(
            self,
            joints=change(JOINTS, self.joints),
            imu=None if self.imu is None else change(IMU, self.imu),
            wrenches={name: change(f"{name}/wrench", stream) for name, stream in self.wrenches.items()},
        )


def joint_rows(rows: Array, columns: JointRow) -> Array:
    """Return rows of positions, velocities and efforts, NaN where there are none, shape (m, 3 n)."""
    tau = np.full((len(rows), columns.n), np.nan) if columns.tau is None else rows[:, columns.tau]
    return np.hstack((rows[:, columns.q], rows[:, columns.v], tau))


class _Anything(RowRange):
    """The range of a sensor of which nothing is known."""

    def __init__(self) -> None:
        super().__init__(np.full(1, -np.inf), np.full(1, np.inf), [""], [""])

    def fault(self, row: Array) -> Fault | None:
        """Return that nothing is impossible."""
        return None


class _Everything(Ring):
    """A ring that keeps all rows: it grows, and what is cleared is put aside."""

    def __init__(self, width: int) -> None:
        super().__init__(width, FIRST_ROWS)
        self.pieces: list[tuple[Times, Array]] = []

    def append(self, time_ns: int, stamp_ns: int, row: Array) -> None:
        """Add a row after all others."""
        if self.end == len(self.times):
            self._grow()
        self.time[self.end], self.stamp[self.end] = time_ns, stamp_ns
        self.rows[self.end] = row
        self.end += 1
        self.total += 1

    def _grow(self) -> None:
        room = len(self.times)
        self.times = np.concatenate((self.times, np.zeros(room, dtype=np.int64)))
        self.stamps = np.concatenate((self.stamps, np.zeros(room, dtype=np.int64)))
        self.rows = np.concatenate((self.rows, np.zeros_like(self.rows)))
        self.time, self.stamp = self.times.data, self.stamps.data

    def clear(self) -> None:
        """Put all rows aside."""
        if len(self):
            self.pieces.append((self.times[: self.end].copy(), self.rows[: self.end].copy()))
        super().clear()
        self.moved = 0

    def longest(self) -> tuple[Times, Array]:
        """Return times and rows between two clearings, the largest number of them."""
        pieces = [*self.pieces, (self.times[self.begin : self.end], self.rows[self.begin : self.end])]
        return max(pieces, key=lambda piece: len(piece[0]))


def _opened(stream: Input) -> None:
    """Let a stream take and keep everything."""
    if not isinstance(stream.ring, _Everything):
        stream.spec = replace(stream.spec, range=_Anything())
        stream.ring, stream.finish = _Everything(stream.spec.width), None


def read_streams(
    recording: Recording,
    topics: RecordedTopics,
    setup: RobotSetup,
    config: RobotConfig,
    span_ns: tuple[int, int],
) -> RobotStreams:
    """Read the inputs of a robot, with names, units, delays, offsets and gains of its parameter file applied.

    Args:
        recording: The recording.
        topics: Topics of the inputs.
        setup: The robot.
        config: Its parameters.
        span_ns: Log times of the first and last messages read [ns].

    Raises:
        RecordingError: If there are no joint states, or too few messages of them.
    """
    inputs = _inputs(recording, topics, setup, config, span_ns[0])
    recorded, without = recording.topics, set()
    for name, (types, _push) in inputs.topics.items():
        if recorded.get(topics.of(name)) not in types:
            without.add(name)
    if not any(name not in without for name in (*config.joint_states.topics, *_mapped(inputs))):
        raise RecordingError(
            f"'{recording.name}' has no joint states on '{topics.joints}'; name their topic with --remap, "
            f"it has {', '.join(sorted(recorded))}"
        )
    takers = connect(inputs, recording, topics, without)
    offset_ns = clock_offset_ns(recording, takers, span_ns[0])
    for message in recording.unread(list(takers), span_ns[0]):
        if message.log_ns > span_ns[1]:
            break
        takers[message.topic](message, message.log_ns + offset_ns)
        inputs.ready()
        assert inputs.joints is not None
        for part in inputs.joints.parts:
            _opened(part.stream)
    streams = _taken(inputs, setup)
    if streams.joints.size < FEWEST:
        known, reasons = inputs.streams[JOINTS].drops, ""
        if known.total:
            reasons = f" ({known.summary})"
        raise RecordingError(
            f"'{recording.name}' has {streams.joints.size} joint states on '{topics.joints}' in that time"
            f"{reasons}, expected {FEWEST} or more: examine another part (--start) or more of it (--duration)"
        )
    empty = {name for name, one in inputs.streams.items() if not one.received}
    absent = [name for name in inputs.topics if name in without or name in empty]
    return replace(streams, absent=tuple(topics.of(name) for name in absent if name != JOINTS))


def _mapped(inputs: RobotInputs) -> list[str]:
    """Return topics of custom messages, which may hold joint states."""
    known = {JOINTS, IMU, *inputs.streams}
    return [name for name in inputs.topics if name not in known]


def _inputs(
    recording: Recording, topics: RecordedTopics, setup: RobotSetup, config: RobotConfig, begin_ns: int
) -> RobotInputs:
    """Return inputs that take everything; efforts only where the joint states have some."""
    waiting = replace(config.inputs, joint_velocity="auto")
    efforts = _sends_efforts(recording, topics, config, begin_ns)
    inputs = RobotInputs(
        setup,
        replace(config, inputs=waiting),
        driver=JOINTS,
        rate=STEP_HZ,
        efforts=efforts,
        partial_joints=True,
        sources={name: _source(recording, topics, name) for name in setup.contact_names},
        corrections=joint_corrections(config.joint_offsets, config.drive_gains, setup.robot),
    )
    for stream in inputs.streams.values():
        _opened(stream)
    return inputs


def _source(recording: Recording, topics: RecordedTopics, contact: str) -> ContactSource:
    """Return wrenches, unless the topic of a contact has another type, whose forces are not judged."""
    kind = recording.topics.get(topics.of(f"{contact}/wrench"), WRENCH_TYPES[0])
    return ContactSource.WRENCH if kind in WRENCH_TYPES else ContactSource.NONE


def _sends_efforts(
    recording: Recording, topics: RecordedTopics, config: RobotConfig, begin_ns: int
) -> bool:
    for name in config.joint_states.topics:
        topic = topics.of(name)
        if recording.topics.get(topic) not in CONVERSIONS or recording.topics[topic] == IMU_TYPE:
            continue
        for _number, entry in zip(range(FEWEST), recording.entries([topic], begin_ns), strict=False):
            if isinstance(entry.sample, JointReading) and entry.sample.effort is not None:
                return True
    return bool(config.inputs.map)


def _taken(inputs: RobotInputs, setup: RobotSetup) -> RobotStreams:
    """Return the rows that inputs have taken."""
    joints = inputs.joints
    assert joints is not None
    n = setup.robot.n_joints
    sent = {int(j) for part in joints.parts for j in part.joints}
    whole = _stream(inputs.streams[JOINTS])
    imu = _stream(inputs.streams[IMU]) if IMU in inputs.streams else None
    found = {contact: _stream(one.stream) for contact, one in inputs.contacts.items()}
    return RobotStreams(
        joints=replace(whole, values=joint_rows(whole.values, joints.columns)),
        imu=imu if imu is not None and imu.size >= FEWEST else None,
        wrenches={contact: stream for contact, stream in found.items() if stream.size >= FEWEST},
        missing=tuple(setup.robot.joint_names[j] for j in range(n) if j not in sent),
    )


def _stream(taken: Input) -> Stream:
    ring = taken.ring
    times, rows = ring.longest() if isinstance(ring, _Everything) else ring.newest(len(ring))
    restarts = len(ring.pieces) if isinstance(ring, _Everything) else 0
    clock, counts = taken.clock, dict(taken.drops.counts)
    notes = StreamNotes(
        taken.received,
        counts,
        unset=clock.unset,
        even=clock.even.even,
        clock_s=clock.offset_ns / NANOSECONDS,
        restarts=restarts,
    )
    return Stream(times.copy(), rows.copy(), notes)


class StreamCollector:
    """Collects rows of the inputs of a running pipeline, or aligned signals, until there are enough.

    Attributes:
        duration_s: Time between the first and the last row of the joint states [s].
    """

    def __init__(self, setup: RobotSetup, most_s: float) -> None:
        """Begin without a row; rows after a time [s] since the first one are not taken."""
        self._setup, self._most_ns = setup, round(most_s * NANOSECONDS)
        self._rows: dict[str, list[tuple[Times, Array]]] = {}
        self._begin_ns: int | None = None
        self._end_ns = 0

    @property
    def duration_s(self) -> float:
        """Time between the first and the last row of the joint states [s]."""
        return 0.0 if self._begin_ns is None else (self._end_ns - self._begin_ns) / NANOSECONDS

    def push(self, name: str, times_ns: Times, rows: Array) -> None:
        """Take rows of an input by its name; of joint states positions, velocities and efforts."""
        if self._begin_ns is None and name == JOINTS and len(times_ns):
            self._begin_ns = int(times_ns[0])
        if self._begin_ns is None or not len(times_ns):
            return
        kept = (times_ns >= self._begin_ns) & (times_ns <= self._begin_ns + self._most_ns)
        if kept.any():
            self._rows.setdefault(name, []).append((times_ns[kept].copy(), rows[kept].copy()))
            self._end_ns = int(times_ns[kept][-1]) if name == JOINTS else self._end_ns

    def push_signals(self, stamps_ns: Times, **signals: Any) -> None:
        """Take aligned signals q, v, tau, f_I, w_I, wrenches with m rows each; None where not measured."""
        q, f_I, w_I, wrenches = (signals[name] for name in ("q", "f_I", "w_I", "wrenches"))
        parts = [q, *(np.full_like(q, np.nan) if (x := signals[k]) is None else x for k in ("v", "tau"))]
        self.push(JOINTS, stamps_ns, np.hstack(parts))
        if f_I is not None and w_I is not None:
            self.push(IMU, stamps_ns, np.hstack((f_I, w_I)))
        if wrenches is not None and wrenches.shape[1] == len(self._setup.contacts):
            for k, contact in enumerate(self._setup.contact_names):
                self.push(f"{contact}/wrench", stamps_ns, wrenches[:, k])

    def streams(self) -> RobotStreams | None:
        """Return what was collected; None without enough joint states."""
        found = {name: _joined(pieces) for name, pieces in self._rows.items()}
        found = {name: stream for name, stream in found.items() if stream.size >= FEWEST}
        if JOINTS not in found:
            return None
        names = self._setup.contact_names
        wrenches = {c: found[f"{c}/wrench"] for c in names if f"{c}/wrench" in found}
        return RobotStreams(found[JOINTS], found.get(IMU), wrenches)


def _joined(pieces: list[tuple[Times, Array]]) -> Stream:
    times = np.concatenate([piece[0] for piece in pieces])
    rows = np.concatenate([piece[1] for piece in pieces])
    increasing = np.concatenate(([True], np.diff(times) > 0)) & (times >= np.maximum.accumulate(times))
    return Stream(times[increasing], rows[increasing])
