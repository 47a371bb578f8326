"""A replay hands what was recorded to the inputs of robots, whatever the types of its messages."""

from dataclasses import replace

import numpy as np
import pytest
import yaml
from support.input_scenes import JOINTS_OF, MS, START, imu, inputs, joints, parameters

from inertial_estimation.configuration.pipelines import replay_topics
from inertial_estimation.errors import RecordingError
from inertial_estimation.inputs.joints import JOINTS
from inertial_estimation.inputs.messages import BOOL_TYPE, IMU_TYPE, JOINT_STATE_TYPE
from inertial_estimation.inputs.sensors import ContactSource
from inertial_estimation.pipeline import Stepper
from inertial_estimation.recordings.bag_writer import write_recording
from inertial_estimation.recordings.recorded_topics import RecordedTopics
from inertial_estimation.recordings.recording import BagRecording, MemoryRecording, RecordingEntry
from inertial_estimation.replay.replay import ReplayReaders, replay_recording
from inertial_estimation.signals import ContactSample

MOTOR, STATE = "vendor/msg/Motor", "vendor/msg/State"
MAP = {
    "topic": "lowstate",
    "type": STATE,
    "imu": {"specific_force": "acc", "angular_rate": "gyro"},
    "joints": {"names": list(JOINTS_OF), "position": "motors[0:4].q", "velocity": "motors[0:4].dq"},
    "contacts": {"l_foot": "feet[0]", "r_foot": "feet[1]"},
}


class Samples:
    """A pipeline whose estimates are the samples of its inputs."""

    def __init__(self, source, config=None, **options):
        given = dict.fromkeys(("l_foot", "r_foot"), source)
        self.inputs = inputs(config, sources=given, **options)
        self.tick = Stepper(self.inputs, on_step=lambda sample: sample, on_restart=lambda: None).tick
        self.health = self.inputs.health


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
    with BagRecording(tmp_path / "bag") as bag:
        from_bag = replay_recording(bag, topics, ReplayReaders(inertial=pipeline_of_halves()))
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
