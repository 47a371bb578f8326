"""The vertical against the soles: an IMU that is turned, and what looks similar and is no fault."""

import numpy as np
import pytest

from inertial_estimation.compilation import numbers
from inertial_estimation.estimators.tilt.floor_check import FloorCheck, compare_with_soles
from inertial_estimation.spatial.rotations import rotation_from_roll_pitch_yaw

PERIOD_S = 0.005
LEVEL = np.eye(3)
INCLINED = np.array(rotation_from_roll_pitch_yaw(0.06, -0.03, 0.0))  # by 3.8 deg


def seen(sole, vertical, force, *, soles=(True, True), load=(1.0, 0.0), steps=200):
    """Return the check after a while, of directions given in one frame.

    Args:
        sole: Orientation of the loaded sole, its axes in any order.
        vertical: Estimated vertical.
        force: Direction of the force of the ground.
        soles: Whether the contacts are soles.
        load: Weights of the contacts.
        steps: Number of steps.
    """
    motions = np.zeros((2, 18))
    motions[:, :9] = sole.ravel()
    frames = np.zeros((2, 12))
    frames[:, :9] = np.eye(3).ravel()
    wrenches = np.zeros((2, 6))
    wrenches[0, :3] = sole.T @ (900.0 * force)
    check, x2 = FloorCheck(), tuple(vertical.tolist())
    tables = [
        numbers(values) for values in (motions, frames, wrenches, np.array(load), np.array(soles, float))
    ]
    for _ in range(steps):
        compare_with_soles(PERIOD_S, x2, *tables, check.row)
    return check


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
def test_a_vertical_that_the_forces_and_the_soles_contradict_is_found(order):
    up = LEVEL[:, 2]
    check = seen(LEVEL[:, order], INCLINED[:, 2], up)
    assert check.inclined
    assert check.angle == pytest.approx(np.sin(np.arccos(INCLINED[2, 2])), rel=1e-3)


@pytest.mark.parametrize(
    ("sole", "vertical", "force"),
    [
        (INCLINED, LEVEL[:, 2], LEVEL[:, 2]),  # a slope, a platform that rocks, a foot that rolls
        (LEVEL, LEVEL[:, 2], INCLINED[:, 2]),  # a push, a hand on a rail, an error of a foot's sensor
        (LEVEL, LEVEL[:, 2], LEVEL[:, 2]),
        (np.array(rotation_from_roll_pitch_yaw(0.7, 0.6, 0.0)), LEVEL[:, 2], LEVEL[:, 2]),  # no axis near
    ],
)
def test_slopes_and_pushes_are_no_fault_of_the_imu(sole, vertical, force):
    check = seen(sole, vertical, force)
    assert not check.inclined
    assert not check.leaning


@pytest.mark.parametrize(
    ("sole_deg", "force_deg", "leans"),
    [(0.0, 25.0, True), (0.0, -25.0, True), (0.0, 15.0, False), (28.0, 0.0, False), (28.0, 28.0, True)],
)
def test_forces_that_lean_far_against_the_vertical_are_an_error_whatever_the_ground(
    sole_deg, force_deg, leans
):
    sole, force = (
        np.array(rotation_from_roll_pitch_yaw(np.deg2rad(angle), 0.0, 0.0)) for angle in (sole_deg, force_deg)
    )
    assert seen(sole, LEVEL[:, 2], force[:, 2]).leaning is leans


@pytest.mark.parametrize("changes", [{"soles": (False, False)}, {"load": (0.0, 0.0)}, {"steps": 20}])
def test_point_feet_flight_and_a_moment_tell_nothing(changes):
    assert not seen(LEVEL, INCLINED[:, 2], LEVEL[:, 2], **changes).inclined
