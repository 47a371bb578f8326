"""Estimators that the push experiment compares: at rest their errors only fall, as their gains say."""

import math

import numpy as np
import pytest

from inertial_estimation.experiments.benallegue_push import (
    ESTIMATORS,
    INITIAL_ERROR,
    TWO_STAGE_BETA,
    TWO_STAGE_PAPER,
    estimate_tilt,
    tilt_error,
)
from inertial_estimation.experiments.pushed_biped import BIPED, PushRecord


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
