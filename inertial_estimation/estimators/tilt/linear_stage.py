"""The linear first stage of (B 17): velocity and unconstrained vertical in closed form."""

import cmath
import math

from inertial_estimation.compilation import inlined
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.spatial.vectors import Matrix, Vector, combine, times

Pair = tuple[tuple[float, float], tuple[float, float]]


@inlined
def first_stage(
    h: float,
    gains: tuple[float, float],
    half: Matrix,
    state: tuple[Vector, Vector],
    f_I: Vector,
    y_v: Vector,
) -> tuple[Vector, Vector, Vector]:
    """Advance velocity and vertical of the first stage by one step.

    Args:
        h: Duration of the step [s].
        gains: alpha1 [1/s] and alpha2 [1/s^2].
        half: Rotation of vectors in the IMU frame over half the step, exp(-S(w) h/2).
        state: Velocity x1 [m/s] and unconstrained vertical x2' at the begin.
        f_I: Specific force, mean over the step [m/s^2].
        y_v: Measured velocity of the IMU [m/s].

    Returns:
        Velocity and vertical at the end, and the innovation y_v - x1 at the middle of the step [m/s].
    """
    alpha1, alpha2 = gains
    ((p00, p01), (p10, p11)), ((g00, g01), (g10, g11)) = linear_step(alpha1, alpha2, h)
    a, b = times(half, state[0]), times(half, state[1])
    innovation = (y_v[0] - a[0], y_v[1] - a[1], y_v[2] - a[2])
    u = combine(f_I, alpha1, y_v)
    k = -alpha2 / STANDARD_GRAVITY
    v = (k * y_v[0], k * y_v[1], k * y_v[2])
    x1 = (
        p00 * a[0] + p01 * b[0] + g00 * u[0] + g01 * v[0],
        p00 * a[1] + p01 * b[1] + g00 * u[1] + g01 * v[1],
        p00 * a[2] + p01 * b[2] + g00 * u[2] + g01 * v[2],
    )
    x2 = (
        p10 * a[0] + p11 * b[0] + g10 * u[0] + g11 * v[0],
        p10 * a[1] + p11 * b[1] + g10 * u[1] + g11 * v[1],
        p10 * a[2] + p11 * b[2] + g10 * u[2] + g11 * v[2],
    )
    return times(half, x1), times(half, x2), innovation


@inlined
def linear_step(alpha1: float, alpha2: float, h: float) -> tuple[Pair, Pair]:
    """Return the exact step of the first stage's linear block.

    With A = [[-alpha1, -g0], [alpha2/g0, 0]] and an input u constant over the step:
    x(h) = exp(A h) x(0) + (int_0^h exp(A s) ds) u. With the roots l1, l2 of s^2 + alpha1 s + alpha2,
    exp(A h) = (d + l c) 1 + c A, where c = (e^{l1 h} - e^{l2 h}) / (l1 - l2) and l, d belong to l1.

    Args:
        alpha1: Gain [1/s].
        alpha2: Gain [1/s^2].
        h: Step [s].

    Returns:
        exp(A h) and its integral, as nested tuples.
    """
    c0, c1 = _exponential_coefficients(alpha1, alpha2, h)
    g = STANDARD_GRAVITY
    phi = ((c0 - c1 * alpha1, -c1 * g), (c1 * alpha2 / g, c0))
    # int exp(A s) ds = A^-1 (exp(A h) - 1), A^-1 = [[0, g/alpha2], [-1/g, -alpha1/alpha2]]
    m00, m01, m10, m11 = phi[0][0] - 1.0, phi[0][1], phi[1][0], phi[1][1] - 1.0
    gamma = (
        (g / alpha2 * m10, g / alpha2 * m11),
        (-m00 / g - alpha1 / alpha2 * m10, -m01 / g - alpha1 / alpha2 * m11),
    )
    return phi, gamma


@inlined
def _exponential_coefficients(alpha1: float, alpha2: float, h: float) -> tuple[float, float]:
    """Coefficients of exp(A h) = c0 1 + c1 A by interpolation on the eigenvalues (Cayley-Hamilton)."""
    root = cmath.sqrt(0.25 * alpha1 * alpha1 - alpha2)
    middle = -0.5 * alpha1
    z = root * h
    if z.real >= 300.0:  # the roots are far apart: the exponential of the fast one is zero
        slow, fast = middle + root.real, middle - root.real
        c1 = math.exp(slow * h) / (slow - fast)
        return -fast * c1, c1
    ratio = 1.0 + z * z / 6.0 if abs(z) < 1e-4 else cmath.sinh(z) / z
    decay = math.exp(middle * h)
    c1 = decay * (ratio * h).real
    c0 = decay * cmath.cosh(z).real - middle * c1
    return c0, c1
