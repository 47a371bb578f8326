"""TALOS on its own estimate: the motions are those asked for, and what is recorded means what it says."""

import math

import numpy as np
import pytest

pytest.importorskip("mujoco")
pytest.importorskip("proxsuite")
pytest.importorskip("example_robot_data")

from inertial_estimation.experiments.registry import find_experiment
from inertial_estimation.experiments.result import ExperimentResult
from inertial_estimation.figures import Series

pytestmark = pytest.mark.experiment


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
