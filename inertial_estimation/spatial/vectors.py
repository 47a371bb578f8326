"""Three-vectors as tuples of floats, which are much faster than arrays for a few operations per step."""

import math
from collections.abc import Sequence
from typing import Any

from inertial_estimation.compilation import inlined

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
    return (
        r00 * x + r01 * y + r02 * z,
        r10 * x + r11 * y + r12 * z,
        r20 * x + r21 * y + r22 * z,
    )


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
