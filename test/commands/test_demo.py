"""The demo end to end: four live nodes over DDS in lockstep hold what Talos was handed."""

import json
import os
import re
import signal
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from inertial_estimation.commands import demo as demo_command
from inertial_estimation.commands.demo import ANSWERING, SIMULATION, DemoRun
from inertial_estimation.commands.processes import ProcessGroup
from inertial_estimation.errors import InertialEstimationError
from inertial_estimation.replay.payload_response import PayloadScene
from inertial_estimation.signals import LinkInertia
from inertial_estimation.simulation.config import FALLEN, RELEASED_AT

SCENE = PayloadScene("elbow", -1.3, "forearm", 5.0, 2.0, 1.0, 4.0)
RELEASED = 1.5


def test_demo_holds_the_weight_with_adaptation_and_sags_without() -> None:
    """Judges the files of the demo that .ci/run has run, `output.txt` with what it has printed among them."""
    made = os.environ.get("INERTIAL_ESTIMATION_DEMO")
    if not made:
        pytest.skip("judges the demo of .ci/run; by hand: INERTIAL_ESTIMATION_DEMO=FOLDER of `demo --output`")
    results = Path(made)
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


class Listened:
    """What a run of the demo hears, in place of live nodes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self._now = 100.0
        monkeypatch.setattr(demo_command.time, "monotonic", lambda: self._now)
        monkeypatch.setattr(DemoRun, "_start", lambda _run, _node: None)
        self.run = DemoRun(SCENE, adaptation=True, domain_id=7)
        self.record = self.run._record
        self.run._processes, self.run._listener = ProcessGroup(folder), self

    def take(self) -> None:
        self.record.reports.update(ANSWERING)

    def hears(self, until_s: float) -> None:
        """Let robot and filter report up to a time since the release; a second passes."""
        stamp_ns = round((RELEASED + until_s) * 1e9)
        self.record.facts[SIMULATION, RELEASED_AT] = str(RELEASED)
        self.record.joints.setdefault(SCENE.joint, []).append((stamp_ns, SCENE.home))
        inertia = LinkInertia(SCENE.link, 2.0, np.zeros(3), np.eye(3))
        self.record.inertias.setdefault(SCENE.link, []).append((stamp_ns, inertia))
        self._now += 1.0
        self.run.poll()


@pytest.fixture
def listened(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Listened:
    return Listened(monkeypatch, tmp_path)


def test_a_run_to_its_end_says_what_its_nodes_complain_of(listened: Listened) -> None:
    listened.hears(3.0)
    assert not listened.run.over
    listened.record.complaints["tilt_observer: imu/data"] = "readings dropped"
    listened.hears(4.1)
    assert listened.run.over
    assert listened.run.ended_early == ""
    assert "elbow 0.0 deg off" in listened.run.progress()
    assert listened.run.facts()["complaints"] == ["tilt_observer: imu/data: readings dropped"]


def test_a_run_that_ends_early_says_why(listened: Listened) -> None:
    listened.hears(3.0)
    listened.record.facts[SIMULATION, FALLEN] = "true"
    listened.hears(3.2)
    assert listened.run.over
    assert listened.run.ended_early == "the robot fell, 3.2 s after its release"


def test_a_run_whose_time_has_passed_has_ended_early(listened: Listened) -> None:
    while not listened.run.over:
        listened.hears(2.0)
    assert listened.run.ended_early == "ended 2.0 of 4 s after the release"


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("raise SystemExit('no URDF')", "node ended with code 1: no URDF"),
        ("pass", "node ended with code 0: it has printed nothing"),
    ],
)
def test_ended_process_is_reported_with_its_last_words(tmp_path: Path, program: str, expected: str) -> None:
    with ProcessGroup(tmp_path) as group:
        group.start("node", [sys.executable, "-c", program]).wait()
        with pytest.raises(InertialEstimationError, match=expected):
            group.check()


def test_processes_told_to_end_are_waited_for_at_the_end_alone(tmp_path: Path) -> None:
    sleeper = [sys.executable, "-c", "import time; time.sleep(60)"]
    stubborn = "import signal, time; signal.signal(signal.SIGTERM, lambda *_: print('told', flush=True))"
    with ProcessGroup(tmp_path, patience_s=0.3) as group:
        other = group.start("sleeper", sleeper)
        process = group.start(
            "stubborn", [sys.executable, "-u", "-c", f"{stubborn}; print('up'); time.sleep(60)"]
        )
        while "up" not in group.output():
            time.sleep(0.01)
        group.check()
        begin = time.monotonic()
        group.terminate()
        assert time.monotonic() - begin < 0.2
        while "told" not in group.output():
            time.sleep(0.01)
        assert process.poll() is None
    assert (other.poll(), process.poll()) == (-signal.SIGTERM, -signal.SIGKILL)
    assert group.output().count("told") == 1
