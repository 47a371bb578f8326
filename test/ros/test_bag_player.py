"""A recording played over DDS arrives whole, in order, with its clock."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs rclpy and the ROS messages")
pytest.importorskip("rosbags", reason="needs rosbags")

from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Imu

from inertial_estimation.commands.main import main
from inertial_estimation.inputs.messages import stamp_from_msg

START = 1_700_000_000_000_000_000
STEP = 10_000_000
COUNT = 100


@pytest.fixture(params=["sqlite3", "mcap"])
def bag(request, tmp_path):
    typestore = get_typestore(Stores.ROS2_JAZZY)
    types = typestore.types
    path = tmp_path / "bag"
    storage = {"sqlite3": StoragePlugin.SQLITE3, "mcap": StoragePlugin.MCAP}[request.param]
    with Writer(path, version=9, storage_plugin=storage) as writer:
        connection = writer.add_connection("/imu/data", "sensor_msgs/msg/Imu", typestore=typestore)
        for k in range(COUNT):
            stamp_ns = START + k * STEP
            stamp = types["builtin_interfaces/msg/Time"](*divmod(stamp_ns, 10**9))
            vector = types["geometry_msgs/msg/Vector3"]
            msg = types["sensor_msgs/msg/Imu"](
                types["std_msgs/msg/Header"](stamp, "imu"),
                types["geometry_msgs/msg/Quaternion"](0.0, 0.0, 0.0, 1.0),
                np.zeros(9),
                vector(0.0, 0.0, float(k)),
                np.zeros(9),
                vector(0.0, 0.0, 9.8),
                np.zeros(9),
            )
            data = typestore.serialize_cdr(msg, "sensor_msgs/msg/Imu")
            writer.write(connection, stamp_ns, data)
    return path


def play(world, *arguments, **variables):
    environment = {**os.environ, "ROS_DOMAIN_ID": str(world.domain), **variables}
    environment["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    command = [
        sys.executable,
        "-m",
        "inertial_estimation.commands.main",
        "play",
        "--subscribers",
        "1",
        *arguments,
    ]
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("bag", ["sqlite3"], indirect=True)
def test_plays_every_message_with_its_clock(world, bag):
    imu = world.listen(Imu, "waist/imu", 200)
    clock = world.listen(Clock, "/clock", 200)
    process = play(world, str(bag), "--rate", "2", "--remap", "/imu/data:=/waist/imu")
    try:
        world.run(lambda: process.poll() is not None, sensors=False)
        world.run(lambda: len(imu) == COUNT, sensors=False, timeout=5.0)
        assert process.wait(timeout=10.0) == 0, process.stderr.read()
    finally:
        process.kill()
    assert [msg.angular_velocity.z for msg in imu] == list(range(COUNT))
    assert [stamp_from_msg(msg.header.stamp) for msg in imu] == [START + k * STEP for k in range(COUNT)]
    times = [stamp_from_msg(msg.clock) for msg in clock]
    assert times == sorted(times)
    assert START <= times[0] < times[-1] <= START + COUNT * STEP
    assert np.diff(times) == pytest.approx(10_000_000)  # 200 Hz of the wall clock at twice the speed


@pytest.mark.parametrize("bag", ["mcap"], indirect=True)
def test_loops_until_a_signal(world, bag):
    imu = world.listen(Imu, "imu/data", 1000)
    process = play(world, str(bag), "--rate", "20", "--loop")
    try:
        assert world.run(lambda: len(imu) > 2 * COUNT, sensors=False)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60.0) == 0
        assert "Traceback" not in process.stderr.read()
    finally:
        process.kill()


@pytest.mark.parametrize("bag", ["mcap"], indirect=True)
def test_a_topic_or_a_bag_that_is_not_there_is_named(bag, capsys):
    assert main(["play", str(bag), "--remap", "/imu:=/b"]) == 1
    assert "did you mean '/imu/data'" in capsys.readouterr().err
    assert main(["play", str(bag / "none")]) == 1
    assert "none" in capsys.readouterr().err
