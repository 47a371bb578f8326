"""`simulate`: a bag of what the sensors of a standing robot delivered, replayed as any other."""

import json
from pathlib import Path

import numpy as np
import pytest

from inertial_estimation.closed_loop.robot_loop import RobotLoop
from inertial_estimation.commands.main import main
from inertial_estimation.recordings.recording import BagRecording
from inertial_estimation.signals import JointReading
from inertial_estimation.simulation.disturbances import parse_disturbance

BALL = "{kind: ball, link: base, mass: 2, at: [0.05, 0, 0.1], start: 0}"
HOIST_S, STANDING_S = 0.4, 0.7


@pytest.fixture(scope="module")
def bag(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("simulated") / "bag"
    times = ["--hoist", str(HOIST_S), "--duration", str(STANDING_S)]
    given = ["simulate", "--config", "go2", "--disturbance", BALL, *times, "--seed", "4"]
    assert main([*given, "--output", str(path)]) == 0
    return path


def test_bag_holds_the_readings_of_the_loop_from_the_hoist_on(bag: Path) -> None:
    loop = RobotLoop("go2").build(disturbances=[parse_disturbance(BALL)], adaptation=False, seed=4)
    loop.release(HOIST_S)
    loop.run(STANDING_S)
    with BagRecording(bag) as recording:
        samples = [entry.sample for entry in recording.entries(["/joint_states"])]
    assert len(samples) == pytest.approx(1000 / 3 * (HOIST_S + STANDING_S), rel=0.02)
    last = next(s for s in reversed(samples) if isinstance(s, JointReading))
    assert loop.readings is not None
    assert loop.readings.joints is not None
    assert last.stamp_ns == loop.readings.joints.stamp_ns
    assert last.effort is not None
    # two loops of one process differ by rounding (1e-10); their noise is 0.3 Nm
    np.testing.assert_allclose(last.effort, loop.readings.joints.effort, rtol=0.0, atol=1e-5)


def test_truth_is_the_loaded_link(bag: Path) -> None:
    truth = json.loads((bag / "truth.json").read_text())["links_at_the_end"]["base"]
    assert truth["mass"] == pytest.approx(7.277 + 2.0, abs=1e-6)


def test_replay_of_it_sees_the_load_and_says_that_it_ended_too_soon(
    bag: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["replay", str(bag), "--config", "go2", "--output", str(tmp_path), "--no-figures"]) == 0
    said = capsys.readouterr().out
    assert "loaded: trunk 7.28 -> " in said
    assert "identification under way (contact_forces" in said
    metrics = json.loads((tmp_path / "metrics.json").read_text())
    assert metrics["load_changes"][0]["kind"] == "loaded"
