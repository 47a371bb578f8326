"""TALOS on its own estimate: the motions are those asked for, and what is recorded means what it says."""

import math

import numpy as np
import pytest

pytest.importorskip("mujoco")
pytest.importorskip("proxsuite")
pytest.importorskip("example_robot_data")

from inertial_estimation.closed_loop.closed_loop import QUICK_HOIST_S, ClosedLoop
from inertial_estimation.closed_loop.robot_loop import RobotLoop
from inertial_estimation.experiments.benallegue_loop import Lean, balance_run, steps_landed
from inertial_estimation.experiments.registry import find_experiment
from inertial_estimation.experiments.result import ExperimentResult
from inertial_estimation.figures import Series
from inertial_estimation.simulation.config import NOISE_FREE


@pytest.fixture(scope="module")
def result() -> ExperimentResult:
    return find_experiment("benallegue-loop").run([5, 6], quick=True)


def curve_of(result: ExperimentResult, title: str, label: str) -> Series:
    panel = next(panel for panel in result.panels if panel.title.startswith(title))
    return next(curve for curve in panel.series if curve.label == label)


def test_quick_run_takes_one_seed_keeps_the_bounds_and_every_number_is_finite(
    result: ExperimentResult,
) -> None:
    assert result.seeds == (5,)
    assert all(math.isfinite(row.ours) for row in result.rows)
    assert [row.quantity for row in result.missed] == []
    assert len([row for row in result.rows if row.bound is not None]) == 5


def test_chest_leans_forward_and_comes_back_and_the_estimate_follows(result: ExperimentResult) -> None:
    true = curve_of(result, "Vertical in the base, lean", "true")
    estimate = curve_of(result, "Vertical in the base, lean", "estimate, x")
    lean = np.degrees(np.arcsin(-true.y))
    assert 23.0 < lean.max() < 27.0
    assert abs(lean[-1]) < 1.0
    np.testing.assert_allclose(estimate.y, true.y, atol=math.radians(1.0))
    assert np.abs(estimate.y - true.y).max() > 1e-5  # it is an estimate


def test_feet_take_turns_in_carrying_the_robot(result: ExperimentResult) -> None:
    left = curve_of(result, "True vertical forces, walk", "left foot").y
    right = curve_of(result, "True vertical forces, walk", "right foot").y
    assert left.min() < 10.0
    assert right.min() < 10.0
    weight = np.median(left + right)
    assert weight == pytest.approx(9.80665 * 90.3, rel=0.02)  # TALOS (talos_reduced)
    assert (np.maximum(left, right) > 0.4 * weight).mean() > 0.95


def test_rows_of_the_true_base_state_stand_beside(result: ExperimentResult) -> None:
    rows = {row.quantity: row.ours for row in result.rows}
    name = "tilt of the pelvis against its reference, rms"
    assert rows[f"walk, true base state: {name}"] < rows[f"walk: {name}"]
    assert not any("true base state: tilt error" in quantity for quantity in rows)


def test_lean_goes_there_and_back_and_its_rate_is_its_derivative() -> None:
    lean = Lean(0.4, begin_s=1.0, moving_s=2.0)
    times = np.linspace(0.5, 3.5, 301)
    pitch = np.array([lean.pitch(t)[0] for t in times])
    assert pitch.max() == pytest.approx(0.4)
    assert times[pitch.argmax()] == pytest.approx(2.0)
    assert (pitch[(times < 1.0) | (times > 3.0)] == 0.0).all()
    h = 1e-6
    numeric = [(lean.pitch(t + h)[0] - lean.pitch(t - h)[0]) / (2.0 * h) for t in times]
    np.testing.assert_allclose([lean.pitch(t)[1] for t in times], numeric, atol=1e-6)


def test_bounces_and_what_was_before_are_no_steps() -> None:
    time = np.arange(0.0, 10.0, 0.01)
    force = np.full_like(time, 400.0)

    def lift(begin: float, end: float) -> None:
        force[(time > begin) & (time < end)] = 0.0

    lift(0.2, 0.9)  # before the walk
    lift(2.0, 2.7)
    lift(2.75, 2.8)  # bounce of the same step
    lift(4.0, 4.7)
    lift(9.5, 20.0)  # never lands
    other = np.full_like(time, 400.0)
    other[(time > 6.0) & (time < 6.6)] = 30.0  # unloaded, never in the air
    assert steps_landed(time, [force, other], since=1.0) == 2


class _Watch:
    """Asks for nothing and notes what the controller believes its error to be."""

    duration_s = 0.3

    def __init__(self) -> None:
        self.believed: list[float] = []

    def command(self, loop: ClosedLoop) -> None:
        last = loop.controller.last
        assert last is not None
        self.believed.append(float(np.hypot(*(last.dcm - last.dcm_ref))))


def test_error_of_the_dcm_is_the_controllers_where_it_knows_the_truth() -> None:
    loop = RobotLoop("talos", noise=NOISE_FREE).build(inertial=False)
    loop.tilt = None
    watch = _Watch()
    columns = balance_run(loop, watch, QUICK_HOIST_S).columns
    assert max(watch.believed) > 5e-3
    np.testing.assert_allclose(columns["dcm"], watch.believed, atol=5e-4)
    np.testing.assert_array_equal(columns["tilt"], 0.0)
