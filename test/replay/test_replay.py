"""A replay hands what was recorded to real inputs, ticks as a node does, and holds out what it is told to."""

import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
import pytest
import yaml
from support.input_scenes import JOINTS_OF, MS, START, imu, inputs, joints, parameters, wrench

from inertial_estimation.configuration.pipelines import replay_topics
from inertial_estimation.errors import RecordingError
from inertial_estimation.inputs.joints import JOINTS
from inertial_estimation.inputs.messages import (
    BOOL_TYPE,
    IMU_TYPE,
    JOINT_STATE_TYPE,
    QUATERNION_TYPE,
    WRENCH_TYPE,
)
from inertial_estimation.inputs.robot_inputs import BASE_STATE, YAW_REFERENCE
from inertial_estimation.inputs.sensors import ContactSource
from inertial_estimation.pipeline import Stepper
from inertial_estimation.recordings.bag_writer import write_recording
from inertial_estimation.recordings.recorded_topics import RecordedTopics
from inertial_estimation.recordings.recording import BagRecording, MemoryRecording, RecordingEntry
from inertial_estimation.replay.replay import ReplayReaders, ReplayWatcher, replay_recording
from inertial_estimation.signals import BaseEstimate, BaseState, ContactSample, OrientationSample

MOTOR, STATE = "vendor/msg/Motor", "vendor/msg/State"
MAP = {
    "topic": "lowstate",
    "type": STATE,
    "imu": {"specific_force": "acc", "angular_rate": "gyro"},
    "joints": {"names": list(JOINTS_OF), "position": "motors[0:4].q", "velocity": "motors[0:4].dq"},
    "contacts": {"l_foot": "feet[0]", "r_foot": "feet[1]"},
}
TYPES = {
    "/imu/data": IMU_TYPE,
    "/joint_states": JOINT_STATE_TYPE,
    "/l_foot/wrench": WRENCH_TYPE,
    "/r_foot/wrench": WRENCH_TYPE,
    "/yaw_reference": QUATERNION_TYPE,
}
ALL = [START + 10 * MS * k for k in range(100)]


def turned(k):
    """A quaternion of a base that turns."""
    return np.array([0.0, 0.0, np.sin(0.01 * k), np.cos(0.01 * k)])


class Samples:
    """A pipeline whose estimates are the samples of its inputs, as of a filter or of a tilt observer."""

    def __init__(self, source=ContactSource.WRENCH, config=None, *, tilt=False, every=1, **options):
        given = dict.fromkeys(("l_foot", "r_foot"), source)
        self.inputs = inputs(config, sources=given, **options)
        made = self.tilt if tilt else lambda sample: sample
        self._stepper = Stepper(self.inputs, on_step=made, on_restart=lambda: None)
        self.health, self.enabled, self.learned, self.ticks = self.inputs.health, True, [], []
        self._every = every  # so many ticks it makes its steps

    @staticmethod
    def tilt(sample):
        zero = np.zeros(3)
        state = BaseState(sample.stamp_ns, turned(1), zero, sample.driver[:3], zero)
        return BaseEstimate(state, np.eye(3)[2], zero, (), zero, False, False, np.eye(3))

    def set_enabled(self, enabled):
        self.enabled = enabled

    def tick(self, now_ns):
        self.ticks.append(now_ns)
        made = [] if len(self.ticks) % self._every else self._stepper.tick(now_ns)
        self.learned += [sample.stamp_ns for sample in made if self.enabled]
        return made


def recording(types=TYPES, log_offset=0, quiet=()):
    """A second at 100 Hz in which each reading is another one."""
    entries = []
    for k, stamp in enumerate(ALL):
        samples = {
            "/imu/data": imu(stamp, (0.0, 0.001 * k, 9.8)),
            "/joint_states": joints(stamp, 4 * [0.002 * k], 4 * [0.2]),
            "/l_foot/wrench": wrench(stamp, (0.0, 0.0, 50.0 + k)),
            "/r_foot/wrench": wrench(stamp, (0.0, 0.0, 80.0 + k)),
            "/yaw_reference": OrientationSample(stamp, turned(k)),
        }
        given = [name for name in types if name in samples and name not in quiet]
        entries += [RecordingEntry(name, stamp + log_offset, samples[name]) for name in given]
    return MemoryRecording(tuple(entries), types)


def replayed(source=None, *, topics=RecordedTopics(), watcher=None, hold_out_s=None, **readers):  # noqa: B008
    source = recording() if source is None else source
    return replay_recording(source, topics, ReplayReaders(**readers), watcher=watcher, hold_out_s=hold_out_s)


def test_every_message_is_handed_over_in_order_and_every_step_estimated(monkeypatch):
    monkeypatch.setattr(time, "perf_counter", iter([5.0, 5.2, 6.0, 7.0]).__next__)
    pipeline, done_s = Samples(yaw_reference=True), []
    readers = ReplayReaders(inertial=pipeline)
    run = replay_recording(recording(), RecordedTopics(), readers, progress=done_s.append)
    assert [sample.stamp_ns for sample in run.inertial] == pipeline.learned == ALL
    for k, sample in enumerate(run.inertial):
        assert sample.driver[1] == 0.001 * k
        np.testing.assert_allclose(sample.rows[JOINTS][:4], 0.002 * k)
        forces = [sample.rows[f"{side}_foot/wrench"][2] for side in "lr"]
        np.testing.assert_allclose(forces, (50.0 + k, 80.0 + k))
    np.testing.assert_array_equal(pipeline.inputs.aligner.latest(YAW_REFERENCE, ALL[-1], 1.0), turned(99))
    assert run.data_s == pytest.approx(0.99)
    assert run.realtime_factor == pytest.approx(0.99 / 0.2)
    assert {entry.message for entry in run.health} == {"arriving"}
    assert len(run.tick_ns["inertial_ekf"]) == 100
    assert done_s == pytest.approx([0.0, 0.2, 0.4, 0.6, 0.8, 0.99])
    monkeypatch.setattr(time, "perf_counter_ns", count(step=1000).__next__)
    run = replayed(inertial=Samples(yaw_reference=True, every=10))  # of five messages a step
    assert run.tick_ns["inertial_ekf"] == 50 * [500.0]


class Onlooker(ReplayWatcher):
    """Keeps what it sees."""

    def __init__(self):
        self.joints: list[int] = []
        self.seen: list[list[Any]] = [[], [], []]

    def push_joints(self, reading):
        self.joints.append(reading.stamp_ns)

    def push_estimates(self, *estimates: Sequence[Any]):
        for kept, new in zip(self.seen, estimates, strict=True):
            kept.extend(new)


def test_an_onlooker_sees_every_estimate():
    onlooker = Onlooker()
    run = replayed(watcher=onlooker, tilt=Samples(tilt=True), inertial=Samples())
    assert onlooker.seen[0] == run.base
    assert onlooker.seen[1:] == [run.inertial, []]
    assert onlooker.joints == [reading.stamp_ns for reading in run.efforts] == ALL


def test_the_tilt_pipeline_gives_the_others_their_base_state():
    run = replayed(
        tilt=Samples(tilt=True), inertial=Samples(base_state=True), payload=Samples(base_state=True)
    )
    for found in (run.inertial, run.payload):
        assert [sample.stamp_ns for sample in found] == ALL
        for k, sample in enumerate(found):
            np.testing.assert_allclose(sample.rows[BASE_STATE][:3], (0.0, 0.001 * k, 9.8))


def test_it_begins_and_ends_to_learn_at_times_from_the_start_of_the_recording():
    pipeline = Samples()
    readers = ReplayReaders(inertial=pipeline)
    run = replay_recording(recording(), RecordedTopics(), readers, start_s=0.5, hold_out_s=0.8)
    assert [sample.stamp_ns for sample in run.inertial] == ALL[50:]
    assert pipeline.learned == ALL[50:80]
    assert (run.start_ns, run.begin_ns, run.end_ns) == (ALL[0], ALL[50], ALL[99])
    assert run.data_s == pytest.approx(0.49)
    for start_s, where in ((-0.01, "before the start"), (1.01, "past the end")):
        with pytest.raises(RecordingError, match=where):
            replay_recording(recording(), RecordedTopics(), readers, start_s=start_s)


@pytest.mark.parametrize("offset", [0, 5 * MS, -(10**18)])
def test_log_times_of_another_clock_do_not_make_inputs_stale(offset):
    pipeline = Samples()
    run = replayed(recording(log_offset=offset), inertial=pipeline, hold_out_s=0.6)
    newest = np.array(pipeline.ticks[:-5]) - START
    assert newest.min() >= 0
    assert newest.max() < 2000 * MS
    assert (len(run.inertial), pipeline.learned) == (100, ALL[:60])
    assert run.clock_offset_ns == (-offset if abs(offset) > 10**10 else 0)
    assert run.start_ns == run.begin_ns == ALL[0] + offset + run.clock_offset_ns
    assert not any(sample.missing for sample in run.inertial)


REQUIRED = [topic for topic in TYPES if topic != "/yaw_reference"]


@pytest.mark.parametrize("gone", REQUIRED)
def test_a_missing_input_lists_what_exists_and_one_without_messages_what_is_silent(gone):
    types = {name: kind for name, kind in TYPES.items() if name != gone}
    with pytest.raises(RecordingError, match=rf"no topic '{gone}' in .*; (it has|of its type there are) /"):
        replayed(recording(types), inertial=Samples())
    quiet = recording(quiet=[gone])
    if gone == "/imu/data":
        with pytest.raises(RecordingError, match="no message on /imu/data"):
            replayed(quiet, inertial=Samples())
    else:
        assert len(replayed(quiet, inertial=Samples()).inertial) > 90


def test_an_imu_alone_is_refused_with_the_parameter_that_takes_it():
    with pytest.raises(RecordingError, match=r"the IMU alone.*set contacts: \[\]"):
        replayed(recording({"/imu/data": IMU_TYPE}), tilt=Samples())


@pytest.mark.parametrize("odd", TYPES)
def test_an_input_of_the_wrong_type_is_named(odd):
    types = {**TYPES, odd: "std_msgs/msg/String"}
    with pytest.raises(RecordingError, match=rf"'{odd[1:]}' has type std_msgs/msg/String, expected"):
        replayed(recording(types), inertial=Samples(yaw_reference=True))


def rows(samples):
    columns = [[sample.stamp_ns, sample.time_ns, *sample.driver] for sample in samples]
    return np.array(columns), [sample.rows for sample in samples]


def ordinary():
    """Joints in two halves, each on a topic of its own, and switches that have no stamp."""
    entries = []
    for k in range(200):
        stamp, at = START + 5 * MS * k, START + 5 * MS * k + MS
        samples = {
            "/imu/data": imu(stamp, (0.0, 0.0, 9.8 + 0.001 * k)),
            "/left/joint_states": joints(stamp, names=JOINTS_OF[:2]),
            "/right/joint_states": joints(stamp, names=JOINTS_OF[2:]),
            "/l_foot/wrench": ContactSample(0, float(k % 100 < 50)),
            "/r_foot/wrench": ContactSample(0, float(k % 100 >= 50)),
        }
        entries += [RecordingEntry(topic, at, sample) for topic, sample in samples.items()]
    types = {"/imu/data": IMU_TYPE, "/left/joint_states": JOINT_STATE_TYPE}
    types |= {"/right/joint_states": JOINT_STATE_TYPE, "/l_foot/wrench": BOOL_TYPE}
    return MemoryRecording(tuple(entries), {**types, "/r_foot/wrench": BOOL_TYPE})


def pipeline_of_halves():
    halves = parameters(joint_states__topics=("left/joint_states", "right/joint_states"))
    return Samples(ContactSource.SWITCH, halves)


def test_joint_states_without_a_stamp_are_kept_at_their_arrival():
    sent = recording()
    unset = [
        replace(one, sample=replace(one.sample, stamp_ns=0)) if one.topic == "/joint_states" else one
        for one in sent.messages
    ]
    run = replayed(MemoryRecording(tuple(unset), sent.topics), inertial=Samples(yaw_reference=True))
    arrivals = [one.log_ns for one in unset if one.topic == "/joint_states"]
    assert [reading.stamp_ns for reading in run.efforts] == arrivals


@pytest.mark.parametrize(
    ("imu_topic", "renamed", "said"),
    [
        ("/imu/data", {}, r"set joint_states.topics: \[left/joint_states, right/joint_states\]"),
        ("/imu/data", {"imu/data": "/nope"}, r"of its type there are /imu/data: --remap imu/data:=TOPIC"),
        ("/robot1/imu/data", {}, r"no topic '/imu/data'.* but in /robot1: --remap __ns:=/robot1"),
        ("/head_imu", {}, r"of its type there are /head_imu: --remap imu/data:=TOPIC"),
    ],
)
def test_topics_that_may_be_meant_are_named(imu_topic, renamed, said):
    moved = {"/imu/data": imu_topic}
    recording = ordinary()
    entries = tuple(replace(one, topic=moved.get(one.topic, one.topic)) for one in recording.messages)
    types = {moved.get(topic, topic): kind for topic, kind in recording.topics.items()}
    readers = ReplayReaders(inertial=Samples(ContactSource.SWITCH))
    with pytest.raises(RecordingError, match=said):
        replay_recording(MemoryRecording(entries, types), RecordedTopics(renamed=renamed), readers)


def test_topics_of_a_namespace_are_read():
    recording = ordinary()
    entries = tuple(replace(one, topic=f"/robot1{one.topic}") for one in recording.messages)
    spaced = MemoryRecording(entries, {f"/robot1{topic}": kind for topic, kind in recording.topics.items()})
    values = {"contacts": ["l_foot", "r_foot"], "joint_states.topics": ["left/joint_states"]}
    topics = replay_topics(values, {"/__ns": "/robot1", "/l_foot/wrench": "/other"})
    assert (topics.of("imu/data"), topics.of("l_foot/wrench")) == ("/robot1/imu/data", "/other")
    found = replay_recording(
        spaced, replay_topics(values, {"__ns": "robot1"}), ReplayReaders(inertial=pipeline_of_halves())
    )
    assert len(found.inertial) > 100


def test_values_and_their_bytes_in_a_bag_give_the_same_samples(tmp_path):
    source, topics = ordinary(), RecordedTopics()
    write_recording(source, tmp_path / "bag")
    in_memory = replay_recording(source, topics, ReplayReaders(inertial=pipeline_of_halves()))
    pipeline = pipeline_of_halves()
    with BagRecording(tmp_path / "bag") as bag:
        from_bag = replay_recording(bag, topics, ReplayReaders(inertial=pipeline))
    arrived = pipeline.inputs.streams["l_foot/wrench"].ring  # of switches, which have no stamp
    assert arrived.times[: arrived.end].tolist() == [START + 5 * MS * k + MS for k in range(200)]
    (first, others), (second, others_of_bag) = rows(in_memory.inertial), rows(from_bag.inertial)
    assert len(first) > 190
    np.testing.assert_array_equal(first, second)
    for one, other in zip(others, others_of_bag, strict=True):
        for name, row in one.items():
            np.testing.assert_array_equal(row, other[name])
    assert all(row is not None for row in others[100].values())
    np.testing.assert_allclose(others[100][JOINTS][:4], (0.1, -0.2, 0.1, -0.2))


def write_custom(path):
    """Write messages of types that only the bag itself defines."""
    from rosbags.rosbag2 import Writer
    from rosbags.typesys import Stores, get_types_from_msg, get_typestore

    store = get_typestore(Stores.ROS2_JAZZY)
    store.register(get_types_from_msg("float64 q\nfloat64 dq", MOTOR))
    fields = "float32[3] acc\nfloat32[3] gyro\nvendor/Motor[6] motors\nint16[4] feet"
    store.register(get_types_from_msg(fields, STATE))
    motor, state = (store.types[name] for name in (MOTOR, STATE))
    with Writer(path, version=9) as writer:
        connection = writer.add_connection("/lowstate", STATE, typestore=store)
        for k in range(100):
            motors = [motor(0.1 * j + 0.001 * k, 0.2) for j in range(6)]
            force = np.array([0.0, 0.0, 9.81], dtype=np.float32)
            feet = np.array([100, 200, 0, 0], dtype=np.int16)
            message = state(force, np.zeros(3, dtype=np.float32), motors, feet)
            writer.write(connection, START + 5 * MS * k, store.serialize_cdr(message, STATE))


def test_custom_messages_are_read_by_their_definition_in_the_bag_and_a_map(tmp_path):
    write_custom(tmp_path / "bag")
    (tmp_path / "map.yaml").write_text(yaml.safe_dump(MAP))
    pipeline = Samples(ContactSource.RAW_FORCE, parameters(inputs__map=[str(tmp_path / "map.yaml")]))
    with BagRecording(tmp_path / "bag") as bag:
        run = replay_recording(bag, RecordedTopics(), ReplayReaders(inertial=pipeline))
    assert len(run.inertial) > 90
    last = run.inertial[-1]
    assert not last.missing
    assert last.stamp_ns == START + 5 * MS * 99
    np.testing.assert_allclose(last.rows[JOINTS][:4], [0.099, 0.199, 0.299, 0.399])
    assert last.rows["r_foot/wrench"] == pytest.approx(2.0 * last.rows["l_foot/wrench"])
