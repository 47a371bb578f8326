"""The inputs of a robot, read from a recording as arrays.

Messages are taken as online (`RobotInputs`): joint states in parts and under other names, units, frames, custom
messages, clocks, even stamps. Only the ranges of the sensors are open, since what is impossible is to be judged and
not dropped.
"""

from dataclasses import replace

import numpy as np

from inertial_estimation.diagnosis.streams import FEWEST, RobotStreams, Stream, StreamNotes, Times, joint_rows
from inertial_estimation.errors import RecordingError
from inertial_estimation.inputs.contacts import ContactSource
from inertial_estimation.inputs.imu import IMU
from inertial_estimation.inputs.joints import JOINTS
from inertial_estimation.inputs.messages import CONVERSIONS, IMU_TYPE, WRENCH_TYPES
from inertial_estimation.inputs.possible import Fault, RowRange
from inertial_estimation.inputs.robot_inputs import RobotInputs
from inertial_estimation.inputs.stream import Ring
from inertial_estimation.inputs.stream import Stream as Input
from inertial_estimation.models.joint_corrections import joint_corrections
from inertial_estimation.models.robot_config import RobotConfig, RobotSetup
from inertial_estimation.recordings.connection import clock_offset_ns, connect
from inertial_estimation.recordings.recorded_topics import RecordedTopics
from inertial_estimation.recordings.recording import Recording
from inertial_estimation.signals import Array, JointReading

FIRST_ROWS = 4096  # room for rows of a stream at first; doubled when it is used up
STEP_HZ = 1.0  # at which the inputs align samples, which are not used here


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


def _sends_efforts(recording: Recording, topics: RecordedTopics, config: RobotConfig, begin_ns: int) -> bool:
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
    notes = StreamNotes.of(taken.received, taken.drops.counts, taken.clock, restarts)
    return Stream(times.copy(), rows.copy(), notes)
