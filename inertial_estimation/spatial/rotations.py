"""Rotations and unit directions, as free functions on numpy arrays."""

import math
from typing import TypeVar

import numpy as np

from inertial_estimation.compilation import inlined
from inertial_estimation.signals import Array
from inertial_estimation.spatial.vectors import Matrix, Vector, add, combine, cross, dot, normalised

NumberT = TypeVar("NumberT", float, Array)
OPPOSITE_TOLERANCE = 1e-9  # of 1 + cos(angle), below which two directions count as opposite


def skew(w: Array) -> Array:
    """Return S(w), the matrix with S(w) x = w x x. Shape (3, 3)."""
    x, y, z = w[0], w[1], w[2]
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def skews(v: Array) -> Array:
    """Return the matrices S(v) of vectors of shape (..., 3), shape (..., 3, 3); see `skew`."""
    S = np.zeros((*v.shape, 3))
    S[..., 0, 1], S[..., 0, 2], S[..., 1, 2] = -v[..., 2], v[..., 1], -v[..., 0]
    return S - np.swapaxes(S, -1, -2)


def exp_so3(phi: Array) -> Array:
    """Return the rotation matrix of a rotation vector (Rodrigues' formula).

    exp(S(phi)) = 1 + sin(a)/a S(phi) + (1 - cos(a))/a^2 S(phi)^2, a = |phi|; Taylor series near 0.

    Args:
        phi: Rotation vector [rad], shape (3,).

    Returns:
        Rotation matrix, shape (3, 3).
    """
    x, y, z = float(phi[0]), float(phi[1]), float(phi[2])
    a2 = x * x + y * y + z * z
    a = math.sqrt(a2)
    if a < 1e-4:
        s, c = 1.0 - a2 / 6.0, 0.5 - a2 / 24.0
    else:
        s, c = math.sin(a) / a, (1.0 - math.cos(a)) / a2
    return np.array(
        [
            [1.0 - c * (y * y + z * z), c * x * y - s * z, c * x * z + s * y],
            [c * x * y + s * z, 1.0 - c * (x * x + z * z), c * y * z - s * x],
            [c * x * z - s * y, c * y * z + s * x, 1.0 - c * (x * x + y * y)],
        ]
    )


def log_so3(R: Array) -> Array:
    """Return the rotation vector of a rotation matrix, |phi| <= pi.

    Args:
        R: Rotation matrix, shape (3, 3).

    Returns:
        Rotation vector [rad], shape (3,).
    """
    first, second, third = R.tolist()
    return np.array(rotation_vector((first, second, third)))


def rotation_vector(R: Matrix) -> Vector:
    """Return the rotation vector of a rotation given by its rows [rad]; see `log_so3`."""
    x, y, z, w = unit_quaternion(R)
    norm = math.sqrt(x * x + y * y + z * z)
    scale = 2.0 / w if norm < 1e-12 else 2.0 * math.atan2(norm, w) / norm
    return x * scale, y * scale, z * scale


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


def left_jacobian_so3(phi: Array) -> Array:
    """Return J with exp(phi + d) = exp(J d) exp(phi) to first order in d.

    J = sin(a)/a 1 + (1 - sin(a)/a) u u^T + (1 - cos(a))/a S(u), a = |phi|, u = phi / a.

    Args:
        phi: Rotation vector [rad], shape (3,).

    Returns:
        Left Jacobian, shape (3, 3).
    """
    a = math.sqrt(float(phi @ phi))
    if a < 1e-5:
        return np.eye(3) + 0.5 * skew(phi)
    u = phi / a
    s, c = math.sin(a) / a, (1.0 - math.cos(a)) / a
    J: Array = s * np.eye(3) + (1.0 - s) * np.outer(u, u) + c * skew(u)
    return J


def rotation_from_quaternion(quaternion_xyzw: Array) -> Array:
    """Return the rotation matrix of a quaternion (x, y, z, w), normalised first. Shape (3, 3)."""
    s = float(2.0 / (quaternion_xyzw @ quaternion_xyzw))
    x, y, z, w = quaternion_xyzw.tolist()
    return np.array(
        [
            [1.0 - s * (y * y + z * z), s * (x * y - z * w), s * (x * z + y * w)],
            [s * (x * y + z * w), 1.0 - s * (x * x + z * z), s * (y * z - x * w)],
            [s * (x * z - y * w), s * (y * z + x * w), 1.0 - s * (x * x + y * y)],
        ]
    )


def vertical_of_quaternion(
    x: NumberT, y: NumberT, z: NumberT, w: NumberT
) -> tuple[NumberT, NumberT, NumberT]:
    """Return R_WB^T e_z, the vertical in the body frame, of an orientation of the body in a z-up world.

    Args:
        x: First component of the quaternion; a number, or an array of the components of many.
        y: Second component.
        z: Third component.
        w: Scalar component; the quaternion needs no unit norm, but one above zero.

    Returns:
        The components of a unit vector, each of the shape of x.
    """
    s = 2.0 / (x * x + y * y + z * z + w * w)
    return s * (x * z - y * w), s * (y * z + x * w), 1.0 - s * (x * x + y * y)


def rotation_from_roll_pitch_yaw(roll: float, pitch: float, yaw: float) -> Array:
    """Return Rz(yaw) Ry(pitch) Rx(roll), angles in rad. Shape (3, 3)."""
    return np.array(roll_pitch_yaw_rows(roll, pitch, yaw))


def roll_pitch_yaw_rows(roll: float, pitch: float, yaw: float) -> Matrix:
    """Return Rz(yaw) Ry(pitch) Rx(roll) by its rows, angles in rad."""
    cr, sr, cp, sp = math.cos(roll), math.sin(roll), math.cos(pitch), math.sin(pitch)
    cy, sy = math.cos(yaw), math.sin(yaw)
    return (
        (cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr),
        (sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr),
        (-sp, cp * sr, cp * cr),
    )


def quaternion_from_rotation(R: Array) -> Array:
    """Return the unit quaternion (x, y, z, w) of a rotation matrix, w >= 0 (Shepperd's method).

    Args:
        R: Rotation matrix, shape (3, 3).

    Returns:
        Quaternion x y z w, shape (4,).
    """
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
