"""The push experiment: the robot does what the paper says, and the figures of merit mean what they say."""

import math

import numpy as np
import pytest

pytest.importorskip("mujoco")
pytest.importorskip("vqf")

from inertial_estimation.experiments.benallegue_push import COMPARED, DRAWN, settling_time, tilt_error
from inertial_estimation.experiments.pushed_biped import (
    FORCE_NOISE,
    GYRO_NOISE,
    PUSHES,
    QUICK_PUSHES,
    PushRecord,
)
from inertial_estimation.experiments.registry import find_experiment
from inertial_estimation.experiments.result import ExperimentResult
from inertial_estimation.experiments.tilt_observers import (
    ESTIMATORS,
    INITIAL_ERROR,
    OTHERS,
    TWO_STAGE,
    TWO_STAGE_BETA,
    TWO_STAGE_PAPER,
    estimate_tilt,
)
from inertial_estimation.figures import Series

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


@pytest.mark.parametrize("name", DRAWN)
def test_every_estimator_begins_with_the_same_error(result: ExperimentResult, name: str) -> None:
    begin = curve_of(result, "Error", name).y[0]
    assert begin == pytest.approx(math.degrees(INITIAL_ERROR), abs=0.1)


def test_bound_compares_the_printed_means(result: ExperimentResult) -> None:
    values = {row.quantity: row.ours for row in result.rows}
    others = [values[f"rms, whole run: {name}"] for name in OTHERS]
    ratio = values[f"rms, whole run: {TWO_STAGE} / best other"]
    assert ratio == pytest.approx(values[f"rms, whole run: {TWO_STAGE}"] / min(others))
    assert len([row for row in result.rows if row.bound is not None]) == 2


def test_verdict_names_all_outside_the_bounds_who_beat_ours(result: ExperimentResult) -> None:
    values = {row.quantity: row.ours for row in result.rows}
    said = result.verdict
    outside = set(ESTIMATORS) - {TWO_STAGE, *OTHERS}
    for quantity in COMPARED:
        named = said.split(f"in {quantity} by ")[1].split(", and in ")[0].split("; ")
        ours = values[f"{quantity}: {TWO_STAGE}"]
        assert set(named) == {name for name in outside if values[f"{quantity}: {name}"] < ours}


def test_at_the_end_of_the_fall_the_toe_is_still_the_anchor(result: ExperimentResult) -> None:
    error = curve_of(result, "Error in the fall", TWO_STAGE)
    lying = error.y[
        error.x > SECOND_S + 0.8
    ]  # the force lies in the plane of the soles: no centre of pressure
    assert len(lying) > 20
    assert lying.max() < 1.5


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


def test_noise_is_white_with_the_papers_deviations(still: PushRecord) -> None:
    force, rate = still.noisy_imu(np.random.default_rng(0))
    assert np.std(force - still.force_I) == pytest.approx(FORCE_NOISE, rel=0.05)
    assert np.std(rate - still.rate_I) == pytest.approx(GYRO_NOISE, rel=0.05)
    again, _ = still.noisy_imu(np.random.default_rng(0))
    np.testing.assert_array_equal(force, again)


def test_settling_is_the_last_crossing_before_the_end() -> None:
    time = np.arange(10.0)
    error = np.array([5.0, 0.5, 3.0, 0.5, 0.5, 0.5, 0.5, 0.5, 9.0, 0.5])
    assert settling_time(time, error, 1.0, until=8.0) == 3.0  # neither the dip at 1 nor what comes at 8
    assert math.isnan(settling_time(time, error, 1.0, until=9.0))
    assert settling_time(time, 0.1 * error, 1.0, until=8.0) == 0.0


def test_error_is_the_angle_even_where_it_is_tiny_or_opposite() -> None:
    a = np.array([[0.0, 0.0, 1.0]] * 3)
    angle = np.array([1e-9, 0.3, np.pi])
    b = np.stack([np.sin(angle), 0.0 * angle, np.cos(angle)], axis=1)
    np.testing.assert_allclose(tilt_error(a, b), angle, rtol=1e-6)
