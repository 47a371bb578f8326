import numpy as np
import pytest

from inertial_estimation.control.walking.swing import SwingPath
from inertial_estimation.control.walking.walking_config import WalkingConfig
from inertial_estimation.models.whole_body_dynamics import FrameMotion
from inertial_estimation.spatial.rotations import exp_so3, yaw_of

EMPTY = np.zeros((6, 1))
LANDING = np.array([0.3, 0.2, 0.0])


def foot(position: np.ndarray, turn: np.ndarray) -> FrameMotion:
    return FrameMotion(exp_so3(turn), position, np.zeros(6), EMPTY, np.zeros(6))


@pytest.fixture(params=[0.0, 2.0])
def stance(request: pytest.FixtureRequest) -> FrameMotion:
    return foot(np.array([0.1, -0.1, -0.8]), np.array([0.0, 0.0, request.param]))


@pytest.fixture
def lifted(stance: FrameMotion) -> FrameMotion:
    there = stance.p_BF_W + stance.R_WF @ np.array([-0.1, 0.2, 0.01])
    return foot(there, np.array([0.02, -0.03, yaw_of(stance.R_WF)]))


def test_path_begins_at_the_foot_and_lands_flat_where_it_should(stance, lifted) -> None:
    config = WalkingConfig()
    path = SwingPath.lift_off(lifted, stance, config)
    start = path.reference(0.0, LANDING, stance)
    np.testing.assert_allclose(start.p_BF_W, lifted.p_BF_W, atol=1e-12)
    np.testing.assert_allclose(start.R_WF, lifted.R_WF, atol=1e-12)
    np.testing.assert_allclose(start.velocity, 0.0, atol=1e-12)
    end = path.reference(config.swing_duration, LANDING, stance)
    np.testing.assert_allclose(end.p_BF_W, stance.p_BF_W + stance.R_WF @ LANDING, atol=1e-12)
    np.testing.assert_allclose(end.R_WF, stance.R_WF, atol=1e-12)
    np.testing.assert_allclose(end.velocity, [0.0, 0.0, -config.touchdown_speed], atol=1e-12)


def test_velocity_and_acceleration_are_derivatives_also_past_the_touchdown(stance, lifted) -> None:
    config, h = WalkingConfig(), 1e-5
    path = SwingPath.lift_off(lifted, stance, config)
    for t in np.linspace(0.02, 1.3 * config.swing_duration, 37):
        before, now, after = (path.reference(t + s * h, LANDING, stance) for s in (-1.0, 0.0, 1.0))
        np.testing.assert_allclose((after.p_BF_W - before.p_BF_W) / (2 * h), now.velocity, atol=1e-5)
        np.testing.assert_allclose((after.velocity - before.velocity) / (2 * h), now.acceleration, atol=1e-3)


def test_foot_clears_the_ground_by_the_swing_height(stance, lifted) -> None:
    config = WalkingConfig(swing_height=0.07)
    path = SwingPath.lift_off(lifted, stance, config)
    times = np.linspace(0.0, config.swing_duration, 200)
    heights = [path.reference(t, LANDING, stance).p_BF_W[2] - stance.p_BF_W[2] for t in times]
    assert max(heights) == pytest.approx(0.08, abs=1e-4)  # 0.01 m is where it stood
    assert min(heights) > -1e-9
