"""Bags, truth and trajectories are read as written, cut ones as far as they go; markers show estimates."""

import json
import shutil
from binascii import crc32
from pathlib import Path

import numpy as np
import pytest
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore
from support import input_scenes as scene
from support.trajectory_bag import read_trajectory_bag

import inertial_estimation as ie
from inertial_estimation.errors import ConfigurationError, RecordingError
from inertial_estimation.inputs.messages import (
    IMU_TYPE,
    JOINT_STATE_TYPE,
    ODOMETRY_TYPE,
    POSE_TYPE,
    QUATERNION_TYPE,
    WRENCH_TYPE,
)
from inertial_estimation.models.joint_trajectory import JointTrajectory
from inertial_estimation.recordings.bag_writer import STORAGES, empty_message, new_bag, write_recording
from inertial_estimation.recordings.marker_messages import (
    PAYLOAD_DENSITY,
    Drawn,
    inertial_markers,
    link_markers,
    payload_radius,
    tilt_markers,
)
from inertial_estimation.recordings.recording import BagRecording, check_topic, read_orientations
from inertial_estimation.recordings.robot_streams import read_streams
from inertial_estimation.recordings.trajectory_files import (
    read_trajectory_csv,
    write_trajectory_bag,
    write_trajectory_csv,
)
from inertial_estimation.recordings.truth_file import InertiaStep, inertias_as_json, read_truth
from inertial_estimation.recordings.watch_record import NodeRecord, WatchRecord
from inertial_estimation.signals import ContactLoad, Decision, Health, HealthLevel, LinkInertia, PoseSample
from inertial_estimation.spatial.rotations import rotation_from_roll_pitch_yaw

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
def test_written_bag_is_read_back_exactly_from_any_time_on_and_in_part(tmp_path: Path, storage: str) -> None:
    recording = made_recording()
    write_recording(recording, tmp_path / "bag", storage=storage)
    with ie.BagRecording(tmp_path / "bag") as bag:
        assert bag.topics == TOPICS
        assert (bag.start_ns, bag.end_ns) == (recording.start_ns, recording.end_ns)
        read = list(bag.entries(TOPICS))
        later = [(e.topic, e.log_ns) for e in bag.entries(["/imu/data"], START + 100_000_000)]
    assert len(read) == len(recording.messages)
    for got, expected in zip(read, recording.messages, strict=True):
        assert (got.topic, got.log_ns) == (expected.topic, expected.log_ns)
        assert type(got.sample) is type(expected.sample)
        wanted = values_of(expected.sample)
        for name, value in values_of(got.sample).items():
            np.testing.assert_array_equal(value, wanted[name])
    some = recording.entries(["/imu/data"], START + 100_000_000)
    assert later == [(e.topic, e.log_ns) for e in some]
    assert len(later) == 10


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


@pytest.mark.parametrize(("late", "shown"), [(2_000_000, 2_000_000), (-(10**18), 0)])
def test_readings_without_stamps_are_at_their_log_times_on_the_clock_of_the_other_stamps(late, shown) -> None:
    messages = []
    for stamp in range(START, START + 10**9, 5_000_000):
        samples = {"/joint_states": scene.joints(stamp), "/imu/data": scene.imu(0)}
        messages += [ie.RecordingEntry(topic, stamp + late, one) for topic, one in samples.items()]
    moved = ie.MemoryRecording(tuple(messages), {topic: TOPICS[topic] for topic in samples})
    span = (moved.start_ns, moved.end_ns)
    found = read_streams(moved, ie.RecordedTopics(), scene.setup(), scene.parameters(), span)
    assert found.imu.notes.unset
    np.testing.assert_array_equal(found.imu.times_ns, found.joints.times_ns + shown)


def test_message_whose_sizes_do_not_match_is_dropped(tmp_path: Path) -> None:
    with new_bag(tmp_path / "bag", {"/joint_states": JOINT_STATE_TYPE}) as writer:
        for size in (2, 1):
            message = writer.new(JOINT_STATE_TYPE)
            message.name, message.position = ["a", "b"], np.zeros(size)
            writer.write("/joint_states", size, message)
    with ie.BagRecording(tmp_path / "bag") as bag:
        assert len(list(bag.entries(["/joint_states"]))) == 1


def test_writer_touches_neither_what_is_no_bag_nor_a_bag_unless_it_may(tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "thesis.tex").touch()
    for overwrite in (False, True):
        with pytest.raises(ie.ConfigurationError, match=r"not empty, it has thesis\.tex"):
            write_recording(made_recording(), tmp_path / "precious", overwrite=overwrite)
    assert (tmp_path / "precious" / "thesis.tex").exists()
    write_recording(made_recording(), tmp_path / "bag")
    with pytest.raises(ie.ConfigurationError, match="--overwrite"):
        write_recording(made_recording(1), tmp_path / "bag")
    write_recording(made_recording(1), tmp_path / "bag", overwrite=True)
    with ie.BagRecording(tmp_path / "bag") as bag:
        assert len(list(bag.entries(["/pose"]))) == 1


def step(time_s: float, mass: float) -> InertiaStep:
    moment = np.array([[1.0, 0.1, 0.2], [0.1, 2.0, 0.3], [0.2, 0.3, 3.0]])
    return InertiaStep(time_s, LinkInertia("arm", mass, np.array([0.1, 0.2, 0.3 * mass]), moment))


def test_steps_are_read_back_in_the_order_of_their_times(tmp_path: Path) -> None:
    steps = [step(3.0, 7.0), step(0.0, 2.0)]
    (tmp_path / "truth.json").write_text(json.dumps({"seed": 0, "inertias": inertias_as_json(steps)}))
    bag = tmp_path / "x.mcap"
    bag.touch()
    for place in (tmp_path, bag):
        truth = read_truth(place)
        mass, _x, _y, com_z = truth.over_time("arm", np.array([-1.0, 2.9, 3.0, 9.0])).T
        np.testing.assert_array_equal(mass, [2, 2, 7, 7])
        np.testing.assert_allclose(com_z, 0.3 * mass)
        end = truth.at_end("arm")
        np.testing.assert_array_equal(end.inertia_Lcm, steps[0].inertia.inertia_Lcm)
        assert truth.at_end("leg") is None


@pytest.mark.parametrize("text", [None, "{}", "[]", '{"inertias": null}', "3"])
def test_another_file_is_no_truth(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "truth.json").write_text(text)
    assert read_truth(tmp_path) is None


@pytest.mark.parametrize(
    "text", ["{", '{"inertias": [{}]}', '{"inertias": 3}', '{"inertias": [{"time_s": NaN}]}']
)
def test_damaged_truth_is_told_in_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "truth.json").write_text(text)
    with pytest.raises(RecordingError, match="is no truth of a recording") as error:
        read_truth(tmp_path)
    assert "\n" not in str(error.value)


COLUMNS = "time_from_start,a.position,a.velocity,a.acceleration"


def trajectory() -> JointTrajectory:
    rng = np.random.default_rng(0)
    return JointTrajectory(("b.1", "a"), np.cumsum(rng.uniform(0.01, 0.02, 50)), *rng.normal(size=(3, 50, 2)))


def test_a_trajectory_is_read_back_exactly_and_from_a_bag_to_the_nanosecond(tmp_path: Path) -> None:
    write_trajectory_csv(tmp_path / "t.csv", trajectory())
    write_trajectory_bag(tmp_path / "bag", trajectory(), stamp_ns=1_700_000_000_000_000_001)
    expected = trajectory()
    for got in (read_trajectory_csv(tmp_path / "t.csv"), read_trajectory_bag(tmp_path / "bag")):
        assert got.joint_names == expected.joint_names
        np.testing.assert_allclose(got.times_s, expected.times_s, rtol=0.0, atol=1e-9)
        for name in ("q", "v", "a"):
            np.testing.assert_array_equal(getattr(got, name), getattr(expected, name))
    np.testing.assert_array_equal(read_trajectory_csv(tmp_path / "t.csv").times_s, expected.times_s)
    with pytest.raises(ConfigurationError, match="not empty"):
        write_trajectory_bag(tmp_path / "bag", trajectory())
    write_trajectory_bag(tmp_path / "bag", trajectory(), overwrite=True)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a.position\n0\n", "no column 'time_from_start'"),
        ("time_from_start,a.position\n0,1\n", r"misses the columns a\.velocity, a\.acceleration"),
        (f"{COLUMNS}\n0,1,x,1\n", "'x' in column 'a.velocity'"),
        (f"{COLUMNS}\n0,1,1\n", "line 2 .* 3 cells"),
        (f"{COLUMNS}\n0,1,1,1\n1,1\n", "line 3 .* 2 cells"),
    ],
)
def test_bad_csv_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(RecordingError, match=reason):
        read_trajectory_csv(tmp_path / "t.csv")


def an_input(name="imu/data", *, received=100, age=0.01, level=HealthLevel.OK, message="arriving"):
    values = {"received": str(received), "rate [Hz]": "500.0", "age [s]": f"{age}"}
    return Health(name, level, message, values)


def test_rate_and_age_of_telemetry():
    node = NodeRecord()
    assert (node.rate_hz(0.0), node.age_s(0.0)) == (0.0, None)
    for k in range(41):
        node.add_telemetry(0.05 * k, {"age [s]": 0.02}, count=25)
    assert node.rate_hz(2.0) == pytest.approx(500.0)
    assert node.age_s(2.0) == pytest.approx(0.02)
    assert node.age_s(5.0) == pytest.approx(3.02)
    assert node.rate_hz(5.0) == 0.0


def test_an_input_ages_between_its_reports_only_when_they_stop():
    node = NodeRecord()
    node.add_report(1.0, [an_input(received=100)])
    (state,) = node.inputs(1.9)
    assert (state.age_s, state.rate_hz, state.level) == (0.01, 500.0, HealthLevel.OK)
    assert node.silent_s(1.9) == 0.0
    (state,) = node.inputs(6.0)
    assert state.age_s == pytest.approx(5.01)
    assert state.level == HealthLevel.WARN
    assert node.silent_s(6.0) == 5.0


def test_an_input_that_stops_with_the_clock_of_the_simulation_ages_all_the_same():
    node = NodeRecord()
    for second in range(8):  # reports go on, the clock stands, no reading is added
        node.add_report(second, [an_input(received=100, age=-0.003)])
    (state,) = node.inputs(7.0)
    assert state.age_s == pytest.approx(6.997)
    assert "nothing new for 7 s" in state.message
    node.add_report(8.0, [an_input(received=101, age=0.0)])
    (state,) = node.inputs(8.0)
    assert (state.age_s, state.level) == (0.0, HealthLevel.OK)


def test_a_topic_two_nodes_read_shows_the_worse():
    record = WatchRecord()
    record.node("/talos/tilt_observer").add_report(0.0, [an_input(), an_input("joint_states", age=0.3)])
    lost = an_input(level=HealthLevel.ERROR, message="lost", age=0.2)
    record.node("talos/inertial_ekf").add_report(0.0, [lost, an_input("joint_states")])
    states = {state.topic: state for state in record.inputs(0.1)}
    assert set(states) == {"talos/imu/data", "talos/joint_states"}
    assert states["talos/imu/data"].message == "lost"
    assert states["talos/joint_states"].age_s == 0.3


STORE = get_typestore(Stores.ROS2_JAZZY)
COUNT = 3000
Messages = list[tuple[str, int, bytes]]


def written(path: Path, compression: CompressionFormat | None = None, padding: int = 0) -> Path:
    """Write an mcap of two topics, with texts of a length in the messages; return its file."""
    writer = Writer(path, version=9, storage_plugin=StoragePlugin.MCAP)
    if compression:
        writer.set_compression(CompressionMode.STORAGE, compression)
    with writer:
        topics = {"/imu/data": IMU_TYPE, "/joint_states": JOINT_STATE_TYPE}
        connections = [writer.add_connection(t, kind, typestore=STORE) for t, kind in topics.items()]
        message = empty_message(STORE, IMU_TYPE)
        joints = empty_message(STORE, JOINT_STATE_TYPE)
        for k in range(COUNT):
            connection, content = ((connections[0], message), (connections[1], joints))[k % 2]
            content.header.stamp.nanosec = k
            content.header.frame_id = padding * "x"
            writer.write(connection, 10**9 + k, STORE.serialize_cdr(content, connection.msgtype))
    return path / f"{path.name}.mcap"


def read(path: Path) -> tuple[Messages, list[str]]:
    with BagRecording(path) as bag:
        messages = [tuple(message) for message in bag.unread(bag.topics)]
        last_ns = max(log_ns for _, log_ns, _ in messages)
        assert (bag.start_ns, bag.end_ns) == (10**9, last_ns)  # as recorded, also where the first is damaged
        return messages, list(bag.warnings)


@pytest.fixture(scope="module")
def bag(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("cut") / "bag").parent


@pytest.mark.parametrize("with_metadata", [True, False])
def test_what_is_before_the_cut_is_read(bag: Path, tmp_path: Path, with_metadata: bool) -> None:
    whole, warnings = read(bag)
    assert (len(whole), warnings) == (COUNT, [])
    folder = tmp_path / "bag"
    shutil.copytree(bag, folder)
    if not with_metadata:
        (folder / "metadata.yaml").unlink()
    (file,) = [item for item in folder.iterdir() if item.suffix != ".yaml"]
    content, least = file.read_bytes(), 0
    for share in (0.3, 0.5, 0.7, 0.9, 0.99):
        file.write_bytes(content[: int(share * len(content))])
        messages, warnings = read(folder)
        assert messages == whole[: len(messages)]
        assert least < len(messages)
        assert f"{len(messages)} messages over" in warnings[-1]
        assert ("no metadata.yaml" in warnings[0]) is not with_metadata
        least = len(messages)
    assert least > 0.8 * COUNT


@pytest.mark.parametrize("compression", list(CompressionFormat))
def test_whole_compressed_chunks_are_read(tmp_path: Path, compression: CompressionFormat) -> None:
    file = written(tmp_path / "bag", compression)
    content = file.read_bytes()
    file.write_bytes(content[:-40])  # without the footer
    assert len(read(tmp_path / "bag")[0]) == COUNT


@pytest.mark.parametrize("place", ["first", "middle"])
def test_a_chunk_with_a_flipped_bit_is_left_out(tmp_path: Path, place: str) -> None:
    """With checksums, as rosbag2 writes them; the topics are defined again at the end of the file."""
    file = written(tmp_path / "bag", padding=500)
    whole, _ = read(tmp_path / "bag")
    content = bytearray(file.read_bytes())
    chunks, position = [], len(b"\x89MCAP0\r\n")
    while content[position] != 0x0F:  # the end of the data
        begin = position + 9
        position = begin + int.from_bytes(content[position + 1 : begin], "little")
        if content[begin - 9] == 0x06:
            content[begin + 24 : begin + 28] = crc32(content[begin + 40 : position]).to_bytes(4, "little")
            chunks.append((begin, position))
    file.write_bytes(content)
    assert read(tmp_path / "bag") == (whole, [])
    begin, end = chunks[0 if place == "first" else len(chunks) // 2]
    content[(begin + end) // 2] ^= 0x40
    file.write_bytes(content)
    messages, warnings = read(tmp_path / "bag")
    assert set(messages) < set(whole)
    assert len(messages) > 0.3 * COUNT
    assert (messages[0] == whole[0]) is (place == "middle")
    assert messages[-1] == whole[-1]
    assert "1 damaged chunk and" in warnings[0]


@pytest.mark.parametrize(
    "text", ["", "rosbag2: [", "a: &a [*a]", "rosbag2_bagfile_information: {relative_file_paths: 3}"]
)
def test_without_usable_metadata_the_files_are_read(bag: Path, tmp_path: Path, text: str) -> None:
    folder = tmp_path / "bag"
    shutil.copytree(bag, folder)
    (folder / "metadata.yaml").write_text(text)
    messages, warnings = read(folder)
    assert len(messages) == COUNT
    assert "metadata.yaml" in warnings[0]
    assert "damaged" in warnings[0]


@pytest.mark.parametrize("name", ["x.mcap", "x.db3"])
@pytest.mark.parametrize(
    "content", [b"", b"garbage" * 100, b"\x89MCAP0\r\n", b"SQLite format 3\0" + bytes(200)]
)
def test_garbage_is_refused_in_one_line(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    for path in (tmp_path / name, tmp_path):
        with pytest.raises(RecordingError, match=rf"{name}.*damaged") as refusal:
            BagRecording(path)
        assert str(refusal.value).isprintable()


def test_messages_without_an_index_are_read_in_the_order_of_their_times(tmp_path: Path) -> None:
    """As rosbag2 writes them with the preset `fastwrite`; nothing of them is missing."""

    def record(opcode: int, body: bytes) -> bytes:
        return bytes([opcode]) + len(body).to_bytes(8, "little") + body

    def text(value: str) -> bytes:
        return len(value).to_bytes(4, "little") + value.encode()

    def message(log_ns: int) -> bytes:
        times = 2 * log_ns.to_bytes(8, "little")
        return record(0x05, bytes(2) + bytes(4) + times + b"message")

    magic, one = b"\x89MCAP0\r\n", (1).to_bytes(2, "little")
    schema = record(0x03, one + text(IMU_TYPE) + text("ros2msg") + text("float64 x"))
    channel = record(0x04, bytes(2) + one + text("/imu/data") + text("cdr") + bytes(4))
    messages = b"".join(message(10**9 + k) for k in (1, 0, 3, 2))
    end = record(0x0F, bytes(4)) + record(0x02, bytes(20)) + magic
    file = tmp_path / "fast.mcap"
    file.write_bytes(magic + record(0x01, text("ros2") + text("")) + schema + channel + messages + end)
    with BagRecording(file) as bag:
        assert [log_ns - 10**9 for _, log_ns, _ in bag.unread(["/imu/data"])] == [0, 1, 2, 3]
        assert not bag.warnings


ADD, DELETE = 0, 2  # actions of a marker


def new_marker():
    return empty_message(STORE, "visualization_msgs/msg/Marker")


def test_gravity_points_down_and_a_force_starts_at_its_contact():
    R_WB = rotation_from_roll_pitch_yaw(0.3, -0.2, 1.0)
    state = ie.BaseState(7, [0, 0, 0, 1], np.zeros(3), np.zeros(3), np.zeros(3))
    zero = np.zeros(3)
    estimate = ie.BaseEstimate(state, R_WB[2], zero, ("left",), zero, True, False, np.eye(3))
    loads = (
        ContactLoad("left", (0.0, 0.1, -0.9), (0.0, 0.0, 500.0), 1.0),
        ContactLoad("right", (0.0, -0.1, -0.8), (0.0, 0.0, 0.0), 0.0),
    )
    gravity, left, force, right, _none = tilt_markers(new_marker, estimate, loads, "trunk")
    assert {marker.header.frame_id for marker in (gravity, left, force, right)} == {"trunk"}
    tail, tip = ((p.x, p.y, p.z) for p in gravity.points)
    np.testing.assert_allclose(R_WB @ (np.array(tip) - tail), [0, 0, -0.5], atol=1e-12)
    assert (left.pose.position.y, right.pose.position.z) == (0.1, -0.8)
    assert left.color != right.color
    assert all(0.0 <= share <= 1.0 for drawn in Drawn for share in drawn.value[2])
    tail, tip = ((p.x, p.y, p.z) for p in force.points)
    assert tail == (0.0, 0.1, -0.9)
    np.testing.assert_allclose(np.array(tip) - tail, [0.0, 0.0, 0.5])


def test_a_payload_is_a_sphere_of_its_mass_and_drawn_only_when_it_is_certain():
    body = LinkInertia("hand", 7.0, np.array([0.1, 0.0, 0.2]), np.eye(3))
    payload = LinkInertia("hand", 5.0, np.array([0.0, 0.0, 0.3]), np.eye(3))
    links = [ie.LinkEstimate(body, body, body, np.eye(10)) for _ in range(2)]
    links.append(ie.LinkEstimate(body, body, payload, np.diag([0.1, 0.01, 0.02, np.inf, *6 * [1.0]]) ** 2))
    given = ((), np.zeros(0), 1.0, 9.0, True, Decision.ACCEPTED, np.zeros(0), 0)
    com, _text, sphere = inertial_markers(new_marker, ie.InertialEstimate(7, links, *given))[-3:]
    radius = 0.5 * sphere.scale.x
    assert 4.0 / 3.0 * np.pi * radius**3 * PAYLOAD_DENSITY == pytest.approx(5.0)
    assert (sphere.action, sphere.pose.position.z) == (ADD, 0.3)
    assert (com.scale.x, com.scale.y, com.scale.z) == pytest.approx((0.04, 0.08, 0.2))  # at most
    assert com.pose.position.x == 0.1
    assert {marker.id for marker in (com, sphere)} == {2}
    *_others, unsure = link_markers(new_marker, 2, 7, body, payload, 2.6, [0.01, 0.02, 0.03])
    assert unsure.action == DELETE
    *_others, unmeasured = link_markers(new_marker, 2, 7, body, payload, np.inf, [0.01, 0.02, 0.03])
    assert unmeasured.action == DELETE
    assert payload_radius(-5.0) == payload_radius(5.0)
