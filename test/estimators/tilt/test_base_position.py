import numpy as np
import pytest

from inertial_estimation.compilation import numbers, zeros
from inertial_estimation.estimators.tilt.base_position import position_after


class Position:
    """The position from step to step."""

    def __init__(self, n):
        self.p_WB, self._started, self._anchors = (0.0, 0.0, 0.0), False, zeros(n, 4)

    def step(self, h, R_WB, v_WB_B, points_B, weights):
        points, weights = numbers(np.array(points_B)), numbers(np.array(weights))
        self.p_WB, self._started = position_after(
            h, self.p_WB, self._started, R_WB, v_WB_B, points, weights, self._anchors
        )


EYE = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
ZERO = (0.0, 0.0, 0.0)
FEET = [(0.0, 0.1, -0.8), (0.0, -0.1, -0.8)]


def shifted(points, d):
    return [(x - d[0], y - d[1], z - d[2]) for x, y, z in points]


def test_starts_above_its_contacts():
    position = Position(2)
    position.step(0.01, EYE, ZERO, FEET, (0.5, 0.5))
    np.testing.assert_allclose(position.p_WB, [0.0, 0.0, 0.8])


def test_follows_the_kinematics_over_a_standing_foot_without_drift():
    position = Position(2)
    wrong = (0.5, -0.5, 0.2)  # the velocity plays no part while a foot stands
    for k in range(1000):
        d = 0.05 * np.sin(0.02 * k) * np.array([1.0, 0.5, -0.3])
        position.step(0.01, EYE, wrong, shifted(FEET, d), (0.3, 0.7))
        np.testing.assert_allclose(position.p_WB, np.array([0.0, 0.0, 0.8]) + d, atol=1e-12)


def test_walks_by_the_step_length():
    """Stand on one foot, move the base over it, put the other down ahead: feet relative to the base."""
    position, step = Position(2), 0.1
    offsets = [0.0, 0.0]  # of each foot ahead of the base
    x = 0.0
    for stance in (0, 1, 0, 1, 0, 1):
        swing = 1 - stance
        weights = (1.0, 0.0) if stance == 0 else (0.0, 1.0)
        for forward in np.linspace(0.0, step, 20):
            ahead = {stance: offsets[stance] - forward, swing: offsets[swing] + forward}
            feet = [(ahead[i], FEET[i][1], FEET[i][2]) for i in (0, 1)]
            position.step(0.01, EYE, ZERO, feet, weights)
        offsets = [ahead[0], ahead[1]]
        x += step
        position.step(0.01, EYE, ZERO, feet, (0.5, 0.5))
        assert position.p_WB[0] == pytest.approx(x)


def test_is_continuous_through_changes_of_weight():
    """Anchors that disagree (a foot slipped) move the base only as fast as the weights move."""
    position = Position(2)
    position.step(0.01, EYE, ZERO, FEET, (0.5, 0.5))
    slipped = [FEET[0], (0.02, -0.1, -0.8)]
    track = []
    for s in np.linspace(0.01, 1.0, 200):
        position.step(0.01, EYE, ZERO, slipped, (1.0 - s, s))
        track.append(position.p_WB[0])
    assert np.abs(np.diff(track)).max() < 0.02 / 190
    assert track[-1] == pytest.approx(-0.02)


def test_flight_integrates_the_velocity_and_landing_does_not_jump():
    position = Position(2)
    position.step(0.01, EYE, ZERO, FEET, (0.5, 0.5))
    for _ in range(10):
        position.step(0.01, EYE, (0.5, 0.0, 0.0), FEET, (0.0, 0.0))
    np.testing.assert_allclose(position.p_WB, [0.05, 0.0, 0.8])
    position.step(0.01, EYE, (0.5, 0.0, 0.0), FEET, (1.0, 0.0))
    np.testing.assert_allclose(position.p_WB, [0.055, 0.0, 0.8])
    for _ in range(10):
        position.step(0.01, EYE, ZERO, FEET, (1.0, 0.0))
    np.testing.assert_allclose(position.p_WB, [0.055, 0.0, 0.8])


def test_a_turning_base_turns_about_its_foot():
    position = Position(1)
    foot = np.array([0.0, 0.1, -0.8])
    position.step(0.01, EYE, ZERO, [tuple(foot)], (1.0,))
    anchor = np.array(position.p_WB) + foot
    for yaw in np.linspace(0.0, 1.0, 50):
        c, s = np.cos(yaw), np.sin(yaw)
        R = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        position.step(0.01, tuple(map(tuple, R)), ZERO, [tuple(foot)], (1.0,))
        np.testing.assert_allclose(np.array(position.p_WB) + R @ foot, anchor, atol=1e-12)
