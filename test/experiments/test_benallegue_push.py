"""The push experiment: the robot does what the paper says, and the figures of merit mean what they say."""

import math

import numpy as np
import pytest

pytest.importorskip("mujoco")
pytest.importorskip("vqf")

from inertial_estimation.experiments.benallegue_push import tilt_error
from inertial_estimation.experiments.pushed_biped import (
    PUSHES,
    QUICK_PUSHES,
    PushRecord,
)
from inertial_estimation.experiments.registry import find_experiment
from inertial_estimation.experiments.result import ExperimentResult
from inertial_estimation.experiments.tilt_observers import (
    ESTIMATORS,
    INITIAL_ERROR,
    TWO_STAGE_BETA,
    TWO_STAGE_PAPER,
    estimate_tilt,
)
from inertial_estimation.figures import Series

pytestmark = pytest.mark.experiment

FIRST_S, SECOND_S = (time for time, _ in QUICK_PUSHES)


@pytest.fixture(scope="module")
def result() -> ExperimentResult:
    return find_experiment("benallegue-push").run([3, 4], quick=True)


def curve_of(result: ExperimentResult, title: str, label: str) -> Series:
    panel = next(panel for panel in result.panels if panel.title.startswith(title))
    (curve,) = [curve for curve in panel.series if curve.label == label]
    return curve


def test_quick_run_takes_one_seed_and_every_number_is_finite(result: ExperimentResult) -> None:
    assert result.seeds == (3,)
    assert all(math.isfinite(row.ours) for row in result.rows)
    for panel in result.panels:
        for curve in panel.series:
            assert np.isfinite(curve.y).all()


def test_robot_stands_after_the_first_push_and_lies_at_the_end(result: ExperimentResult) -> None:
    vertical = curve_of(result, "Vertical in the IMU frame, z", "truth")
    moments = [FIRST_S - 0.1, FIRST_S + 0.4, SECOND_S - 0.1]
    lean = np.degrees(np.arccos(np.minimum(1.0, np.interp(moments, vertical.x, vertical.y))))
    assert lean[0] < 0.1
    assert lean[1] > 1.0
    assert lean[2] < 0.5
    assert SECOND_S + 0.1 < vertical.x[-1] < SECOND_S + 4.0
    assert vertical.y[-1] < 0.2


@pytest.fixture(scope="module")
def still() -> PushRecord:
    """Three seconds of rest, upright; both feet carry half of 42.6 kg."""
    n = 1500
    wrench = np.zeros((n, 2, 6))
    wrench[:, :, 2] = 0.5 * 42.6 * 9.80665
    force = np.tile([0.0, 0.0, 9.80665], (n, 1))
    up = np.tile([0.0, 0.0, 1.0], (n, 1))
    zeros = np.zeros((n, 12))
    return PushRecord(PUSHES, 0.002 * np.arange(n), force, 0.0 * force, zeros, zeros, wrench, up)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_without_noise_the_error_of_a_robot_at_rest_only_falls(still: PushRecord, name: str) -> None:
    tilts = estimate_tilt(name, still, still.force_I, still.rate_I)
    np.testing.assert_allclose(np.linalg.norm(tilts, axis=1), 1.0, atol=1e-9)
    error = tilt_error(tilts, still.tilt_I)
    assert error[0] == pytest.approx(INITIAL_ERROR, rel=1e-3)
    sampled = error[::100]
    assert (np.diff(sampled) < 0.0).all()


def test_undivided_gain_makes_the_first_stage_ten_times_as_fast(still: PushRecord) -> None:
    """The slow root is alpha2 / alpha1: 0.2 1/s as printed, 0.2 g0 with beta = 20; both filtered by gamma."""
    late = {
        name: tilt_error(estimate_tilt(name, still, still.force_I, still.rate_I), still.tilt_I)[[1000, 1400]]
        for name in (TWO_STAGE_PAPER, TWO_STAGE_BETA)
    }
    rates = {name: math.log(error[0] / error[1]) / 0.8 for name, error in late.items()}
    assert rates[TWO_STAGE_PAPER] == pytest.approx(0.2, rel=0.15)
    assert rates[TWO_STAGE_BETA] == pytest.approx(0.2 * 9.80665, rel=0.15)
