"""The commands play and monitor over DDS: a recording arrives whole, nodes are found, both end cleanly."""

import os
import pty
import signal
import subprocess
import sys
import termios
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Imu

import inertial_estimation as ie
from inertial_estimation.commands.main import main
from inertial_estimation.inputs.messages import IMU_TYPE, stamp_from_msg
from inertial_estimation.recordings.bag_writer import write_recording
from inertial_estimation.recordings.watch_record import WatchRecord
from inertial_estimation.ros.bag_player import play_bag
from inertial_estimation.ros.monitors import watched

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
    options = {"rate": 2.0, "loop": False, "subscribers": 1, "remap": {"/imu/data": "/waist/imu"}}
    with ThreadPoolExecutor(1) as pool:
        played = pool.submit(play_bag, bag, **options)
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


def start_monitor(world, *arguments, stdin=None, stdout=subprocess.PIPE):
    environment = {**os.environ, "ROS_DOMAIN_ID": str(world.domain), "COLUMNS": "80"}
    command = [sys.executable, "-m", "inertial_estimation.commands.main", "monitor", *arguments]
    return subprocess.Popen(
        command, env=environment, stdin=stdin, stdout=stdout, stderr=subprocess.PIPE, text=True
    )


def table(world):
    """What the command prints once while the sensors go on."""
    monitor = start_monitor(world, "--once", "--wait", "40")
    try:
        assert world.run(lambda: monitor.poll() is not None, timeout=80.0)
        out, err = monitor.communicate()
    finally:
        monitor.kill()
    assert monitor.returncode == 0, err
    return out


def test_one_table_of_live_nodes_in_a_pipe(world):
    patient = {"inputs.timeout": "5.0"}  # on a busy machine this process may pause
    world.start("tilt_observer", **patient)
    world.start("inertial_ekf", links="[leg]", **patient)
    assert world.run(lambda: world.heard > 4)
    for _attempt in range(3):  # a pause of this process, which sends the sensors, is told in the table
        out = table(world)
        rows = [line.split() for line in out.splitlines()]
        states = {row[0]: row for row in rows if row[1:2] in (["estimating"], ["estimating;"])}  # a remark
        if {"tilt_observer", "inertial_ekf"} <= states.keys():
            break
    assert {"tilt_observer", "inertial_ekf"} <= states.keys(), out
    assert float(states["tilt_observer"][2]) > 20.0, "no rate of the telemetry"
    assert any(row[:1] == ["leg"] and row[3] == "2.00" for row in rows), out
    assert any(row[:1] == ["imu/data"] and row[-1] == "arriving" for row in rows)
    assert "contacts foot" in out
    assert "\x1b" not in out
    assert max(map(len, out.splitlines())) <= 80


def test_only_the_nodes_of_a_namespace_are_watched(world, monkeypatch):
    world.start("tilt_observer", "-r", "__ns:=/talos")
    world.start("tilt_observer")
    monkeypatch.setenv("ROS_DOMAIN_ID", str(world.domain))
    everything, record = WatchRecord(), WatchRecord()
    for namespace, found in (("/", everything), ("talos", record)):
        times = watched(found, namespace)
        wanted = 1 + (found is everything)
        assert world.run(lambda t=times, f=found, n=wanted: next(t) and len(f.nodes) >= n, sensors=False)
        times.close()
    assert set(everything.nodes) == {"tilt_observer", "talos/tilt_observer"}
    assert set(record.nodes) == {"talos/tilt_observer"}


def test_without_nodes_it_says_where_it_looked(domain, monkeypatch, capsys):
    monkeypatch.setenv("ROS_DOMAIN_ID", str(domain))
    monkeypatch.setattr(signal, "signal", lambda *_: None)  # that of this process stays
    assert main(["monitor", "--once", "--wait", "0.2"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert f"ROS_DOMAIN_ID ({domain})" in line


def test_a_signal_ends_it_with_zero(world):
    monitors = {number: start_monitor(world) for number in (signal.SIGINT, signal.SIGTERM)}
    for number, monitor in monitors.items():
        try:
            assert monitor.stdout.readline(), monitor.stderr.read()
            monitor.send_signal(number)
            _out, err = monitor.communicate(timeout=30)
        finally:
            monitor.kill()
        assert (monitor.returncode, err) == (0, "")


def test_the_key_q_ends_it_and_the_terminal_is_as_before(world):
    keyboard, terminal = pty.openpty()
    before = termios.tcgetattr(terminal)
    monitor = start_monitor(world, stdin=terminal, stdout=terminal)
    try:
        assert os.read(keyboard, 1)
        os.write(keyboard, b"xq")
        assert world.run(lambda: monitor.poll() is not None, sensors=False)
        assert termios.tcgetattr(terminal) == before
    finally:
        monitor.kill()
        _out, err = monitor.communicate()
        os.close(keyboard)
        os.close(terminal)
    assert (monitor.returncode, err) == (0, "")
