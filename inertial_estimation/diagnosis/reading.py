"""The inputs of a robot, read from a recording as arrays.

Messages are taken as online (`RobotInputs`): joint states in parts and under other names, units, frames,
custom messages, clocks, even stamps. Only the ranges of the sensors are open, since what is impossible is to
be judged and not dropped.
"""

from dataclasses import replace

import numpy as np

from inertial_estimation.diagnosis.streams import FEWEST, RobotStreams, Stream, StreamNotes, joint_rows
from inertial_estimation.errors import RecordingError
from inertial_estimation.inputs.joints import JOINTS
from inertial_estimation.inputs.messages import WRENCH_TYPES
from inertial_estimation.inputs.robot_inputs import RobotInputs
from inertial_estimation.inputs.sensors import IMU, ContactSource
from inertial_estimation.inputs.stream import Fault, Ring, RowRange
from inertial_estimation.inputs.stream import Stream as Input
from inertial_estimation.models.robot_config import RobotGeometryConfig, RobotSetup, joint_corrections
from inertial_estimation.recordings.connection import clock_offset_ns, connect
from inertial_estimation.recordings.recorded_topics import RecordedTopics
from inertial_estimation.recordings.recording import Recording
from inertial_estimation.signals import Array

NONE, WRENCH = ContactSource.NONE, ContactSource.WRENCH
STEP_HZ = 1.0  # at which the inputs align samples, which are not used here


class _Anything(RowRange):
    """The range of a sensor of which nothing is known."""

    def fault(self, row: Array) -> Fault | None:
        """Return that nothing is impossible."""
        return None


class _Everything(Ring):
    """A ring beside which all rows are kept, in pieces between two clearings."""

    def __init__(self, width: int) -> None:
        super().__init__(width)
        self.pieces: list[tuple[list[int], list[Array]]] = [([], [])]

    def append(self, time_ns: int, stamp_ns: int, row: Array) -> None:
        """Add a row after all others."""
        super().append(time_ns, stamp_ns, row)
        self.pieces[-1][0].append(time_ns)
        self.pieces[-1][1].append(row.copy())

    def clear(self) -> None:
        """Begin another piece."""
        super().clear()
        if self.pieces[-1][0]:
            self.pieces.append(([], []))


def _opened(stream: Input) -> Input:
    """Let a stream take and keep everything."""
    if not isinstance(stream.ring, _Everything):
        one = np.full(1, np.inf)
        stream.spec = replace(stream.spec, range=_Anything(-one, one, [""], [""]))
        stream.ring, stream.finish = _Everything(stream.spec.width), None
    return stream


def read_streams(
    recording: Recording,
    topics: RecordedTopics,
    setup: RobotSetup,
    config: RobotGeometryConfig,
    span_ns: tuple[int, int],
) -> RobotStreams:
    """Read the inputs of a robot between two log times, as its parameter file says.

    Raises:
        RecordingError: If there are no joint states, or too few messages of them.
    """
    inputs = _inputs(recording, topics, setup, config, span_ns[0])
    recorded = recording.topics
    without = {
        name for name, (types, _push) in inputs.topics.items() if recorded.get(topics.of(name)) not in types
    }
    others = set(inputs.topics) - {IMU, *inputs.streams}  # custom messages, which may hold joint states
    if not ({*config.joint_states.topics} | others) - without:
        raise RecordingError(
            f"'{recording.name}' has no joint states on '{topics.joints}'; name their topic with --remap, "
            f"it has {', '.join(sorted(recorded))}"
        )
    takers = connect(inputs, recording, topics, without)
    offset_ns = clock_offset_ns(recording, takers, span_ns[0])
    for message in recording.unread(list(takers), span_ns[0]):
        if message.log_ns > span_ns[1]:
            break
        takers[message.topic](message.content, message.log_ns + offset_ns)
        inputs.ready()
        assert inputs.joints is not None
        for part in inputs.joints.parts:
            _opened(part.stream)
    streams = _taken(inputs, setup)
    if streams.joints.size < FEWEST:
        dropped = inputs.streams[JOINTS].drops.summary
        reasons = f" ({dropped})" if dropped else ""
        raise RecordingError(
            f"'{recording.name}' has {streams.joints.size} joint states on '{topics.joints}' in that time"
            f"{reasons}, expected {FEWEST} or more: examine another part (--start) or more of it (--duration)"
        )
    empty = {name for name, one in inputs.streams.items() if not one.received}
    absent = [name for name in inputs.topics if name in without or name in empty]
    return replace(streams, absent=tuple(topics.of(name) for name in absent if name != JOINTS))


def _inputs(
    recording: Recording,
    topics: RecordedTopics,
    setup: RobotSetup,
    config: RobotGeometryConfig,
    begin_ns: int,
) -> RobotInputs:
    """Return inputs that take everything; efforts only where the joint states have some.

    Contacts whose topic has no wrenches (switches, numbers) have no forces that are judged.
    """
    joints = [topics.of(name) for name in config.joint_states.topics]
    entries = recording.entries([topic for topic in joints if topic in recording.topics], begin_ns)
    first = [entry.sample for _number, entry in zip(range(FEWEST), entries, strict=False)]
    kinds = {name: recording.topics.get(topics.of(f"{name}/wrench")) for name in setup.contact_names}
    inputs = RobotInputs(
        setup,
        replace(config, inputs=replace(config.inputs, joint_velocity="auto")),
        driver=JOINTS,
        rate=STEP_HZ,
        efforts=bool(config.inputs.map) or any(getattr(one, "effort", None) is not None for one in first),
        partial_joints=True,
        sources={n: NONE if kind and kind not in WRENCH_TYPES else WRENCH for n, kind in kinds.items()},
        corrections=joint_corrections(config.joint_offsets, config.drive_gains, setup.robot),
    )
    for stream in inputs.streams.values():
        _opened(stream)
    return inputs


def _taken(inputs: RobotInputs, setup: RobotSetup) -> RobotStreams:
    """Return the rows that inputs have taken."""
    joints, streams = inputs.joints, {name: _stream(_opened(one)) for name, one in inputs.streams.items()}
    assert joints is not None
    sent = {int(j) for part in joints.parts for j in part.joints}
    found = {name: stream for name, stream in streams.items() if stream.size >= FEWEST}
    whole, names = streams[JOINTS], setup.robot.joint_names
    wrenches = {contact: f"{contact}/wrench" for contact in inputs.contacts}
    return RobotStreams(
        joints=replace(whole, values=joint_rows(whole.values, joints.columns)),
        imu=found.get(IMU),
        wrenches={contact: found[name] for contact, name in wrenches.items() if name in found},
        missing=tuple(name for j, name in enumerate(names) if j not in sent),
    )


def _stream(taken: Input) -> Stream:
    assert isinstance(taken.ring, _Everything)
    pieces = taken.ring.pieces
    times, rows = max(pieces, key=lambda piece: len(piece[0]))
    notes = StreamNotes.of(taken.received, taken.drops.counts, taken.clock, len(pieces) - 1)
    return Stream(np.array(times, dtype=np.int64), np.array(rows).reshape(-1, taken.spec.width), notes)
