"""The DCM: reference against integration of its differential equation, feedback against the pendulum."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from inertial_estimation.control.controller_config import BalanceConfig
from inertial_estimation.control.walking.dcm_reference import PressureSegment, dcm_of_plan
from inertial_estimation.control.whole_body_controller import (
    DcmFeedback,
    divergent_component,
    pendulum_frequency,
)

OMEGA = 3.3
PLAN = [
    PressureSegment((0.0, 0.0), (0.0, -0.08), 0.6),
    PressureSegment((0.0, -0.08), (0.0, -0.08), 0.7),
    PressureSegment((0.0, -0.08), (0.15, 0.08), 0.3),
    PressureSegment((0.15, 0.08), (0.1, 0.0), 0.5),
]
SQUARE = np.array([(-0.1, -0.1), (-0.1, 0.1), (0.1, 0.1), (0.1, -0.1)])
TRIANGLE = np.array([(-1.0, -1.0), (1.0, -1.0), (0.0, 1.0)])


def test_reference_integrated_forwards_ends_on_the_last_pressure_point() -> None:
    xi = np.array(dcm_of_plan(PLAN, OMEGA))
    for segment in PLAN:
        start, end = np.array(segment.start), np.array(segment.end)

        def rate(t, x, start=start, end=end, duration=segment.duration):
            return OMEGA * (x - start - (end - start) * t / duration)

        xi = solve_ivp(rate, (0.0, segment.duration), xi, rtol=1e-10, atol=1e-12).y[:, -1]
    np.testing.assert_allclose(xi, PLAN[-1].end, atol=1e-7)


def test_a_plan_without_motion_is_at_rest_on_its_point() -> None:
    assert dcm_of_plan([PressureSegment((0.1, 0.2), (0.1, 0.2), 1.0)], OMEGA) == pytest.approx((0.1, 0.2))
    assert dcm_of_plan([PressureSegment((0.0, 0.0), (0.3, 0.1), 0.0)], OMEGA) == (0.3, 0.1)


def simulate(config: BalanceConfig, offset: np.ndarray, shift: np.ndarray, seconds: float = 8.0):
    """A pendulum whose true centre of mass is off by `offset` from the measured one."""
    feedback, h = DcmFeedback(), 0.003
    com, velocity, errors = shift.copy(), np.zeros(2), []
    for _ in range(int(seconds / h)):
        measured = com - offset
        xi = divergent_component(np.r_[measured, 0.9], np.r_[velocity, 0.0], OMEGA)
        errors.append(np.abs(xi).max())
        p = feedback.centre_of_pressure(config, xi, np.zeros(2), SQUARE, OMEGA, h)
        assert np.abs(p).max() <= 0.1 + 1e-12
        acceleration = OMEGA**2 * (com - p)
        com, velocity = com + h * velocity, velocity + h * acceleration
    return np.array(errors)


def test_error_decays_at_the_rate_of_the_gain() -> None:
    config = BalanceConfig(integral=0.0, gain=4.0)
    errors = simulate(config, np.zeros(2), np.array([0.02, -0.01]))
    after = int(0.5 / 0.003)
    assert errors[after] / errors[0] == pytest.approx(np.exp(-4.0 * 0.5), rel=0.05)


def test_integral_takes_out_the_error_of_a_wrong_mass_distribution() -> None:
    offset = np.array([0.015, 0.0])
    without = simulate(BalanceConfig(integral=0.0), offset, np.zeros(2))
    with_integral = simulate(BalanceConfig(integral=1.0), offset, np.zeros(2), 12.0)
    assert without[-1] > 0.01
    assert with_integral[-1] < 0.002


def test_integral_stays_within_its_limit() -> None:
    feedback, config = DcmFeedback(), BalanceConfig(integral=20.0, integral_limit=0.03)
    for _ in range(1000):
        feedback.centre_of_pressure(config, np.array([0.01, -0.01]), np.zeros(2), TRIANGLE, OMEGA, 0.01)
    assert np.linalg.norm(feedback.integral) == pytest.approx(0.03)


def test_frequency_is_that_of_a_pendulum_of_this_length() -> None:
    assert pendulum_frequency(9.80665) == pytest.approx(1.0)
    assert np.isfinite(pendulum_frequency(-1.0))
