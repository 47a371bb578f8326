"""Messages of complete mcap files are those that the package rosbags reads, in the same order."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rosbags")

from rosbags.rosbag2 import CompressionFormat, CompressionMode, Reader, StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from inertial_estimation.inputs.messages import IMU_TYPE, JOINT_STATE_TYPE
from inertial_estimation.recordings.complete_bag_file import CompleteBagFile, CompleteMcap

STORE = get_typestore(Stores.ROS2_JAZZY)
COUNT, PADDING = 1500, 2000  # three chunks
BEGIN_NS = 10**9


def written(path: Path, compression: CompressionFormat | None) -> Path:
    """Write messages that are logged up to 30 places late, so that chunks overlap in time."""
    writer = Writer(path, version=9, storage_plugin=StoragePlugin.MCAP)
    if compression:
        writer.set_compression(CompressionMode.STORAGE, compression)
    order = np.argsort(np.arange(COUNT) + np.random.default_rng(0).uniform(0.0, 30.0, COUNT))
    with writer:
        topics = {"/imu/data": IMU_TYPE, "/joint_states": JOINT_STATE_TYPE}
        connections = [writer.add_connection(t, kind, typestore=STORE) for t, kind in topics.items()]
        for k in order.tolist():
            writer.write(connections[k % 3 % 2], BEGIN_NS + k, k.to_bytes(4, "little") + bytes(PADDING))
    return path / f"{path.name}.mcap"


@pytest.mark.parametrize("compression", [None, *CompressionFormat])
@pytest.mark.parametrize("topics", [("/imu/data", "/joint_states"), ("/joint_states",), ("/other",)])
@pytest.mark.parametrize("start_ns", [None, BEGIN_NS + 700])
def test_messages_are_those_of_rosbags(
    tmp_path: Path, compression: CompressionFormat | None, topics: tuple[str, ...], start_ns: int | None
) -> None:
    path = written(tmp_path / "bag", compression)
    own, others = CompleteMcap(path), CompleteBagFile(path)
    found, expected = (list(file.messages(topics, start_ns)) for file in (own, others))
    assert found == expected
    assert bool(found) is (topics != ("/other",))
    own.close()
    others.close()


def test_the_index_of_rosbags_lists_chunks(tmp_path: Path) -> None:
    """Where it does not any more, its own way of reading messages is taken, which is slower."""
    with Reader(written(tmp_path / "bag", None)) as reader:
        assert len(reader.storage.chunks) > 2
