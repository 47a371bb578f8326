"""A recording that was cut short is read as far as it goes; what is missing is said."""

import shutil
from binascii import crc32
from pathlib import Path

import pytest
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from inertial_estimation.errors import RecordingError
from inertial_estimation.inputs.messages import IMU_TYPE, JOINT_STATE_TYPE
from inertial_estimation.recordings.bag_writer import empty_message
from inertial_estimation.recordings.recording import BagRecording

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
    assert "1 damaged chunk(s)" in warnings[0]


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
