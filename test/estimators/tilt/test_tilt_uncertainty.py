"""Variances of tilt and yaw over days without what would observe them."""

import math

import numpy as np
import pytest

from inertial_estimation.estimators.tilt.tilt_uncertainty import (
    TILT,
    UNKNOWN_TILT,
    UNKNOWN_YAW,
    YAW,
    TiltUncertainty,
    UncertaintyConfig,
    advance_variances,
    rotation_covariance,
)

H = 10.0  # step [s]
CONFIG = UncertaintyConfig()


def advanced(duration, *, rate=0.0, bias=0.0, config=CONFIG):
    """Variances after a time without a reference, and at the end of every step before it."""
    state = TiltUncertainty(config).row
    found = []
    for _ in range(round(duration / H)):
        advance_variances(H, rate, 1.0, (bias**2, bias**2), False, state)
        found.append((state[TILT], state[YAW]))
    return np.array(found)


def test_the_yaw_walks_as_the_gyroscope_until_nothing_is_known_of_it():
    days = 10 * 86400.0
    yaw = advanced(days, rate=1.0)[:, 1]
    t = H * np.arange(1, len(yaw) + 1)
    np.testing.assert_allclose(yaw, np.minimum(CONFIG.gyro_noise**2 * t, UNKNOWN_YAW), rtol=1e-9)
    assert yaw[-1] == UNKNOWN_YAW


def test_a_constant_bias_turns_the_yaw_in_proportion_to_time_until_nothing_is_known_of_it():
    bias = 1e-3
    yaw = advanced(3600.0, rate=1.0, bias=bias, config=UncertaintyConfig(gyro_noise=0.0))[:, 1]
    t = H * np.arange(1, len(yaw) + 1)
    np.testing.assert_allclose(np.sqrt(yaw), np.minimum(bias * t, math.sqrt(UNKNOWN_YAW)), rtol=1e-9)


def test_a_tilt_that_nothing_corrects_becomes_unknown_and_contact_brings_it_back():
    state = TiltUncertainty(CONFIG).row
    for _ in range(100_000):
        advance_variances(H, 0.0, 0.0, (1e-6, 1e-6), False, state)
    assert state[TILT] == UNKNOWN_TILT
    for _ in range(100):
        advance_variances(H, 1.0, 0.0, (1e-6, 1e-6), True, state)
    assert state[TILT] == pytest.approx(CONFIG.contact_tilt**2)
    assert state[YAW] == pytest.approx(CONFIG.yaw_reference**2)


def test_the_bounds_are_the_variances_of_uniform_angles():
    rng = np.random.default_rng(0)
    yaw = rng.uniform(-math.pi, math.pi, 400_000)
    assert np.var(yaw) == pytest.approx(UNKNOWN_YAW, rel=0.01)
    up = rng.normal(size=(400_000, 3))
    up /= np.linalg.norm(up, axis=1)[:, None]
    turned = np.cross([0.0, 0.0, 1.0], up)  # rotation vectors of the vertical, before their length
    turned *= (np.arccos(up[:, 2]) / np.linalg.norm(turned, axis=1))[:, None]
    np.testing.assert_allclose(turned.var(axis=0), [UNKNOWN_TILT, UNKNOWN_TILT, 0.0], rtol=0.01)


@pytest.mark.parametrize("tilt", [CONFIG.contact_tilt**2, UNKNOWN_TILT])
def test_with_an_unknown_yaw_the_covariance_is_positive_definite_for_every_vertical(tilt):
    rng = np.random.default_rng(1)
    for up in rng.normal(size=(100, 3)):
        up /= np.linalg.norm(up)
        P = np.array(rotation_covariance(tilt, UNKNOWN_YAW, tuple(up)))
        sigma = np.sqrt(np.diag(P))
        assert np.linalg.eigvalsh(P / np.outer(sigma, sigma))[0] > 1e-6
