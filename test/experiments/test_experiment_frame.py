"""Experiments: what a bound means, what table and file say, how they are run; their estimators and robots."""

import json
import math
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from inertial_estimation.commands.experiment import experiment_page
from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.errors import MissingDependencyError
from inertial_estimation.experiments.benallegue_push import (
    ESTIMATORS,
    INITIAL_ERROR,
    TWO_STAGE_BETA,
    TWO_STAGE_PAPER,
    estimate_tilt,
)
from inertial_estimation.experiments.pushed_biped import BIPED, PushRecord
from inertial_estimation.experiments.registry import EXPERIMENTS, Experiment, find_experiment
from inertial_estimation.experiments.result import (
    ExperimentResult,
    Trials,
    result_document,
    row,
)
from inertial_estimation.experiments.tournois_leg import disturbed_leg, record_swing, swing
from inertial_estimation.figures import Panel, Series
from inertial_estimation.files.outputs import write_json
from inertial_estimation.models.joint_limits import joint_limits
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.replay.metrics import angles_between
from inertial_estimation.signals import Array
from inertial_estimation.simulation.config import NOISE_FREE

EXPERIMENT = Experiment("falling-apple", "Newton, Fig. 1", "an apple falls", "no.such.module:apple")


def result() -> ExperimentResult:
    """Bounds at, above and below what was found, by every summary of two values."""
    two = [1.0, 3.0]
    rows = (
        row("fall time", "s", [0.9, 1.1], paper=1.25, bound="<= 1, aim < 1"),
        row("apples", "", 2.0, bound="== 1"),
        row("least", "", two, "min", bound=">= 1"),
        row("largest", "", two, "max", bound="> 3"),
        row("middle", "", two, "median", bound="== 2"),
        row("all", "", two, "sum", bound="aim >= 5"),
        row("never settled", "s", [math.nan, 1.0], "max", bound="< 9"),
    )
    return ExperimentResult(seeds=(0, 1), rows=rows, facts=("it was windy",))


def test_table_and_file_have_every_number_and_mark_each_missed_bound_and_aim(tmp_path: Path) -> None:
    page = experiment_page(EXPERIMENT, result(), quick=False)
    table, facts = (section.parts[0] for section in page.sections)
    time = [cell if isinstance(cell, str) else cell.words for cell in table.rows[0]]
    assert time == ["fall time", "1.25", "1", "0.1", "s", "<= 1 met", "< 1 NOT MET"]
    assert page.lead == result().verdict
    assert "3 of 6 bounds NOT MET: apples; largest; never settled" in result().verdict
    assert facts.sentences == ("it was windy",)
    path = write_json(
        tmp_path / "apple.json", result_document("falling-apple", "Newton, Fig. 1", result(), {})
    )
    read = json.loads(path.read_text(encoding="utf-8"))
    assert (read["seeds"], read["bounds_met"]) == ([0, 1], False)
    columns = ("ours", "bound_met", "aim_met")
    assert [tuple(entry[name] for name in columns) for entry in read["table"]] == [
        (1.0, True, False),
        (2.0, False, None),
        (1.0, True, None),
        (3.0, False, None),
        (2.0, True, None),
        (4.0, None, False),
        (None, False, None),
    ]
    assert read["table"][6]["values"] == [None, 1.0]


def test_missing_package_is_named_with_what_to_install() -> None:
    with pytest.raises(MissingDependencyError, match=r"needs the Python package 'no'; pip install"):
        EXPERIMENT.run([0])


def seeded(trials: Trials) -> ExperimentResult:
    """Return the seeds as the values of a row."""
    found = trials.results([partial(float, seed) for seed in trials.seeds])
    panel = Panel("seeds", "place [-]", "seed [-]", (Series("", np.arange(len(found)), np.array(found)),))
    return ExperimentResult(trials.seeds, [row("largest seed", "", found, "max")], panels=[panel])


def test_experiment_gets_seeds_and_reports_its_progress() -> None:
    reported: list[tuple[str, float]] = []
    experiment = Experiment("seeds", "", "", f"{__name__}:seeded")
    made = experiment.run([3, 4], lambda what, share: reported.append((what, share)))
    assert (made.seeds, made.rows[0].ours, made.rows[0].values) == ((3, 4), 4.0, (3.0, 4.0))
    np.testing.assert_array_equal(made.panels[0].series[0].y, [3.0, 4.0])
    counted = [("0 of 2 runs", 0.0), ("1 of 2 runs", 0.5), ("2 of 2 runs", 1.0)]
    assert reported == [*counted, ("done", 1.0)]
    assert experiment.run([3, 4], quick=True).seeds == (3,)


def test_every_registered_experiment_can_be_loaded() -> None:
    pytest.importorskip("mujoco")
    pytest.importorskip("proxsuite")
    assert all(callable(experiment.load()) for experiment in EXPERIMENTS)


def test_experiments_load_the_build_without_wide_vectors() -> None:
    code = (
        "import sys, inertial_estimation.experiments, proxsuite\n"
        "assert 'proxsuite.proxsuite_pywrap' in sys.modules\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr


OTHERS = ("lf_*", "rf_*", "lh_*")


@pytest.fixture(scope="module")
def urdf() -> str:
    return read_urdf("example-robot-data:hyq_no_sensors")


@pytest.fixture(scope="module")
def leg(urdf: str) -> RobotModel:
    return RobotModel.from_urdf(urdf, floating_base=False, locked_joints=OTHERS)


@pytest.fixture(scope="module")
def leg_result() -> ExperimentResult:
    return find_experiment("tournois-leg").run([1], quick=True)


def random_regressor(leg: RobotModel) -> Array:
    """Rows of Pinocchio's own regressor at states that no motion connects."""
    rng, data = np.random.default_rng(0), leg.model.createData()
    rows = [
        pin.computeJointTorqueRegressor(leg.model, data, *rng.uniform(-1.5, 1.5, (3, 3))) for _ in range(60)
    ]
    return np.vstack(rows)


def test_rank_is_that_of_the_leg_at_any_states(leg: RobotModel, leg_result: ExperimentResult) -> None:
    rank = np.linalg.matrix_rank(random_regressor(leg), tol=1e-8)
    rows = {row.quantity: row.ours for row in leg_result.rows}
    assert rows["rank, of 30 parameters"] == rank
    identifiable = [rows[f"parameters identifiable {how}"] for how in ("individually", "in combination")]
    assert sum(identifiable) + rows["parameters not identifiable, kept"] == 30


def test_identifiable_parameters_are_found_where_the_sensors_are_perfect(leg_result) -> None:
    quiet = [row for row in leg_result.rows if "without noise" in row.quantity and row.bound]
    assert len(quiet) == 2
    assert all(row.bound_met for row in quiet)
    assert all(math.isfinite(row.ours) for row in leg_result.rows)
    assert len(leg_result.panels) == 3


def test_recorded_torques_are_those_of_the_disturbed_leg(urdf: str) -> None:
    draws = np.random.default_rng(4)
    disturbed = disturbed_leg(urdf, draws)
    motion = swing(disturbed.robot, draws)
    block = record_swing(disturbed.robot, motion, 0.04, NOISE_FREE, draws)
    model, data = disturbed.robot.model, disturbed.robot.model.createData()
    assert block.size == 20
    for k, tau in enumerate(block.tau if block.tau is not None else []):
        regressor = pin.computeJointTorqueRegressor(model, data, *motion.at(k / 500.0))
        np.testing.assert_allclose(regressor @ disturbed.parameters.ravel(), tau, atol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_swing_stays_within_the_limits_and_uses_them(leg: RobotModel, seed: int) -> None:
    motion = swing(leg, np.random.default_rng(seed))
    q, limits = motion.at(np.arange(0.0, 180.0, 0.05))[0], joint_limits(leg)
    assert (q > limits.lower).all()
    assert (q < limits.upper).all()
    assert (np.ptp(q, axis=0) > 0.5 * (limits.upper - limits.lower)).all()


@pytest.fixture(scope="module")
def still() -> PushRecord:
    """Three seconds of rest, upright; both feet carry half of 42.6 kg."""
    n = 1500
    wrench = np.zeros((n, 2, 6))
    wrench[:, :, 2] = 0.5 * 42.6 * 9.80665
    force = np.tile([0.0, 0.0, 9.80665], (n, 1))
    up = np.tile([0.0, 0.0, 1.0], (n, 1))
    zeros = np.zeros((n, 12))
    return PushRecord(BIPED.pushes, 0.002 * np.arange(n), force, 0.0 * force, zeros, zeros, wrench, up)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_without_noise_the_error_of_a_robot_at_rest_only_falls(still: PushRecord, name: str) -> None:
    tilts = estimate_tilt(name, still, still.force_I, still.rate_I)
    np.testing.assert_allclose(np.linalg.norm(tilts, axis=1), 1.0, atol=1e-9)
    error = angles_between(tilts, still.tilt_I)
    assert error[0] == pytest.approx(INITIAL_ERROR, rel=1e-3)
    sampled = error[::100]
    assert (np.diff(sampled) < 0.0).all()


def test_undivided_gain_makes_the_first_stage_ten_times_as_fast(still: PushRecord) -> None:
    """The slow root is alpha2 / alpha1: 0.2 1/s as printed, 0.2 g0 with beta = 20; both filtered by gamma."""
    at = [1000, 1400]
    late = {
        name: angles_between(estimate_tilt(name, still, still.force_I, still.rate_I)[at], still.tilt_I[at])
        for name in (TWO_STAGE_PAPER, TWO_STAGE_BETA)
    }
    rates = {name: math.log(error[0] / error[1]) / 0.8 for name, error in late.items()}
    assert rates[TWO_STAGE_PAPER] == pytest.approx(0.2, rel=0.15)
    assert rates[TWO_STAGE_BETA] == pytest.approx(0.2 * 9.80665, rel=0.15)
