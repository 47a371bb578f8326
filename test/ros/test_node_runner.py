"""What a node's executable says before there is a node."""

import gc
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from inertial_estimation import compilation
from inertial_estimation.configuration.config_file import find_config
from inertial_estimation.errors import ConfigurationError
from inertial_estimation.ros import node_runner


@pytest.fixture(autouse=True)
def _process_as_before(monkeypatch):
    """An entry point takes the signals of its process, which here is pytest, and may set variables."""
    monkeypatch.setenv("MUJOCO_GL", "disable")
    before = {number: signal.getsignal(number) for number in node_runner.SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize(
    "name", ["simulator", "tilt_observer", "inertial_ekf", "trunk_payload", "whole_body_controller"]
)
def test_help_is_printed_and_no_node_starts(name, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [f"/somewhere/{name}", "--help"])
    monkeypatch.setattr(node_runner, "run_node", lambda *_: pytest.fail("a node was started"))
    assert getattr(node_runner, name)() == 0
    assert capsys.readouterr().out.startswith(f"usage: {name} --ros-args")


@pytest.mark.parametrize(
    ("missing", "said"),
    [("pinocchio", "standalone"), ("mujoco", "'inertial_estimation.sim.'"), ("rclpy", "source a ROS 2")],
)
def test_what_is_missing_is_named(missing, said, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["simulator"])

    def fail(_name):
        raise ModuleNotFoundError(f"No module named '{missing}'", name=missing)

    monkeypatch.setattr(node_runner.importlib, "import_module", fail)
    assert node_runner.simulator() == 2
    assert re.search(said, capsys.readouterr().err)


def started(name, domain, **variables):
    """The entry point of a node as a process."""
    code = f"import sys; from inertial_estimation.ros.node_runner import {name}; sys.exit({name}())"
    command = [sys.executable, "-c", code, "--ros-args", "--params-file", str(find_config("talos"))]
    environment = {**os.environ, "ROS_DOMAIN_ID": str(domain), **variables}
    environment["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def ended(process, until, delay_s, number):
    """Send a signal some time after something holds; the process ends with code 0, without a traceback."""
    try:
        assert until(process)
        time.sleep(delay_s)
        process.send_signal(number)
        said = process.communicate(timeout=30.0)[0]
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 0, f"after {delay_s} s: {said}"
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("name", "number", "delay_s"),
    [
        ("simulator", signal.SIGTERM, 0.0),
        ("inertial_ekf", signal.SIGINT, 0.05),
        ("inertial_ekf", signal.SIGINT, 0.8),
    ],
)
def test_signal_during_start_up_ends_with_code_zero(name, number, delay_s, domain):
    """From the moment the entry point has the signals, which is before anything heavy is imported."""
    ended(started(name, domain), _catches, delay_s, number)


def test_a_signal_while_functions_are_compiled_ends_a_node_at_once(tmp_path, domain):
    """Nothing is open then that had to be closed."""
    if not compilation.compiling():
        pytest.skip("numba is not installed, or switched off")
    process = started("tilt_observer", domain, NUMBA_CACHE_DIR=str(tmp_path))
    ended(process, lambda p: any("compiling" in line for line in p.stdout), 0.2, signal.SIGTERM)


def _catches(process):
    """Wait until a process has a handler for SIGTERM."""
    status = Path(f"/proc/{process.pid}/status")
    if not status.exists():
        pytest.skip("needs /proc")
    deadline = time.monotonic() + 20.0
    while process.poll() is None and time.monotonic() < deadline:
        caught = int(re.search(r"SigCgt:\s*(\w+)", status.read_text())[1], 16)
        if caught >> (signal.SIGTERM - 1) & 1:
            return True
        time.sleep(0.001)
    return False


def test_nothing_stays_frozen_for_the_end_of_the_process(capsys):
    """Python does not free frozen objects at exit, and ProxSuite reports its own as leaked."""

    def build():
        gc.freeze()
        raise ConfigurationError("no such foot")

    assert node_runner.run_node(build, []) == 2
    assert gc.get_freeze_count() == 0
    assert "no such foot" in capsys.readouterr().err
