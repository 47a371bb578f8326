"""Rotations and unit directions, as free functions on numpy arrays; the formulas are Pinocchio's."""

import math

import numpy as np
import pinocchio as pin

from inertial_estimation.compilation import inlined
from inertial_estimation.signals import Array
from inertial_estimation.spatial.vectors import Matrix, Vector, add, combine, cross, dot, normalised

OPPOSITE_TOLERANCE = 1e-9  # of 1 + cos(angle), below which two directions count as opposite


def skew(w: Array) -> Array:
    """Return S(w), the matrix with S(w) x = w x x. Shape (3, 3)."""
    S: Array = pin.skew(w)
    return S


def skews(v: Array) -> Array:
    """Return the matrices S(v) of vectors of shape (..., 3), shape (..., 3, 3); see `skew`."""
    S = np.zeros((*v.shape, 3))
    S[..., 0, 1], S[..., 0, 2], S[..., 1, 2] = -v[..., 2], v[..., 1], -v[..., 0]
    return S - np.swapaxes(S, -1, -2)


def exp_so3(phi: Array) -> Array:
    """Return the rotation matrix of a rotation vector [rad], shape (3, 3)."""
    R: Array = pin.exp3(phi)
    return R


def log_so3(R: Array) -> Array:
    """Return the rotation vector of a rotation matrix [rad], |phi| <= pi, shape (3,)."""
    phi: Array = pin.log3(R)
    return phi


def left_jacobian_so3(phi: Array) -> Array:
    """Return J with exp(phi + d) = exp(J d) exp(phi) to first order in d, shape (3, 3)."""
    J: Array = pin.Jexp3(-phi)  # the right Jacobian at -phi
    return J


@inlined
def with_vertical(first: Vector, third: Vector, up: Vector) -> Matrix:
    """Turn a rotation by the smallest angle such that its third row becomes a given direction.

    With R = R_WB and up = R_WB^T e_z this keeps the yaw of R and makes the tilt exact: among all rotations
    with that tilt the result is the nearest to R, which is TRIAD's (B V-B).

    Args:
        first: First row of the rotation.
        third: Its third row.
        up: Unit vector, the desired third row.

    Returns:
        Rotation, its rows orthonormal to round-off even if those of R were slightly off.
    """
    scale = 1.0 + dot(third, up)
    if scale > OPPOSITE_TOLERANCE:  # first is orthogonal to third: the rotation third -> up moves it so
        first = combine(first, -dot(first, up) / scale, add(third, up))
    first = normalised(combine(first, -dot(first, up), up))
    return first, cross(up, first), up


def rotation_from_quaternion(quaternion_xyzw: Array) -> Array:
    """Return the rotation matrix of a quaternion (x, y, z, w), normalised first. Shape (3, 3)."""
    R: Array = pin.Quaternion(quaternion_xyzw).normalized().toRotationMatrix()
    return R


def rotation_from_roll_pitch_yaw(roll: float, pitch: float, yaw: float) -> Array:
    """Return Rz(yaw) Ry(pitch) Rx(roll), angles in rad. Shape (3, 3)."""
    R: Array = pin.rpy.rpyToMatrix(roll, pitch, yaw)
    return R


def quaternion_from_rotation(R: Array) -> Array:
    """Return the unit quaternion (x, y, z, w) of a rotation matrix, w >= 0. Shape (4,)."""
    first, second, third = R.tolist()
    return np.array(unit_quaternion((first, second, third)))


@inlined
def unit_quaternion(R: Matrix) -> tuple[float, float, float, float]:
    """Return the unit quaternion (x, y, z, w), w >= 0, of a rotation given by its rows (Shepperd)."""
    (r00, r01, r02), (r10, r11, r12), (r20, r21, r22) = R
    trace = r00 + r11 + r22
    largest = max(trace, r00, r11, r22)
    if largest == trace:
        quaternion = (r21 - r12, r02 - r20, r10 - r01, 1.0 + trace)
    elif largest == r00:
        quaternion = (1.0 + r00 - r11 - r22, r10 + r01, r20 + r02, r21 - r12)
    elif largest == r11:
        quaternion = (r10 + r01, 1.0 + r11 - r00 - r22, r21 + r12, r02 - r20)
    else:
        quaternion = (r20 + r02, r21 + r12, 1.0 + r22 - r00 - r11, r10 - r01)
    x, y, z, w = quaternion
    scale = math.copysign(1.0 / math.sqrt(x * x + y * y + z * z + w * w), w)
    return x * scale, y * scale, z * scale, w * scale


def roll_pitch_of(R_WB: Array) -> tuple[float, float]:
    """Return roll and pitch of R_WB = Rz(yaw) Ry(pitch) Rx(roll) [rad]."""
    return math.atan2(R_WB[2, 1], R_WB[2, 2]), math.asin(max(-1.0, min(1.0, -R_WB[2, 0])))


def yaw_of(R_WB: Array) -> float:
    """Return the heading of the body's x axis in the world [rad]."""
    return math.atan2(R_WB[1, 0], R_WB[0, 0])
