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

from inertial_estimation.commands.demo import PayloadScene, response_from_record
from inertial_estimation.commands.processes import ProcessGroup
from inertial_estimation.errors import InertialEstimationError
from inertial_estimation.recordings.watch_record import LiveRecord


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
    assert (results / "demo.html").stat().st_size > 10_000


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


SCENE = PayloadScene(
    "elbow", home=-1.0, link="forearm", payload=5.0, nominal_mass=2.0, time_s=1.0, duration_s=4.0
)
RELEASED = 7_000_000_000


def record(offset: float, mass: float) -> LiveRecord:
    """A second before the release to two after the end; the elbow is off from the weight on."""
    heard = LiveRecord()
    stamps = [RELEASED + round(t * 1e9) for t in np.arange(-1.0, 6.0, 0.01)]
    late = RELEASED + round(SCENE.time_s * 1e9)
    heard.positions = [(s, SCENE.home + offset * (s >= late)) for s in stamps]
    heard.masses = [(s, mass) for s in stamps]
    return heard


def test_numbers_of_a_constant_error() -> None:
    response = response_from_record(record(0.25, 6.3), SCENE, adaptation=True, released_ns=RELEASED)
    assert response.t[0] == pytest.approx(0.0, abs=0.011)
    assert response.t[-1] == pytest.approx(4.0, abs=0.011)
    numbers = response.numbers(SCENE)
    assert numbers["elbow_rmse_rad"] == pytest.approx(0.25)
    assert numbers["elbow_error_at_end_rad"] == pytest.approx(0.25)
    assert numbers["largest_elbow_error_rad"] == pytest.approx(0.25)
    assert numbers["mass_error_at_end"] == pytest.approx(-0.1)
    np.testing.assert_allclose(response.mass, 6.3)
