"""Startup calibration: mean of the residual at rest, once, afresh each time."""

import numpy as np

from inertial_estimation.inertial.estimator import ResidualBias
from inertial_estimation.signals import Decision

DT = 0.01


def calibrated(bias, offset, rng):
    bias.start()
    status = Decision.CALIBRATING
    for _ in range(1000):
        status = bias.feed(offset + rng.normal(0, 0.1, len(offset)), DT, at_rest=True)
        if status is Decision.CALIBRATED:
            return bias.bias.copy()
    raise AssertionError(status)


def test_the_bias_is_the_mean_residual_at_rest_whatever_a_calibration_before_has_found():
    offset, rng = np.array([1.0, -2.0, 3.0, 0.0]), np.random.default_rng(0)
    bias = ResidualBias(4)
    for true in (offset, np.full(4, 50.0), offset):
        assert np.allclose(calibrated(bias, true, rng), true, atol=5 * 0.1 / np.sqrt(200))
        assert not bias.active
    bias.reset()
    assert not bias.bias.any()
    assert not bias.active


def test_motion_is_waited_out():
    bias = ResidualBias(1)
    bias.start()
    for k in range(1000):
        assert bias.feed(np.array([100.0]), DT, at_rest=k % 100 > 0) is not Decision.CALIBRATED
    while bias.active:
        bias.feed(np.array([2.0]), DT, at_rest=True)
    assert 2.0 < bias.bias[0] < 100.0
