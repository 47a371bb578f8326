"""The inputs of a robot in a recording: their topics, a check that it is that robot, all readings as arrays.

Messages are processed as online (`RobotInputs`): joint states in parts and under other names, units, frames,
custom messages, clocks, even stamps. Only the ranges of the sensors are unbounded, because impossible
readings are judged here instead of being dropped.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from inertial_estimation.errors import ConfigurationError, RecordingError, did_you_mean, listing
from inertial_estimation.inputs.alignment import Steps
from inertial_estimation.inputs.config import RobotGeometryConfig
from inertial_estimation.inputs.joints import JOINTS, JointNames, JointNeeds, OtherJointsError
from inertial_estimation.inputs.messages import CONVERSIONS, JOINT_STATE_TYPE
from inertial_estimation.inputs.robot_inputs import Readers, RobotInputs
from inertial_estimation.inputs.robot_streams import FEWEST, RobotStreams, StreamNotes, StreamRows, joint_rows
from inertial_estimation.inputs.sensors import IMU, ContactSource, contact_sources
from inertial_estimation.inputs.stream import Ring, RowRange, Stream
from inertial_estimation.models.robot_config import RobotSetup
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.recordings.recorded_topics import RecordedTopics
from inertial_estimation.recordings.recording import Recording
from inertial_estimation.signals import NANOSECONDS, Array, JointReading

NUMBERS = ContactSource.SWITCH, ContactSource.RAW_FORCE, ContactSource.FORCE
# Source of a contact by the type of its topic, if the parameters do not fit it; numbers count as raw forces.
SOURCES = {kind: one for one in (*NUMBERS[:2], ContactSource.WRENCH) for kind in one.types}
STEP_HZ = 1.0  # rate at which the inputs align samples, which are not used here [Hz]


class _Everything(Ring):
    """A ring buffer that also keeps all rows with their times, by the number of clearings before them."""

    def __init__(self, width: int) -> None:
        super().__init__(width)
        self.kept = defaultdict[int, list[tuple[int, Array]]](list)

    def append(self, time_ns: int, stamp_ns: int, row: Array) -> None:
        """Add a row after all others."""
        super().append(time_ns, stamp_ns, row)
        self.kept[self.clears].append((time_ns, row.copy()))


def _open(stream: Stream) -> None:
    """Let a stream accept and keep all rows: no value is impossible, and rows are not completed."""
    if not isinstance(stream.ring, _Everything):
        most = np.full(stream.spec.width, np.inf)
        stream.spec = replace(stream.spec, range=RowRange(-most, most, [], [], slice(None)))
        stream.ring, stream.finish = _Everything(stream.spec.width), None


def read_streams(
    recording: Recording,
    topics: RecordedTopics,
    setup: RobotSetup,
    config: RobotGeometryConfig,
    span_ns: tuple[int, int],
    contact_source: str | Sequence[str] = (),
) -> RobotStreams:
    """Read the inputs of a robot between two log times, with the parameters of its file.

    `contact_source` is the parameter `contact.source`; it applies to contacts whose topics have its type.

    Raises:
        RecordingError: If joint states are missing or too few although they are needed: joints move the IMU
            or contacts, or the robot has no IMU.
    """
    inputs = _inputs(recording, topics, setup, config, span_ns[0], contact_source)
    for stream in inputs.streams.values():
        _open(stream)
    recorded = recording.topics
    without = {
        name for name, (types, _push) in inputs.topics.items() if recorded.get(topics.of(name)) not in types
    }
    others = set(inputs.topics) - {IMU, *inputs.streams}  # custom messages, which may contain joint states
    if not ({*config.joint_states.topics} | others) - without and (IMU in without or not _stiff(setup)):
        raise RecordingError(_missing(recording, topics, JOINTS, (JOINT_STATE_TYPE,)))
    takers = connect(inputs, recording, topics, without)
    offset_ns = clock_offset_ns(recording, takers, span_ns[0])
    for message in recording.unread(list(takers), span_ns[0]):
        if message.log_ns > span_ns[1]:
            break
        takers[message.topic](message.content, message.log_ns + offset_ns)
        inputs.ready()
        assert inputs.joints is not None
        for part in inputs.joints.parts:
            _open(part.stream)
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
    contact_source: str | Sequence[str],
) -> RobotInputs:
    """Return the inputs of all readings; efforts are among them if the joint states contain some."""
    first = _first_joint_states(recording, topics, config, begin_ns)
    kinds = {name: recording.topics.get(topics.of(f"{name}/wrench")) for name in setup.contact_names}
    given = contact_sources(contact_source or ContactSource.WRENCH.value, setup.contact_names)
    with_efforts = bool(config.inputs.map) or any(one.effort is not None for one in first)
    return RobotInputs(
        setup,
        replace(config, inputs=replace(config.inputs, joint_velocity="auto")),
        Steps(JOINTS, STEP_HZ),
        JointNeeds(efforts=with_efforts, partial=True),
        sources={name: _source(one, kinds[name]) for name, one in given.items()},
    )


def _source(given: ContactSource, kind: str | None) -> ContactSource:
    """Return the source of a contact whose topic has type `kind`: the given source if the type fits it."""
    if given in NUMBERS and kind in (None, *given.types):
        return given
    return SOURCES.get(kind, ContactSource.NONE) if kind else ContactSource.WRENCH


def _taken(inputs: RobotInputs, setup: RobotSetup) -> RobotStreams:
    """Return the rows that the inputs have kept."""
    joints = inputs.joints
    streams = {name: _rows_of(one) for name, one in inputs.streams.items()}
    assert joints is not None
    sent = {int(j) for part in joints.parts for j in part.joints}
    found = {name: stream for name, stream in streams.items() if stream.size >= FEWEST}
    whole, names, imu = streams[JOINTS], setup.robot.joint_names, found.get(IMU)
    if not whole.notes.received and imu is not None and _stiff(setup):
        names, whole = (), StreamRows(imu.times_ns, np.full((imu.size, whole.values.shape[1]), np.nan))
    found[JOINTS] = replace(whole, values=joint_rows(whole.values, joints.columns))
    sources = {name: contact.source for name, contact in inputs.contacts.items()}
    return RobotStreams.of(
        found, setup, sources, tuple(name for j, name in enumerate(names) if j not in sent)
    )


def _stiff(setup: RobotSetup) -> bool:
    """Return whether no joint moves IMU or contacts of a robot, so that joint states are not needed."""
    return setup.imu is not None and not setup.sensing_joints


def _rows_of(taken: Stream) -> StreamRows:
    assert isinstance(taken.ring, _Everything)
    kept = taken.ring.kept
    rows = max(kept.values(), key=len, default=[])
    notes = StreamNotes.of(taken, max(len(kept) - 1, 0))
    times = np.array([time_ns for time_ns, _row in rows], dtype=np.int64)
    return StreamRows(
        times, np.array([row for _time_ns, row in rows]).reshape(len(rows), taken.spec.width), notes
    )


def _missing(recording: Recording, topics: RecordedTopics, name: str, types: Collection[str]) -> str:
    """Return the message that the topic of an input is missing, with topics that may be meant."""
    topic, recorded = topics.of(name), recording.topics
    text = f"no topic '{topic}' in '{recording.name}'"
    alike = sorted(other for other, kind in recorded.items() if kind in types)
    spaces = [one.removesuffix(f"/{name}") for one in alike if one.endswith(f"/{name}") and one[1:] != name]
    if name == JOINTS and len(alike) > 1 and not any(f"{space}/{IMU}" in recorded for space in spaces):
        parts = listing(other.lstrip("/") for other in alike)
        return f"{text}: if each of them has some of the joints, set joint_states.topics: [{parts}]"
    if spaces:
        return f"{text}, but in {listing(spaces, limit=4)}: --remap __ns:={spaces[0]} reads that namespace"
    if alike:
        return f"{text}; of its type there are {listing(alike, limit=8)}: --remap {name}:=TOPIC"
    return text + did_you_mean(topic, sorted(recorded), "it has")


CLOCK_OFFSET_NS = 10 * NANOSECONDS  # difference of log times and stamps beyond which their clocks differ [ns]
Take = Callable[[Any, int], None]
"""Takes the content of a message and its arrival on the clock of the stamps [ns]."""


def connect(
    inputs: RobotInputs,
    recording: Recording,
    topics: RecordedTopics,
    without: Collection[str] = (),
    readers: Readers | None = None,
) -> dict[str, Take]:
    """Return, by topic, functions that push the messages of a recording into inputs, except those `without`.

    Inputs that share `readers` decode each message only once.

    Raises:
        RecordingError: If a topic is missing or of the wrong type.
    """
    takers, recorded = dict[str, Take](), recording.topics
    if inputs.contacts and [name for name in inputs.topics if topics.of(name) in recorded] == [IMU]:
        has = f"'{recording.name}' has of the inputs the IMU alone"
        raise RecordingError(f"{has}, without joints and contacts: set contacts: []")
    for name in inputs.topics:
        if name in without:
            continue
        topic = topics.of(name)
        if topic not in recorded:
            raise RecordingError(_missing(recording, topics, name, inputs.topics[name][0]))
        try:
            deserialize = recording.deserializer(topic)
            takers[topic] = inputs.connect(name, recorded[topic], deserialize, readers)
        except ConfigurationError as error:
            raise RecordingError(f"in '{recording.name}', {error}") from error
    return takers


def clock_offset_ns(recording: Recording, topics: Collection[str], begin_ns: int | None = None) -> int:
    """Return the offset from log times to the clock of the stamps [ns], 0 if both are the same clock."""
    offsets = []
    for topic in topics:
        if recording.topics[topic] in CONVERSIONS:
            first = next(iter(recording.entries([topic], begin_ns)), None)
            if first is not None and first.sample.stamp_ns:
                offsets.append(first.sample.stamp_ns - first.log_ns)
    offset = min(offsets, key=abs, default=0)
    return offset if abs(offset) > CLOCK_OFFSET_NS else 0


LOOKED_AT = 100  # number of joint states that are examined, enough to contain slower parts
SHOWN = 4  # number of joint names in a message


def _first_joint_states(
    recording: Recording, topics: RecordedTopics, config: RobotGeometryConfig, begin_ns: int | None = None
) -> list[JointReading]:
    read = [topics.of(name) for name in config.joint_states.topics]
    read = [topic for topic in read if recording.topics.get(topic) == JOINT_STATE_TYPE]
    entries = islice(recording.entries(read, begin_ns), LOOKED_AT)
    return [entry.sample for entry in entries if isinstance(entry.sample, JointReading)]


def check_robot(
    recording: Recording, topics: RecordedTopics, robot: RobotModel, config: RobotGeometryConfig
) -> None:
    """Check that a recording has at least one joint of a robot; the inputs report the missing ones.

    Raises:
        RecordingError: If it has none: it is of another robot, or needs a map of names.
    """
    readings = _first_joint_states(recording, topics, config)
    names = tuple(dict.fromkeys(name for reading in readings for name in reading.names))
    try:
        if any(names):
            JointNames(robot, config.joint_names).order(names)
    except OtherJointsError:
        has, expected = (f"{len(n)} joints ({listing(n, limit=SHOWN)})" for n in (names, robot.joint_names))
        raise RecordingError(
            f"'{recording.name}' is of another robot: it has {has}, expected are {expected}, 0 match; give "
            "the --config of its robot, or map the names (joint_names.map, joint_names.prefix)"
        ) from None
