"""The filter on a body that turns above a flat foot: what the sole tells, and what the sigma promises."""

import numpy as np
import pytest

from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.spatial.rotations import exp_so3, log_so3
from inertial_estimation.tilt.feet_sensing import Feet
from inertial_estimation.tilt.filter import FilterConfig, TiltFilter
from inertial_estimation.tilt.imu_readings import ImuReadings
from inertial_estimation.tilt.observer import Look

H = 0.005
FOOT = np.array([0.1, 0.05, -0.9])  # in the world, from the IMU, which only turns [m]


def orientation(t):
    return exp_so3(np.array([0.8 * np.cos(2.0 * t), 0.3 * np.cos(1.1 * t), 0.2 * t]))


def error_and_sigma(*, limit=np.inf, sole=True, standing=True, bias=(0.0, 0.0, 0.0), end=6.0):
    """Errors and sigmas over time [deg], shape (n, 2), from 1 s on."""
    tilt, readings, found, since = TiltFilter(FilterConfig()), ImuReadings(), [], 0.0
    clipped = np.zeros(3)
    readings.add(0.0, np.zeros(6))
    for k in range(1, round(end / H)):
        t = k * H
        R, before = orientation(t), orientation(t - H)
        rate = log_so3(before.T @ R) / H + np.array(bias)
        middle = orientation(t - 0.5 * H)
        reading = np.concatenate((STANDARD_GRAVITY * middle[2], np.clip(rate, -limit, limit)))
        feet = Feet((R.T @ FOOT)[None], R.T[None], np.array([float(standing)]), np.array([sole]))
        readings.add(H, reading)
        since, clipped, look = since + H, clipped + H * (np.abs(rate) > limit), None
        if tilt.looks(since):
            look = Look(feet, readings.look(tilt.state.bias)._replace(clipped=clipped))
            since, clipped = 0.0, np.zeros(3)
        tilt.step(H, reading, look)
        if t > 1.0:
            P, z = tilt.state.covariance[3:6, 3:6], tilt.state.vertical
            wrong = np.linalg.norm(np.cross(z, R[2]))
            found.append(np.degrees([wrong, np.sqrt(np.trace(P) - z @ P @ z)]))
    return np.array(found)


def test_an_exact_motion_is_followed():
    assert error_and_sigma()[:, 0].max() < 0.1


def test_a_flat_sole_replaces_a_gyroscope_at_the_end_of_its_range():
    """Its largest rate is 1.6 rad/s."""
    assert error_and_sigma(limit=1.0)[:, 0].max() < 1.0


def test_without_a_sole_a_gyroscope_at_the_end_of_its_range_makes_the_sigma_grow():
    usual, limited = error_and_sigma(sole=False), error_and_sigma(limit=1.4, sole=False)
    assert limited[:, 1].max() > 5.0 * usual[:, 1].max()


@pytest.mark.parametrize("sole", [True, False])
def test_the_bias_is_determined_in_motion(sole):
    found = error_and_sigma(bias=(0.02, -0.01, 0.0), sole=sole, end=15.0)
    assert found[-1000:, 0].max() < 0.3


def test_without_contact_the_sigma_is_larger():
    usual, flying = error_and_sigma(), error_and_sigma(standing=False)
    assert flying[-1, 1] > usual[-1, 1]
    assert (flying[:, 0] < 4.0 * flying[:, 1]).all()
