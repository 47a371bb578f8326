"""What a node does besides its estimator: start, counting, reading in time, long calls, garbage."""

import os
import re
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from inertial_estimation import compilation
from inertial_estimation.configuration.config_file import find_config
from inertial_estimation.ros import node_runner
from inertial_estimation.ros.diagnostics import InputCounter
from inertial_estimation.ros.node_inputs import ReadingDelay
from inertial_estimation.ros.pipeline_node import LARGEST_SHIFT, LONGEST_DELAY, in_background, next_period
from inertial_estimation.signals import HealthLevel

OK, WARN, ERROR = HealthLevel.OK, HealthLevel.WARN, HealthLevel.ERROR
NOW_NS = 10**18
PERIOD, TICKS = 0.003, 6000


@pytest.mark.parametrize(
    ("messages", "publishers", "lost"),
    [
        ([(3, 12), (4, 20)], 1, 4),  # 13 to 20 are eight
        ([(5, 900), (5, 5), (1, 6)], 1, 0),  # the publisher has begun anew
        ([(5, None), (5, None)], 1, 0),
        ([(1, 10), (1, 500), (1, 11), (1, 501), (1, 12)], 2, 0),  # numbers of several say nothing
    ],
)
def test_gaps_in_the_numbers_of_a_publisher_are_losses(messages, publishers, lost):
    counter = InputCounter("imu/data", publishers=lambda: publishers)
    for received, sequence in messages:
        counter.count(received, sequence)
    health = counter.health()
    assert (counter.lost, health.level) == (lost, WARN if lost else OK)
    assert counter.health().level == OK, "said once"


def test_a_required_input_that_is_silent_is_an_error_whatever_the_clock_of_the_stamps_says():
    counter, optional = InputCounter("imu/data", required=True), InputCounter("base_state")
    levels = []
    for received in (5, 0, 5, 0, 0, 0, 5):
        for one in (counter, optional):
            one.count(received, None)
        levels.append((counter.health().level, optional.health().level))
    assert [level for level, _ in levels] == [OK, OK, OK, OK, ERROR, ERROR, OK]
    assert {level for _, level in levels} == {OK}


@pytest.mark.parametrize("publishers", [0, 1])
def test_a_publisher_that_is_connected_in_vain_is_named(publishers):
    counter = InputCounter("imu/data", required=True, publishers=lambda: publishers)
    messages = [counter.health().message for _ in range(5)]
    assert messages[:4] == ["no message yet"] * 4
    assert ("a publisher is connected" in messages[4]) == (publishers == 1)


def levels_of(period, *reports):
    """Levels of the reports after messages that have waited [s]."""
    delay, found = ReadingDelay(), []
    delay.timeout, delay.period = 0.1, period
    for waits in reports:
        for wait_s in waits:
            delay.note(NOW_NS - round(1e9 * wait_s))
        found.append(delay.health().level)
    return found


def test_a_stall_is_no_warning_and_a_report_of_long_waits_alone_is_one(monkeypatch):
    monkeypatch.setattr(time, "time_ns", lambda: NOW_NS)
    stall, behind = (0.8, 0.001), (0.8, 0.5)
    assert levels_of(0.0, (), stall, stall, behind, (0.001,)) == [OK, OK, OK, WARN, OK]
    assert levels_of(1.0, (1.9,), (1.9,), (2.2,)) == [OK, OK, WARN]
    set_back = (-3600.0,)
    assert levels_of(0.0, set_back, set_back) == [OK, OK]


def test_a_backlog_is_one_of_an_overloaded_node_only_after_half_a_second(monkeypatch):
    delay = ReadingDelay()
    delay.timeout = 0.1

    def is_backlog(at_s, wait_s):
        now_ns = NOW_NS + round(1e9 * at_s)
        monkeypatch.setattr(time, "time_ns", lambda: now_ns)
        return delay.is_backlog(now_ns - round(1e9 * wait_s))

    assert not any(is_backlog(0.1 * k, 0.8 - 0.2 * k) for k in range(5)), "it catches up"
    assert [is_backlog(1.0 + 0.1 * k, 0.5) for k in range(7)] == 5 * [False] + 2 * [True]
    assert not delay.is_backlog(0), "where the middleware gives no time of reception"
    delay.drop(7)
    assert is_backlog(2.0, 0.5), "at once, now that it is known to be overloaded"
    assert not is_backlog(12.5, 0.01)
    assert [is_backlog(t, 0.5) for t in (13.0, 13.6)] == [False, True], "it has been calm for long enough"


def only_here(pid):
    if os.getpid() != pid:
        raise MemoryError
    return pid


def test_a_long_call_is_executed_at_the_lowest_priority_and_here_if_that_fails():
    for call, expected in (
        (partial(os.getpriority, os.PRIO_PROCESS, 0), 19),
        (partial(only_here, os.getpid()), os.getpid()),
    ):
        result, end = in_background(call), time.monotonic() + 60.0
        while (found := result()) is None and time.monotonic() < end:
            time.sleep(0.01)
        assert found == expected


def ticked(arrivals, begin):
    """Simulate the polls; return the latency of every step [s]."""
    latencies, done, now = [], 0, begin
    for _ in range(TICKS - 100):
        newest = int(np.searchsorted(arrivals, now))
        period = next_period(now - arrivals[done] if newest > done else None, PERIOD)
        assert abs(period - PERIOD) <= (1.0 + 1e-9) * LARGEST_SHIFT * PERIOD
        latencies += (now - arrivals[done:newest]).tolist()
        done, now = newest, now + period
    return np.array(latencies)


@pytest.mark.parametrize("begin", np.linspace(0.0, PERIOD, 5))
@pytest.mark.parametrize("drift", [-1e-3, 0.0, 1e-3])
def test_it_settles_at_its_delay(begin, drift):
    latencies = ticked((1.0 + drift) * PERIOD * np.arange(TICKS), begin)
    assert abs(latencies[-500:] - LONGEST_DELAY).max() < 0.01 * PERIOD


@pytest.mark.parametrize("jitter", [3e-4, 1e-3])
def test_it_stays_behind_messages_that_jitter(jitter):
    late = jitter * np.random.default_rng(1).uniform(size=TICKS)
    latencies = ticked(1.001 * PERIOD * np.arange(TICKS) + late, 0.5 * PERIOD)
    assert latencies[1000:].mean() < LONGEST_DELAY + 0.5 * PERIOD


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
