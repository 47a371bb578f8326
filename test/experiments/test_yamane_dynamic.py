"""TALOS moves its arms: what is simulated is symmetric and stands, and the fits are what they are called."""

import math

import numpy as np
import pinocchio as pin
import pytest

pytest.importorskip("mujoco")
pytest.importorskip("proxsuite")
pytest.importorskip("example_robot_data")

from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.experiments.registry import find_experiment
from inertial_estimation.experiments.result import ExperimentResult
from inertial_estimation.experiments.yamane_dynamic import UpperBodyMotion
from inertial_estimation.models.joint_limits import joint_limits
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.models.urdf_inertia import mirrored_urdf, perturbed_urdf

pytestmark = pytest.mark.experiment


@pytest.fixture(scope="module")
def urdf() -> str:
    return read_urdf("example-robot-data:talos_reduced")


@pytest.fixture(scope="module")
def result() -> ExperimentResult:
    return find_experiment("yamane-dynamic").run([0], quick=True)


def rows_of(result: ExperimentResult) -> dict[str, float]:
    return {row.quantity: row.ours for row in result.rows}


def test_bounds_keep_masses_positive_and_nothing_else_does(result: ExperimentResult) -> None:
    rows = rows_of(result)
    assert rows["negative masses, least squares without truncation, fewest of all sets"] >= 1
    assert rows["smallest mass, bounded gradient, all sets and limits"] > 0.0
    for name in ("L", "LS"):
        assert math.isnan(rows[f"{name}: least-squares, no truncation, direct, cost / nominal"])
        assert rows[f"{name}: bounded-gradient, no truncation, direct, cost / nominal"] < 1.0


def test_truth_predicts_the_sensors_better_than_the_description(result: ExperimentResult) -> None:
    rows = rows_of(result)
    shares = [value for name, value in rows.items() if "true parameters, cost / nominal" in name]
    assert len(shares) == 2 * 3
    assert max(shares) < 0.5


def test_vertical_force_finds_the_whole_mass(result: ExperimentResult) -> None:
    rows = rows_of(result)
    nominal, found = (
        rows[f"L: error of the total mass: {which}"]
        for which in ("nominal", "bounded-gradient, no truncation")
    )
    assert found < 0.5 * nominal
    assert [panel.title.split(",")[0] for panel in result.panels] == ["Root"] * 4 + ["Left knee"] * 2


def test_mirrored_robot_weighs_the_same_on_both_sides(urdf: str) -> None:
    text = perturbed_urdf(urdf, np.random.default_rng(1), mass_sigma=0.1, com_sigma=0.01)
    deviating, model = (RobotModel.from_urdf(t).model for t in (text, mirrored_urdf(text)))
    data = model.createData()
    pin.forwardKinematics(model, data, pin.neutral(model))
    for name in (name for name in model.names if "left" in name):
        left_id, right_id = model.getJointId(name), model.getJointId(name.replace("left", "right"))
        np.testing.assert_allclose(
            model.inertias[left_id].toDynamicParameters(),
            deviating.inertias[left_id].toDynamicParameters(),
        )
        left, right = (data.oMi[j].act(model.inertias[j]) for j in (left_id, right_id))
        assert right.mass == pytest.approx(left.mass)
        S = np.diag([1.0, -1.0, 1.0])
        np.testing.assert_allclose(right.lever, S @ left.lever, atol=1e-3)  # frames are rounded
        np.testing.assert_allclose(right.inertia, S @ left.inertia @ S, atol=1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_motions_stay_within_the_limits_and_differ(urdf: str, seed: int) -> None:
    robot, rng = RobotModel.from_urdf(urdf), np.random.default_rng(seed)
    one, other = (UpperBodyMotion.draw(robot, np.zeros(robot.n_joints), rng, 2.0) for _ in range(2))
    assert len(one.joints) == 18
    picked, limits = [robot.joint_index(name) for name in one.joints], joint_limits(robot)
    q = one.joint_sines.at(np.arange(0.0, 30.0, 0.05))[0]
    assert (q > limits.lower[picked]).all()
    assert (q < limits.upper[picked]).all()
    assert (np.ptp(q, axis=0) > 0.2).all()
    assert np.abs(q - other.joint_sines.at(np.arange(0.0, 30.0, 0.05))[0]).max() > 0.3
