"""`synthesize` and `simulate`: bags of robots that follow a motion or stand, as their sensors delivered."""

import json
from pathlib import Path

import numpy as np
import pytest

from inertial_estimation.closed_loop.robot_loop import RobotLoop
from inertial_estimation.commands.main import main
from inertial_estimation.models.joint_trajectory import JointTrajectory
from inertial_estimation.recordings.recording import BagRecording
from inertial_estimation.recordings.trajectory_files import write_trajectory_csv
from inertial_estimation.signals import JointReading
from inertial_estimation.simulation.disturbances import parse_disturbance

PARAMETERS = """
/**:
  ros__parameters:
    joint_offsets: {joints: [panda_joint2], values: [0.25]}
    nominal_friction: {joints: [panda_joint4], terms: [coulomb], values: [3.0], smoothing_speed: 0.001}
"""


@pytest.fixture
def arm_on_a_trajectory(tmp_path: Path) -> tuple[JointTrajectory, dict[str, list[JointReading]]]:
    """A Panda follows a swing of one joint; with nothing, and with offset and friction."""
    t = np.linspace(0.0, 2.0, 41)
    q, v, a = 1.0 - np.cos(np.pi * t), np.pi * np.sin(np.pi * t), np.pi**2 * np.cos(np.pi * t)
    still, middle = np.zeros_like(t), np.full_like(t, -1.5)
    columns = [
        np.column_stack(pair) for pair in ((still, middle - 0.2 * q), (still, -0.2 * v), (still, -0.2 * a))
    ]
    trajectory = JointTrajectory(("panda_joint2", "panda_joint4"), t, *columns)
    write_trajectory_csv(tmp_path / "swing.csv", trajectory)
    (tmp_path / "truth.yaml").write_text(PARAMETERS)
    found = {}
    for name, more in (("plain", []), ("rubbing", ["--config", str(tmp_path / "truth.yaml")])):
        options = ["--trajectory", str(tmp_path / "swing.csv"), "--noise-free", "--payload-time", "-1"]
        bag = tmp_path / name
        assert main(["synthesize", "panda", *options, "--rate", "20", *more, "--output", str(bag)]) == 0
        with BagRecording(bag) as recording:
            found[name] = [entry.sample for entry in recording.entries(["/joint_states"])]
    return trajectory, found


def test_synthesize_follows_a_trajectory_with_a_rest_on_either_side(arm_on_a_trajectory) -> None:
    trajectory, found = arm_on_a_trajectory
    names = found["plain"][0].names
    q = np.array([reading.position for reading in found["plain"]])
    v = np.array([reading.velocity for reading in found["plain"]])
    joints = [names.index(name) for name in trajectory.joint_names]
    np.testing.assert_allclose(q[20:60, joints], trajectory.q[:40], atol=1e-9)
    np.testing.assert_allclose(v[20:60, joints], trajectory.v[:40], atol=1e-9)
    assert not v[:20].any()
    others = [i for i in range(len(names)) if i not in joints]
    assert not np.ptp(q[:, others], axis=0).any()


def test_synthesized_readings_have_the_offsets_and_the_friction_of_the_file(arm_on_a_trajectory) -> None:
    _trajectory, found = arm_on_a_trajectory
    names = found["plain"][0].names
    change = [
        np.array([getattr(r, field) for r in found["rubbing"]]) - [getattr(r, field) for r in found["plain"]]
        for field in ("position", "effort")
    ]
    offset, friction = (
        c[:, names.index(j)] for c, j in zip(change, ("panda_joint2", "panda_joint4"), strict=True)
    )
    np.testing.assert_allclose(offset, -0.25, atol=1e-12)
    assert np.count_nonzero(change[0].any(axis=0)) == np.count_nonzero(change[1].any(axis=0)) == 1
    np.testing.assert_allclose(friction[22:38], -3.0, atol=1e-6)
    np.testing.assert_allclose(friction[42:58], 3.0, atol=1e-6)
    assert not friction[:20].any()


def test_only_an_arm_follows_a_trajectory(tmp_path: Path, refused) -> None:
    still = np.zeros((3, 1))
    trajectory = JointTrajectory(("arm_left_1_joint",), np.arange(3.0), still, still, still)
    write_trajectory_csv(tmp_path / "swing.csv", trajectory)
    options = ["--trajectory", tmp_path / "swing.csv", "--output", tmp_path / "bag"]
    assert "fixed base alone" in refused("synthesize", "talos", *options)


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
    assert last.stamp_ns == loop.readings.joints.stamp_ns
    # two loops of one process differ by rounding (1e-10); their noise is 0.3 Nm
    np.testing.assert_allclose(last.effort, loop.readings.joints.effort, rtol=0.0, atol=1e-5)


def test_truth_is_the_loaded_link(bag: Path) -> None:
    truth = json.loads((bag / "truth.json").read_text())["links_at_the_end"]["base"]
    assert truth["mass"] == pytest.approx(7.277 + 2.0, abs=1e-6)


def test_replay_of_it_sees_the_load_and_says_that_it_ended_too_soon(bag: Path, tmp_path: Path, ran) -> None:
    said = ran("replay", bag, "--config", "go2", "--output", tmp_path, "--no-figures").out
    assert "loaded: trunk 7.28 -> " in said
    assert "identification under way (contact_forces" in said
    metrics = json.loads((tmp_path / "metrics.json").read_text())
    assert metrics["load_changes"][0]["kind"] == "loaded"
