"""The command `monitor` on live nodes: finds them, prints, ends cleanly."""

import os
import pty
import signal
import subprocess
import sys
import termios

import pytest

pytest.importorskip("rclpy", reason="needs rclpy and the ROS messages")
pytest.importorskip("pinocchio", reason="needs Pinocchio")
pytest.importorskip("rich")

from diagnostic_msgs.msg import DiagnosticArray


def start_monitor(world, *arguments, stdin=None, stdout=subprocess.PIPE):
    code = "import sys; from inertial_estimation.commands.main import main; sys.exit(main(sys.argv[1:]))"
    environment = {**os.environ, "ROS_DOMAIN_ID": str(world.domain), "COLUMNS": "80"}
    return subprocess.Popen(
        [sys.executable, "-c", code, "monitor", *arguments],
        env=environment,
        stdin=stdin,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
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
    nodes = {"tilt_observer", "inertial_ekf"}
    diagnostics = world.listen(DiagnosticArray, "/diagnostics")

    def heard():
        return {status.name.partition(": ")[0] for array in diagnostics for status in array.status}

    assert world.run(lambda: len(diagnostics) > 4 and nodes <= heard(), timeout=60.0)
    for _attempt in range(3):  # a pause of this process, which sends the sensors, is told in the table
        out = table(world)
        rows = [line.split() for line in out.splitlines()]
        states = {row[0]: row for row in rows if row[1:2] in (["estimating"], ["estimating;"])}  # a remark
        if nodes <= states.keys():
            break
    assert nodes <= states.keys(), out
    assert float(states["tilt_observer"][2]) > 20.0, "no rate of the telemetry"
    assert any(row[:1] == ["leg"] and row[3] == "2.00" for row in rows), out
    assert any(row[:1] == ["imu/data"] and row[-1] == "arriving" for row in rows)
    assert "contacts foot" in out
    assert "\x1b" not in out
    assert max(map(len, out.splitlines())) <= 80


def test_only_the_nodes_of_a_namespace_are_shown(world):
    world.start("tilt_observer", "-r", "__ns:=/talos")
    world.start("tilt_observer")
    monitor = start_monitor(world, "--once", "--namespace", "talos", "--wait", "40")
    out, err = monitor.communicate(timeout=60)
    assert monitor.returncode == 0, err
    shown = [line.split()[0] for line in out.splitlines() if line.split()[:1] and "tilt_observer" in line]
    assert shown
    assert all("talos/tilt_observer" in line for line in out.splitlines() if "tilt_observer" in line), out
    assert "waiting for" in out


def test_without_nodes_it_says_where_it_looked(world):
    monitor = start_monitor(world, "--once", "--wait", "1")
    _out, err = monitor.communicate(timeout=60)
    assert monitor.returncode == 1
    assert f"ROS_DOMAIN_ID ({world.domain})" in err
    assert len(err.strip().splitlines()) == 1


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
