"""A recording played over DDS arrives whole, in order, with its clock."""

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Imu

import inertial_estimation as ie
from inertial_estimation.commands.main import main
from inertial_estimation.inputs.messages import IMU_TYPE, stamp_from_msg
from inertial_estimation.recordings.bag_writer import write_recording
from inertial_estimation.ros.bag_player import PlayOptions, play_bag

START = 1_700_000_000_000_000_000
STEP = 10_000_000
COUNT = 100


@pytest.fixture(params=["sqlite3", "mcap"])
def bag(request, tmp_path):
    zero = np.zeros(3)
    entries = [
        ie.RecordingEntry("/imu/data", stamp, ie.ImuSample(stamp, zero, np.array([0.0, 0.0, k])))
        for k, stamp in enumerate(range(START, START + COUNT * STEP, STEP))
    ]
    recording = ie.MemoryRecording(tuple(entries), {"/imu/data": IMU_TYPE})
    write_recording(recording, tmp_path / "bag", storage=request.param)
    return tmp_path / "bag"


@pytest.mark.parametrize("bag", ["sqlite3"], indirect=True)
def test_plays_every_message_with_its_clock(world, bag, monkeypatch):
    monkeypatch.setenv("ROS_DOMAIN_ID", str(world.domain))
    imu = world.listen(Imu, "waist/imu", 200)
    clock = world.listen(Clock, "/clock", 200)
    options = PlayOptions(rate=2.0, subscribers=1, remap={"/imu/data": "/waist/imu"})
    with ThreadPoolExecutor(1) as pool:
        played = pool.submit(play_bag, bag, options)
        assert world.run(played.done, sensors=False)
    assert played.result() == COUNT
    assert world.run(lambda: len(imu) == COUNT, sensors=False, timeout=5.0)
    assert [msg.angular_velocity.z for msg in imu] == list(range(COUNT))
    assert [stamp_from_msg(msg.header.stamp) for msg in imu] == [START + k * STEP for k in range(COUNT)]
    times = [stamp_from_msg(msg.clock) for msg in clock]
    assert times == sorted(times)
    assert START <= times[0] < times[-1] <= START + COUNT * STEP
    assert np.diff(times) == pytest.approx(10_000_000)  # 200 Hz of the wall clock at twice the speed


@pytest.mark.parametrize("bag", ["mcap"], indirect=True)
def test_loops_until_a_signal(world, bag):
    imu = world.listen(Imu, "imu/data", 1000)
    command = [sys.executable, "-m", "inertial_estimation.commands.main", "play", str(bag)]
    environment = {**os.environ, "ROS_DOMAIN_ID": str(world.domain)}
    process = subprocess.Popen(
        [*command, "--rate", "20", "--loop"], env=environment, stderr=subprocess.PIPE, text=True
    )
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
