"""The error-state Kalman filter of velocity, vertical, gyroscope bias and accelerometer offset of an IMU.

All vectors are in the frame of the IMU. With w = gyroscope - b, f = accelerometer - c and gravity g,

    v' = -w x v + f - g z        z' = -w x z        b' = 0        c' = -k c

for the velocity v of the IMU, the vertical z = R_WI' e_z, the gyroscope's bias b and the accelerometer's
offset c, which returns to zero at the rate k, so that its variance stays bounded however long it drifts.
The errors, 12 numbers, are dv, a, db, dc with v_true = v + dv, z_true = exp(-a) z, b_true = b + db, c_true =
c + dc:

    dv' = -w x dv - g z x a - v x db - dc        a' = -w x a - db

What runs at every reading and at every measurement is compiled where numba is installed, and runs as it is
elsewhere. It works on vectors as tuples, which compile in a tenth of the time of slices of arrays.
"""

import math
from typing import NamedTuple

import numpy as np

from inertial_estimation.compilation import Column, MutableColumn, MutableTable, Table, compiled, inlined
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.signals import Array
from inertial_estimation.spatial.rotations import (
    Matrix,
    add,
    block_of,
    combine,
    cross,
    dot,
    exp_so3,
    normalised,
    product,
    rotation,
    rows_of,
    skew,
    store,
    sum_of,
    times,
    transposed,
    vector_of,
)

ERRORS = 12  # dv, a, db, dc
IDENTITY = np.eye(ERRORS)  # copied, which takes less time than a new one
LEAST_VARIANCE = 1e-12  # of the accelerometer's offset: that of an observer that has none [m^2/s^4]
SCALE_ERROR, SCALE_TIME = 0.006, 0.05  # scale error of a gyroscope; correlation time of rotations [1, s]


class TiltState(NamedTuple):
    """State and covariance of the filter, changed in place.

    Attributes:
        velocity: v, of the IMU [m/s], shape (3,).
        vertical: z, unit norm, shape (3,).
        bias: b, of the gyroscope [rad/s], shape (3,).
        offset: c, of the accelerometer [m/s^2], shape (3,).
        covariance: Of dv, a, db, dc, shape (12, 12).
    """

    velocity: MutableColumn
    vertical: MutableColumn
    bias: MutableColumn
    offset: MutableColumn
    covariance: MutableTable


class ProcessNoise(NamedTuple):
    """Densities of the process noise of one axis.

    Attributes:
        velocity: Of the accelerometer's noise and of slow velocity errors [m^2/s^3].
        rotation: Of the gyroscope's noise [rad^2/s].
        bias: Of the drift of the gyroscope's bias [rad^2/s^3].
        offset: Of the drift of the accelerometer's offset [m^2/s^5].
        offset_rate: k, at which the offset returns to zero [1/s].
    """

    velocity: float
    rotation: float
    bias: float
    offset: float
    offset_rate: float


class Turns(NamedTuple):
    """Sum of recent corrections of the vertical, changed in place.

    Attributes:
        sum: Exponentially weighted sum, in the frame of the IMU [rad], shape (3,).
        covariance: Expected covariance of the sum, by noise alone [rad^2], shape (3, 3).
    """

    sum: MutableColumn
    covariance: MutableTable


@compiled
def propagate(
    h: float,
    reading: Column,
    velocity: MutableColumn,
    vertical: MutableColumn,
    bias: Column,
    offset: Column,
    origin: MutableColumn,
    axes: MutableTable,
) -> None:
    """Propagate velocity, vertical and a frame that is fixed in the world over one step.

    Args:
        h: Duration of the step [s].
        reading: Mean specific force and angular rate over the step [m/s^2, rad/s], shape (6,).
        velocity: v at the start of the step [m/s]; changed to that at the end, as the following ones.
        vertical: z at the start of the step; changed.
        bias: Bias of the gyroscope [rad/s].
        offset: Offset of the accelerometer [m/s^2].
        origin: Origin of the fixed frame, from the IMU [m], shape (3,); changed.
        axes: Axes of the fixed frame, one in each row, shape (3, 3); changed.
    """
    w, f = combine(vector_of(reading, 3), -1.0, vector_of(bias, 0)), vector_of(reading, 0)
    middle = rotation((-0.5 * h * w[0], -0.5 * h * w[1], -0.5 * h * w[2]))
    z = times(middle, vector_of(vertical, 0))
    push = combine(combine(f, -1.0, vector_of(offset, 0)), -STANDARD_GRAVITY, z)
    before = times(middle, vector_of(velocity, 0))
    after = times(middle, combine(before, h, push))
    travel = combine(times(middle, before), 1.0, after)
    store(origin, 0, combine(times(middle, times(middle, vector_of(origin, 0))), -0.5 * h, travel))
    for k in range(3):
        store(axes[k], 0, times(middle, times(middle, vector_of(axes[k], 0))))
    store(velocity, 0, after)
    store(vertical, 0, normalised(times(middle, z)))


def propagate_covariance(state: TiltState, T: float, rate: Array, noise: ProcessNoise, turns: Turns) -> None:
    """Propagate the covariance over an interval.

    Args:
        state: State at the end of the interval; its offset and covariance at the start are changed to those
            at the end.
        T: Duration of the interval [s].
        rate: Mean reading of the gyroscope over the interval [rad/s], shape (3,).
        noise: Densities of the noise.
        turns: Recent corrections, which are rotated with the IMU; changed.
    """
    w = rate - state.bias
    E, z_middle = exp_so3(-T * w), exp_so3(0.5 * T * w) @ state.vertical
    F = IDENTITY.copy()
    F[0:3, 0:3] = F[3:6, 3:6] = E
    F[0:3, 3:6], F[0:3, 6:9] = skew(-T * STANDARD_GRAVITY * z_middle), skew(-T * state.velocity)
    F[0:3, 9:12] = F[3:6, 6:9] = -T * IDENTITY[:3, :3]
    kept = math.exp(-T * noise.offset_rate)
    F[9:12, 9:12] *= kept
    state.offset[:] *= kept
    state.covariance[:] = F @ state.covariance @ F.T
    rotation_noise = noise.rotation + SCALE_TIME * SCALE_ERROR**2 * float(w @ w)
    variances = state.covariance.ravel()[:: ERRORS + 1].reshape(4, 3)  # a view
    variances += T * np.array(((noise.velocity,), (rotation_noise,), (noise.bias,), (noise.offset,)))
    turns.sum[:] = E @ turns.sum


@inlined
def inverse(A: Matrix, added: float) -> Matrix:
    """Return (A + added 1)^-1 of a symmetric matrix, by its cofactors."""
    a, b, c = A[0][0] + added, A[0][1], A[0][2]
    d, e, f = A[1][1] + added, A[1][2], A[2][2] + added
    p, q, r = d * f - e * e, c * e - b * f, b * e - c * d
    u, v, w = a * f - c * c, b * c - a * e, a * d - b * b
    scale = 1.0 / (a * p + b * q + c * r)
    p, q, r, u, v, w = scale * p, scale * q, scale * r, scale * u, scale * v, scale * w
    return (p, q, r), (q, u, v), (r, v, w)


class MotionRows(NamedTuple):
    """Innovations at one time: of points that do not move, then of bodies that do not rotate.

    Attributes:
        innovations: Measured minus predicted velocity of the IMU [m/s], or rate minus that of the gyroscope
            [rad/s], shape (n, 3).
        arms: Positions of the points from the IMU [m]; meaningless for bodies, shape (n, 3).
        shares: Variance of the noise of a contact with all the weight over that of this one; zero: not
            measured, shape (n,).
    """

    innovations: MutableTable
    arms: MutableTable
    shares: MutableColumn


@compiled
def measure(
    rows: MotionRows,
    points: int,
    variances: tuple[float, float],
    tail: float,
    state: TiltState,
    turns: Turns,
) -> float:
    """Correct the state by measurements at one time, processed sequentially.

    The first ones are of points at rest at p from the IMU, y = v + p x b + noise, the others of soles or a
    body that do not rotate, y = b + noise. The noise has a Student's t distribution.

    Args:
        rows: Innovations of all measurements, computed before the first correction.
        points: Number of measurements of points.
        variances: Of the noise of a contact with all the weight: points [m^2/s^2], others [rad^2/s^2].
        tail: Degrees of freedom of the noise's distribution; infinite for a normal one.
        state: State before the measurements; changed to that after them.
        turns: Recent corrections of the vertical; changed.

    Returns:
        Estimate of the actual over the stated variance R of points, from their residuals r: the sum over the
        points of the mean over the axes of (w r^2 - H P H') / R, with the weights w of Student's t.
    """
    velocity, vertical, bias, offset, P = state
    turn, turn_covariance = turns
    v_before, b_before = vector_of(velocity, 0), vector_of(bias, 0)
    shown = 0.0
    for n in range(len(rows.shares)):
        if rows.shares[n] <= 0.0:
            continue
        p, variance = vector_of(rows.arms[n], 0), variances[0 if n < points else 1] / rows.shares[n]
        H = np.zeros((3, ERRORS))
        dv, db = combine(vector_of(velocity, 0), -1.0, v_before), combine(vector_of(bias, 0), -1.0, b_before)
        if n < points:
            H[0, 0] = H[1, 1] = H[2, 2] = 1.0
            H[0, 7], H[0, 8], H[1, 8] = -p[2], p[1], -p[0]  # S(p)
            H[1, 6], H[2, 6], H[2, 7] = p[2], -p[1], p[0]
            expected = add(dv, cross(p, db))
        else:
            H[0, 6] = H[1, 7] = H[2, 8] = 1.0
            expected = db
        PH = P @ H.T
        HPH = rows_of(H @ PH)
        r = combine(vector_of(rows.innovations[n], 0), -1.0, expected)
        weight = 1.0
        if tail < math.inf:
            weight = (tail + 3.0) / (tail + dot(r, times(inverse(HPH, variance), r)))
        K = PH @ np.array(inverse(HPH, variance / weight))
        lost = K @ PH.T
        P -= 0.5 * (lost + lost.T)  # which differ by rounding only
        turn_covariance += lost[3:6, 3:6]
        d = K @ np.array(r)
        a = vector_of(d, 3)
        velocity += d[0:3]
        bias += d[6:9]
        offset += d[9:12]
        turn += d[3:6]
        store(vertical, 0, normalised(times(rotation((-a[0], -a[1], -a[2])), vector_of(vertical, 0))))
        if n < points:
            shown += (weight * dot(r, r) - HPH[0][0] - HPH[1][1] - HPH[2][2]) / (3.0 * variance)
    return shown


@inlined
def tilt_covariance(P: Table, factor: float) -> Matrix:
    """Return the covariance of the rotation error a if the actual noise is larger than stated [rad^2].

    It is A + factor (P_aa - A) with A = P_ac P_cc^-1 P_ca, the part due to the offset of the accelerometer,
    which does not depend on the noise.

    Args:
        P: Covariance of all errors, shape (12, 12).
        factor: Actual over stated variance of the noise.
    """
    P_ac = block_of(P, 3, 9)
    of_offset = product(product(P_ac, inverse(block_of(P, 9, 9), LEAST_VARIANCE)), transposed(P_ac))
    return sum_of(of_offset, factor, sum_of(block_of(P, 3, 3), -1.0, of_offset))
