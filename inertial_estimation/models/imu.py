"""Measurement model of the IMU, and the velocity of the base computed from that of the IMU."""

import numpy as np

from inertial_estimation.signals import Array
from inertial_estimation.spatial.vectors import Matrix, Vector, cross, times

__all__ = ["STANDARD_GRAVITY", "base_twist", "specific_force"]

STANDARD_GRAVITY = 9.80665


def specific_force(R_WI: Array, a_WI: Array) -> Array:
    """Predict the reading of an ideal accelerometer.

    It senses f_I = R_WI^T (a_WI - g_W), g_W = [0, 0, -9.80665]: one g upwards at rest, zero in free fall.

    Args:
        R_WI: Orientation of the IMU in the world, shape (3, 3).
        a_WI: Acceleration of the IMU origin in the world [m/s^2], shape (3,).

    Returns:
        Specific force in the IMU frame [m/s^2], shape (3,).
    """
    f_I: Array = R_WI.T @ (a_WI + np.array([0.0, 0.0, STANDARD_GRAVITY]))
    return f_I


def base_twist(
    v_WI_I: Vector,
    w_WI_I: Vector,
    R_BI: Matrix,
    p_BI: Vector,
    v_BI_B: Vector,
    w_BI_B: Vector,
) -> tuple[Vector, Vector]:
    """Transform the velocity of the IMU to the origin of the base.

    w_WB = R_BI w_WI - w_BI;  v_WB = R_BI v_WI - v_BI - w_WB x p_BI, all in the base frame.

    Args:
        v_WI_I: Velocity of the IMU in the world, IMU frame [m/s].
        w_WI_I: Angular velocity of the IMU in the world, IMU frame [rad/s].
        R_BI: Orientation of the IMU in the base.
        p_BI: Position of the IMU in the base [m].
        v_BI_B: Velocity of the IMU relative to the base, base frame [m/s]; zero where rigidly mounted.
        w_BI_B: Angular velocity of the IMU relative to the base, base frame [rad/s].

    Returns:
        Velocity of the base origin and angular velocity of the base, base frame [m/s, rad/s].
    """
    w = times(R_BI, w_WI_I)
    w_WB = (w[0] - w_BI_B[0], w[1] - w_BI_B[1], w[2] - w_BI_B[2])
    v = times(R_BI, v_WI_I)
    lever = cross(w_WB, p_BI)
    v_WB = (v[0] - v_BI_B[0] - lever[0], v[1] - v_BI_B[1] - lever[1], v[2] - v_BI_B[2] - lever[2])
    return v_WB, w_WB
