"""Angular velocity of the base from joint velocities while feet stand on the ground, and of the IMU."""

import numpy as np

from inertial_estimation.data_checks.data_table import DataTable
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra

LOADED = 0.1  # share of the load above which a contact counts as standing
CARRIES = 0.2  # share of the weight below which the contacts do not carry the robot
SLIP = 0.02  # residual speed of standing points above which one of them moves [m/s]
AGREEMENT = 0.05  # by which two soles may differ in rotation for both to stand [rad/s]
FEWEST_POINTS = 3  # that determine a rotation


def rotation_of_base(table: DataTable) -> Array:
    """Return the angular velocity of the base in its own axes [rad/s], shape (N, 3), NaN where unknown.

    Up to two contacts are soles that do not turn on the ground: of the one with the most load, or of both if
    loads are not measured and both agree. Three or more are points that do not move: v + w x r_i + r_i' = 0.
    """
    w_B = np.full((table.size, 3), np.nan)
    if not table.points_B.shape[1] or table.n_base == 0:
        return w_B
    turn, slide = _relative(table)
    weight = table.mass * STANDARD_GRAVITY  # not the force that the motion needs: a gyroscope enters it
    loads = np.linalg.norm(table.wrenches[:, :, :3], axis=2)
    for i in range(table.size):
        load = loads[i] if np.isfinite(loads[i]).all() else None
        if load is not None and load.sum() < CARRIES * weight:
            continue  # it hangs
        if table.point_contacts:
            w_B[i] = _of_points(table.points_B[i], slide[i], load)
        else:
            w_B[i] = _of_soles(turn[i], load)
    return w_B


def expected_rate(table: DataTable) -> Array:
    """Return what a gyroscope mounted as described reads over standing feet [rad/s], shape (N, 3).

    NaN where `rotation_of_base` is.
    """
    rate: Array = np.einsum("nji,nj->ni", table.R_BI, rotation_of_base(table)) + table.w_BI_I
    return rate


def _relative(table: DataTable) -> tuple[Array, Array]:
    """Angular and linear velocities of the contacts relative to the base, base axes, shape (N, k, 3) each."""
    joints = table.jacobians[:, :, :, table.n_base :]
    moving = np.einsum("nkiv,nv->nki", joints, table.dq)
    slide = np.einsum("nkij,nkj->nki", table.rotations_BF, moving[:, :, :3])
    turn = np.einsum("nkij,nkj->nki", table.rotations_BF, moving[:, :, 3:])
    return turn, slide


def _of_soles(turn: Array, load: Array | None) -> Array:
    if load is not None:
        most: Array = -turn[int(np.argmax(load))]
        return most
    if np.abs(turn - turn[0]).max() > AGREEMENT:
        return np.full(3, np.nan)
    mean: Array = -turn.mean(axis=0)
    return mean


def _of_points(points: Array, slide: Array, load: Array | None) -> Array:
    stands = np.ones(len(points), dtype=bool) if load is None else load > LOADED * load.sum()
    if stands.sum() < FEWEST_POINTS:
        return np.full(3, np.nan)
    r, moving = points[stands], slide[stands]
    A = np.zeros((len(r), 3, 6))
    A[:, :, :3] = np.eye(3)
    A[:, 0, 4], A[:, 0, 5] = r[:, 2], -r[:, 1]
    A[:, 1, 3], A[:, 1, 5] = -r[:, 2], r[:, 0]
    A[:, 2, 3], A[:, 2, 4] = r[:, 1], -r[:, 0]
    flat = A.reshape(-1, 6)
    motion = linear_algebra.lstsq(flat, -moving.ravel())
    if np.abs(flat @ motion + moving.ravel()).max() > SLIP:
        return np.full(3, np.nan)
    w: Array = motion[3:]
    return w
