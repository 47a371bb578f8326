"""Bags are read as they were written, and bad ones are refused with a reason."""

from pathlib import Path

import numpy as np
import pytest

import inertial_estimation as ie
from inertial_estimation.inputs.messages import (
    IMU_TYPE,
    JOINT_STATE_TYPE,
    ODOMETRY_TYPE,
    POSE_TYPE,
    QUATERNION_TYPE,
    WRENCH_TYPE,
)
from inertial_estimation.recordings.bag_writer import STORAGES, write_recording
from inertial_estimation.recordings.recording import check_topic, read_orientations
from inertial_estimation.signals import PoseSample

START = 1_700_000_000_123_456_789
TOPICS = {
    "/imu/data": IMU_TYPE,
    "/joint_states": JOINT_STATE_TYPE,
    "/left/wrench": WRENCH_TYPE,
    "/pose": POSE_TYPE,
    "/yaw_reference": QUATERNION_TYPE,
    "/base_state": ODOMETRY_TYPE,
}


def made_recording(count: int = 20) -> ie.MemoryRecording:
    rng = np.random.default_rng(0)
    entries = []
    for k in range(count):
        t = START + k * 10_000_000
        samples = (
            ie.ImuSample(t, rng.normal(size=3), rng.normal(size=3)),
            ie.JointReading(
                t, ("b", "a"), rng.normal(size=2), rng.normal(size=2), None if k % 2 else rng.normal(size=2)
            ),
            ie.WrenchSample(t, rng.normal(size=6)),
            PoseSample(t, rng.normal(size=4), rng.normal(size=3)),
            ie.OrientationSample(t, rng.normal(size=4)),
            ie.BaseState(t, rng.normal(size=4), rng.normal(size=3), rng.normal(size=3), rng.normal(size=3)),
        )
        entries += [
            ie.RecordingEntry(n, t + i, s) for i, (n, s) in enumerate(zip(TOPICS, samples, strict=True))
        ]
    return ie.MemoryRecording(tuple(entries), TOPICS)


def values_of(sample: object) -> dict[str, object]:
    names = [name for cls in type(sample).__mro__ for name in getattr(cls, "__slots__", ())]
    return {name: getattr(sample, name) for name in names}


@pytest.mark.parametrize("storage", STORAGES)
def test_written_bag_is_read_back_exactly(tmp_path: Path, storage: str) -> None:
    recording = made_recording()
    write_recording(recording, tmp_path / "bag", storage=storage)
    with ie.BagRecording(tmp_path / "bag") as bag:
        assert bag.topics == TOPICS
        assert (bag.start_ns, bag.end_ns) == (recording.start_ns, recording.end_ns)
        read = list(bag.entries(TOPICS))
    assert len(read) == len(recording.messages)
    for got, expected in zip(read, recording.messages, strict=True):
        assert (got.topic, got.log_ns) == (expected.topic, expected.log_ns)
        assert type(got.sample) is type(expected.sample)
        wanted = values_of(expected.sample)
        for name, value in values_of(got.sample).items():
            np.testing.assert_array_equal(value, wanted[name])


@pytest.mark.parametrize("storage", STORAGES)
def test_reading_can_begin_later_and_take_some_topics(tmp_path: Path, storage: str) -> None:
    recording = made_recording()
    write_recording(recording, tmp_path / "bag", storage=storage)
    begin = START + 100_000_000
    with ie.BagRecording(tmp_path / "bag") as bag:
        read = [(e.topic, e.log_ns) for e in bag.entries(["/imu/data"], begin)]
    assert read == [(e.topic, e.log_ns) for e in recording.entries(["/imu/data"], begin)]
    assert len(read) == 10


def test_a_bag_of_ros_1_is_read(tmp_path: Path) -> None:
    from rosbags.rosbag1 import Writer
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS1_NOETIC)
    stamp = store.types["builtin_interfaces/msg/Time"](START // 10**9, START % 10**9)
    header = store.types["std_msgs/msg/Header"](7, stamp, "base")
    message = store.types[JOINT_STATE_TYPE](header, ["a"], np.array([0.1]), np.array([0.2]), np.array([3.0]))
    with Writer(tmp_path / "old.bag") as writer:
        connection = writer.add_connection("/joint_states", JOINT_STATE_TYPE, typestore=store)
        writer.write(connection, START + 5, store.serialize_ros1(message, JOINT_STATE_TYPE))
    with ie.BagRecording(tmp_path / "old.bag") as bag:
        (entry,) = bag.entries(["/joint_states"])
    reading = entry.sample
    assert isinstance(reading, ie.JointReading)
    assert (entry.log_ns, reading.stamp_ns, reading.names) == (START + 5, START, ("a",))
    np.testing.assert_array_equal([reading.position, reading.velocity, reading.effort], [[0.1], [0.2], [3.0]])
    content = (tmp_path / "old.bag").read_bytes()
    (tmp_path / "old.bag").write_bytes(content[: len(content) // 2])
    with pytest.raises(ie.RecordingError, match=r"old\.bag' is truncated or damaged: .*rosbag reindex"):
        ie.BagRecording(tmp_path / "old.bag")


@pytest.mark.parametrize(
    ("topic", "said"),
    [
        ("/imu", r"no topic '/imu' in .*, did you mean '/imu/data'\?"),
        ("/camera", r"no topic '/camera' in .*; it has .*/imu/data"),
        ("/pose", r"'/pose' .* has type geometry_msgs/msg/PoseStamped, expected sensor_msgs/msg/Imu"),
    ],
)
def test_a_topic_that_is_missing_or_of_another_type_is_named(topic: str, said: str) -> None:
    with pytest.raises(ie.RecordingError, match=said):
        check_topic(made_recording(), topic, [IMU_TYPE])
    with pytest.raises(ie.RecordingError, match=r"expected .*PoseStamped or .*QuaternionStamped"):
        read_orientations(made_recording(), "/imu/data")


def test_message_whose_sizes_do_not_match_is_dropped(tmp_path: Path) -> None:
    from rosbags.rosbag2 import Writer
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS2_JAZZY)
    stamp = store.types["builtin_interfaces/msg/Time"](1, 0)
    header = store.types["std_msgs/msg/Header"](stamp, "")
    with Writer(tmp_path / "bag", version=9) as writer:
        connection = writer.add_connection("/joint_states", JOINT_STATE_TYPE, typestore=store)
        for size in (2, 1):
            message = store.types[JOINT_STATE_TYPE](
                header, ["a", "b"], np.zeros(size), np.empty(0), np.empty(0)
            )
            writer.write(connection, size, store.serialize_cdr(message, JOINT_STATE_TYPE))
    with ie.BagRecording(tmp_path / "bag") as bag:
        assert len(list(bag.entries(["/joint_states"]))) == 1


def test_writer_does_not_touch_what_is_no_bag(tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "thesis.tex").touch()
    for overwrite in (False, True):
        with pytest.raises(ie.ConfigurationError, match=r"not empty, it has thesis\.tex"):
            write_recording(made_recording(), tmp_path / "precious", overwrite=overwrite)
    assert (tmp_path / "precious" / "thesis.tex").exists()
    write_recording(made_recording(), tmp_path / "bag")
    write_recording(made_recording(1), tmp_path / "bag", overwrite=True)
    with ie.BagRecording(tmp_path / "bag") as bag:
        assert len(list(bag.entries(["/pose"]))) == 1
