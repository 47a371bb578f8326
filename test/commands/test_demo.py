"""The demo end to end: four live nodes over DDS in lockstep hold what Talos was handed."""

import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from inertial_estimation.commands.processes import ProcessGroup
from inertial_estimation.errors import InertialEstimationError

pytest.importorskip("example_robot_data")


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Files of a demo, `output.txt` with what it has printed among them; .ci/run has run one already."""
    made = os.environ.get("INERTIAL_ESTIMATION_DEMO")
    if made:
        return Path(made)
    for package in ("rclpy", "mujoco", "proxsuite"):
        pytest.importorskip(package)
    command = [sys.executable, "-m", "inertial_estimation.commands.main", "demo", "--no-live"]
    root = Path(__file__).resolve().parents[2]
    arguments = ["--duration", "2.6", "--output", str(tmp_path)]
    if importlib.util.find_spec("rerun") is not None:
        arguments += ["--rrd", str(tmp_path / "demo.rrd")]
    ended = subprocess.run(
        [*command, *arguments], cwd=root, capture_output=True, text=True, timeout=240, check=False
    )
    assert ended.returncode == 0, ended.stderr
    (tmp_path / "output.txt").write_text(ended.stdout)
    return tmp_path


def test_demo_holds_the_weight_with_adaptation_and_sags_without(results: Path) -> None:
    without, adapted = json.loads((results / "demo.json").read_text())["runs"]
    assert (without["adaptation"], adapted["adaptation"]) == (False, True)
    assert without["elbow_error_at_end_rad"] > 0.3
    assert abs(adapted["elbow_error_at_end_rad"]) < 0.1
    for run in (without, adapted):
        assert abs(run["mass_error_at_end"]) < 0.05
        assert (run["fallen"], run["command_timeouts"]) == (False, 0)
    printed = (results / "output.txt").read_text()
    assert all(re.search(rf"^ +{name} .*$", printed, re.MULTILINE) for name in ("off", "on"))
    assert (results / "demo.png").stat().st_size > 10_000
    if (results / "demo.rrd").exists():
        entities = entities_of(results / "demo.rrd")
        for run in ("with", "without"):
            robot = {
                f"/{run}_adaptation/{part}" for part in ("base", "forces/left_foot", "gravity/estimated")
            }
            assert robot | {f"/series/elbow/{run}\\ adaptation\\ elbow"} <= entities


def entities_of(recording: Path) -> set[str]:
    from rerun.chunk import RrdReader

    return set(RrdReader(recording).store().schema().entity_paths())


def test_demo_needs_time_for_the_weight() -> None:
    from inertial_estimation.commands.main import main

    assert main(["demo", "--duration", "0.5"]) == 1


def test_processes_are_ended_on_the_way_out(tmp_path: Path) -> None:
    sleeper = [sys.executable, "-c", "import time; time.sleep(60)"]
    stubborn = [
        sys.executable,
        "-c",
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
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


def test_processes_told_to_end_are_not_waited_for_until_the_end(tmp_path: Path) -> None:
    stubborn = "import signal, time; signal.signal(signal.SIGTERM, lambda *_: print('told', flush=True))"
    with ProcessGroup(tmp_path, patience_s=0.3) as group:
        process = group.start(
            "stubborn", [sys.executable, "-u", "-c", f"{stubborn}; print('up'); time.sleep(60)"]
        )
        while "up" not in group.output():
            time.sleep(0.01)
        begin = time.monotonic()
        group.terminate()
        assert time.monotonic() - begin < 0.2
        while "told" not in group.output():
            time.sleep(0.01)
        assert process.poll() is None
    assert process.poll() == -signal.SIGKILL
    assert group.output().count("told") == 1
