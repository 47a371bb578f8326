"""Rotations and three-vectors.

Functions of arrays call Pinocchio. Functions of tuples of floats (`Vector`, `Matrix`) serve the operations
of every step, where they take a tenth of the time of those, and may be compiled.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pinocchio as pin

from inertial_estimation.compilation import inlined
from inertial_estimation.signals import Array

Vector = tuple[float, float, float]
Matrix = tuple[Vector, Vector, Vector]
DEGREES = 180.0 / math.pi  # in one radian


def vector(values: Sequence[float] | Any) -> Vector:
    """Return three numbers (an array, a list) as a vector."""
    x, y, z = values
    return float(x), float(y), float(z)


def matrix(values: Any) -> Matrix:
    """Return an array of shape (3, 3) as a tuple of rows."""
    a, b, c = values.tolist()
    return tuple(a), tuple(b), tuple(c)


@inlined
def vector_of(row: Sequence[float] | Any, first: int) -> Vector:
    """Return three consecutive numbers of a row.

    Args:
        row: Numbers.
        first: Index of the first one.
    """
    return row[first], row[first + 1], row[first + 2]


@inlined
def rows_of(table: Any) -> Matrix:
    """Return a table of shape (3, 3) by its rows."""
    return vector_of(table[0], 0), vector_of(table[1], 0), vector_of(table[2], 0)


@inlined
def block_of(table: Any, row: int, column: int) -> Matrix:
    """Return the block of shape (3, 3) that begins at a row and a column of a table."""
    a, b, c = table[row], table[row + 1], table[row + 2]
    return vector_of(a, column), vector_of(b, column), vector_of(c, column)


@inlined
def store(row: Any, first: int, a: Vector) -> None:
    """Write a vector to three consecutive numbers of a row.

    Args:
        row: Numbers.
        first: Index of the first one.
        a: The vector.
    """
    row[first], row[first + 1], row[first + 2] = a


@inlined
def dot(a: Vector, b: Vector) -> float:
    """Return a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inlined
def norm(a: Vector) -> float:
    """Return |a|."""
    return math.sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2])


@inlined
def add(a: Vector, b: Vector) -> Vector:
    """Return a + b."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@inlined
def combine(a: Vector, scale: float, b: Vector) -> Vector:
    """Return a + scale b."""
    return a[0] + scale * b[0], a[1] + scale * b[1], a[2] + scale * b[2]


@inlined
def scaled(scale: float, a: Vector) -> Vector:
    """Return scale a."""
    return scale * a[0], scale * a[1], scale * a[2]


@inlined
def cross(a: Vector, b: Vector) -> Vector:
    """Return a x b."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@inlined
def normalised(a: Vector) -> Vector:
    """Return a / |a|."""
    scale = 1.0 / norm(a)
    return scale * a[0], scale * a[1], scale * a[2]


@inlined
def times(R: Matrix, a: Vector) -> Vector:
    """Return the product of a matrix and a vector."""
    x, y, z = a
    (r00, r01, r02), (r10, r11, r12), (r20, r21, r22) = R
    return (r00 * x + r01 * y + r02 * z, r10 * x + r11 * y + r12 * z, r20 * x + r21 * y + r22 * z)


@inlined
def transposed(R: Matrix) -> Matrix:
    """Return the transpose of a matrix."""
    (r00, r01, r02), (r10, r11, r12), (r20, r21, r22) = R
    return (r00, r10, r20), (r01, r11, r21), (r02, r12, r22)


@inlined
def product(A: Matrix, B: Matrix) -> Matrix:
    """Return the product of two matrices."""
    (b00, b01, b02), (b10, b11, b12), (b20, b21, b22) = B
    (x0, y0, z0), (x1, y1, z1), (x2, y2, z2) = A
    return (
        (x0 * b00 + y0 * b10 + z0 * b20, x0 * b01 + y0 * b11 + z0 * b21, x0 * b02 + y0 * b12 + z0 * b22),
        (x1 * b00 + y1 * b10 + z1 * b20, x1 * b01 + y1 * b11 + z1 * b21, x1 * b02 + y1 * b12 + z1 * b22),
        (x2 * b00 + y2 * b10 + z2 * b20, x2 * b01 + y2 * b11 + z2 * b21, x2 * b02 + y2 * b12 + z2 * b22),
    )


@inlined
def sum_of(A: Matrix, scale: float, B: Matrix) -> Matrix:
    """Return A + scale B."""
    return combine(A[0], scale, B[0]), combine(A[1], scale, B[1]), combine(A[2], scale, B[2])


@inlined
def cross_matrix(w: Vector) -> Matrix:
    """Return S(w), the matrix with S(w) x = w x x."""
    return (0.0, -w[2], w[1]), (w[2], 0.0, -w[0]), (-w[1], w[0], 0.0)


@inlined
def rotation_vector(R: Matrix) -> Vector:
    """Return the rotation vector of a rotation by less than half a turn [rad]."""
    (r00, r01, r02), (r10, r11, r12), (r20, r21, r22) = R
    axis = (0.5 * (r21 - r12), 0.5 * (r02 - r20), 0.5 * (r10 - r01))
    sine = norm(axis)
    return scaled(math.atan2(sine, 0.5 * (r00 + r11 + r22 - 1.0)) / sine if sine > 1e-9 else 1.0, axis)


@inlined
def rotation(phi: Vector) -> Matrix:
    """Return exp(S(phi)), the rotation matrix of a rotation vector [rad]."""
    x, y, z = phi
    t2 = x * x + y * y + z * z
    if t2 < 1e-8:
        s, c = 1.0 - t2 / 6.0, 0.5 - t2 / 24.0
    else:
        t = math.sqrt(t2)
        s, c = math.sin(t) / t, (1.0 - math.cos(t)) / t2
    cxy, cxz, cyz = c * x * y, c * x * z, c * y * z
    return (
        (1.0 - c * (y * y + z * z), cxy - s * z, cxz + s * y),
        (cxy + s * z, 1.0 - c * (x * x + z * z), cyz - s * x),
        (cxz - s * y, cyz + s * x, 1.0 - c * (x * x + y * y)),
    )


OPPOSITE_TOLERANCE = 1e-9  # 1 + cos(angle) below which two directions count as opposite


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
    if scale > OPPOSITE_TOLERANCE:  # the rotation third -> up, applied to first, which is normal to third
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
