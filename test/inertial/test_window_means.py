"""Windows of an input: exact lines, calibration at rest, the same base motion from IMU and base state."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation
from support.leg_robot import NAMES, URDF, G

from inertial_estimation.inertial.config import InertialPipelineConfig
from inertial_estimation.inertial.estimator import ResidualBias
from inertial_estimation.inertial.pipeline import InertialPipeline
from inertial_estimation.inertial.windows import FrictionSigns, window_mean
from inertial_estimation.inputs.stream import Ring
from inertial_estimation.models.friction import CoulombDirection, NominalFriction, smooth_sign
from inertial_estimation.parameters import build_config
from inertial_estimation.signals import BaseState, Decision, ImuSample, JointReading

MS = 1_000_000
HALF = 50 * MS
START = 10**18


def irregular(seed, width):
    """Rows at irregular times in a window, these times, and its centre [ns]."""
    rng = np.random.default_rng(seed)
    times = START + np.cumsum(rng.integers(MS // 2, 6 * MS, 60))
    centre = int(times[30])
    times = times[np.abs(times - centre) <= HALF]
    return times, rng.normal(size=(len(times), width)), centre


@given(st.integers(0, 10**6))
def test_a_line_is_exact_at_any_time_of_the_window(seed):
    times, _rows, centre = irregular(seed, 2)
    t = 1e-9 * (times - centre)
    rows = np.stack((3.0 - 2.0 * t, 1.0 + t), axis=1)
    reduced = window_mean(centre, times, rows, 0.003)
    assert reduced.mean == pytest.approx([3.0 - 2.0 * 0.003, 1.003])
    assert reduced.slope == pytest.approx([-2.0, 1.0])
    assert reduced.centroid == 0.003


@pytest.mark.parametrize("count", [0, 1, 2])
def test_a_window_with_too_few_rows_has_no_mean(count):
    times, rows, centre = irregular(0, 3)
    assert window_mean(centre, times[:count], rows[:count]) is None


V = slice(2, 4)


def fill(ring, count, begin_ms, seed=0):
    """Append rows of two joints every 4 ms; return their times and velocities."""
    rows = np.random.default_rng(seed).normal(size=(count, 6))
    times = [(begin_ms + 4 * k) * MS for k in range(count)]
    for time, row in zip(times, rows, strict=True):
        ring.append(time, time, row)
    return times, rows[:, V]


@pytest.mark.parametrize("every", [1, 3, 50])
def test_with_presliding_every_row_is_integrated_once_however_often_they_are_followed(every):
    ring, weights = Ring(6, capacity=30), np.full(5, 0.2)
    law = NominalFriction(smoothing_speed=0.5, presliding=0.02)
    signs, direction = FrictionSigns(law, ring, V, 0.1), CoulombDirection(law)
    source = Ring(6)
    _times, v = fill(source, 70, 0)
    for k in range(70):
        ring.append(source.time[k], source.stamp[k], source.rows[k])
        if k % every == 0 and every < 50:
            signs.follow()
    signs.follow()
    if every == 50:
        v = v[40:]  # older rows have given way before they were looked at
    z = np.array([direction.after(row, 0.0 if k == 0 else 0.004) for k, row in enumerate(v)])
    found = signs.mean((69 * 4 - 8) * MS, 8 * MS, weights)
    np.testing.assert_allclose(found, weights @ z[-5:], rtol=1e-12)


def test_after_a_gap_or_with_a_new_clock_the_sign_begins_with_the_velocity():
    law, weights = NominalFriction(smoothing_speed=0.5, presliding=0.02), np.ones(1)
    ring = Ring(6)
    signs = FrictionSigns(law, ring, V, 0.1)
    fill(ring, 10, 0)
    signs.follow()
    _times, v = fill(ring, 1, 1000, seed=1)
    signs.follow()
    np.testing.assert_array_equal(signs.mean(1000 * MS, 0, weights), smooth_sign(v[0], 0.5))
    ring.clear()
    _times, v = fill(ring, 1, 30, seed=2)
    signs.follow()
    np.testing.assert_array_equal(signs.mean(30 * MS, 0, weights), smooth_sign(v[0], 0.5))


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


PERIOD_NS = 5_000_000
VALUES = {
    "imu_frame": "base",
    "links": ("torso",),
    "contact_wrenches": "none",
    "torque_rows": (),
    "window": 0.05,
    "rate": 100.0,
}


class Ride:
    """A base that is carried round a centre at a constant rate about a fixed axis, tilted against it."""

    def __init__(self, axis, radius):
        self.w_W, self.radius = np.array(axis), np.array(radius)
        self.tilt = Rotation.from_rotvec([0.2, -0.3, 0.1])

    def at(self, t):
        """Return orientation, velocity, rate and specific force in base axes."""
        turn = Rotation.from_rotvec(self.w_W * t)
        R_BW = (turn * self.tilt).inv()
        arm = turn.apply(self.radius)
        v_W = np.cross(self.w_W, arm)
        a_W = np.cross(self.w_W, v_W)
        return R_BW.inv().as_quat(), R_BW.apply(v_W), R_BW.apply(self.w_W), R_BW.apply(a_W + G)


def innovations(imu_frame, ride):
    config = build_config(InertialPipelineConfig, {**VALUES, "imu_frame": imu_frame})
    pipeline = InertialPipeline(config, URDF)
    pipeline.set_enabled(False)
    q, still = np.linspace(-0.3, 0.3, len(NAMES)), np.zeros(len(NAMES))
    estimates = []
    for k in range(60):
        stamp = (k + 1) * PERIOD_NS
        quaternion, v_B, w_B, f_B = ride.at(1e-9 * stamp)
        pipeline.push_imu(ImuSample(stamp, f_B, w_B))
        pipeline.push_base_state(BaseState(stamp, quaternion, np.zeros(3), v_B, w_B))
        pipeline.push_joints(JointReading(stamp, NAMES, q, still, still))
        estimates += pipeline.tick(stamp)
    return np.array([e.innovation for e in estimates])


@pytest.mark.parametrize("axis", [(0.0, 0.0, 2.0), (0.5, -0.4, 1.0)])
def test_differences_of_the_base_state_give_what_an_imu_senses(axis):
    """A constant velocity in turning axes is no rest: without w x v the forces of the bend are missing."""
    ride = Ride(axis, (1.5, 0.0, 0.5))
    sensed = innovations("base", ride)
    differentiated = innovations("", ride)
    assert len(sensed) > 20
    np.testing.assert_allclose(differentiated, sensed, atol=2e-3 * np.abs(sensed).max())
    assert np.linalg.norm(np.cross(axis, np.cross(axis, ride.radius))) > 1.0  # of the bend [m/s^2]
