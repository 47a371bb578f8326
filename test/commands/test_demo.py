"""The demo end to end: live nodes over DDS weigh what a synthetic Talos was handed."""

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from inertial_estimation.commands.processes import ProcessGroup
from inertial_estimation.errors import InertialEstimationError

pytest.importorskip("example_robot_data")


def test_demo_finds_the_weight(tmp_path: Path) -> None:
    pytest.importorskip("rclpy")
    command = [sys.executable, "-m", "inertial_estimation.commands.main", "demo", "--no-live"]
    arguments = ["--duration", "8", "--rate", "125", "--output", str(tmp_path)]
    root = Path(__file__).resolve().parents[2]
    ended = subprocess.run(
        [*command, *arguments], cwd=root, capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 0, ended.stderr
    (mass,) = re.findall(r"arm_left_5_link +(-?\d+\.\d+)", ended.stdout)
    assert float(mass) == pytest.approx(5.44, rel=0.05)
    (rms,) = re.findall(r"tilt error after 2 s: rms (\d+\.\d+) deg", ended.stdout)
    assert float(rms) < 0.3
    assert (tmp_path / "demo.png").stat().st_size > 10_000


def test_demo_needs_time_for_the_weight() -> None:
    from inertial_estimation.commands.main import main

    assert main(["demo", "--duration", "3"]) == 1


def test_processes_are_ended_on_the_way_out(tmp_path: Path) -> None:
    sleeper = [sys.executable, "-c", "import time; time.sleep(60)"]
    stubborn = [
        sys.executable,
        "-c",
        "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "print('up', flush=True); time.sleep(60)",
    ]
    with ProcessGroup(tmp_path, patience_s=0.3) as group:
        started = [group.start("sleeper", sleeper), group.start("stubborn", stubborn)]
        deadline = time.monotonic() + 10.0
        while "stubborn: up" not in group.output() and time.monotonic() < deadline:
            time.sleep(0.02)
        group.check()
        assert all(process.poll() is None for process in started)
    assert all(process.poll() is not None for process in started)


def test_failed_process_is_reported_with_its_last_words(tmp_path: Path) -> None:
    with ProcessGroup(tmp_path) as group:
        group.start("node", [sys.executable, "-c", "raise SystemExit('no URDF')"]).wait()
        with pytest.raises(InertialEstimationError, match="node ended with code 1: no URDF"):
            group.check()
