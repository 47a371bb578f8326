"""The error-state Kalman filter of velocity, vertical, gyroscope bias and accelerometer offset of an IMU.

All vectors are in the frame of the IMU. With w = gyroscope - b, f = accelerometer - c and gravity g,

    v' = -w x v + f - g z        z' = -w x z        b' = 0        c' = 0

for the velocity v of the IMU, the vertical z = R_WI' e_z, the gyroscope's bias b and the accelerometer's
offset c.
The errors, 12 numbers, are dv, a, db, dc with v_true = v + dv, z_true = exp(-a) z, b_true = b + db, c_true =
c + dc:

    dv' = -w x dv - g z x a - v x db - dc        a' = -w x a - db

Each function here runs compiled where numba is installed, and as it is elsewhere. Those that step or measure
change the state in place: to hand twelve arrays back would take longer than the mathematics.
"""

import math
from typing import NamedTuple

import numpy as np

from inertial_estimation.compilation import Column, MutableColumn, MutableTable, Table, compiled, inlined
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.signals import Array
from inertial_estimation.spatial.rotations import exp_so3, rotation_vector, skew
from inertial_estimation.spatial.vectors import matrix_of

ERRORS = 12  # dv, a, db, dc
SCALE_ERROR, SCALE_TIME = 0.003, 0.05  # of a gyroscope; the time for which a turn has one direction [1, s]
LEAST_POWER = 1e-8  # of an innovation of contacts, so that its mean is never zero [m^2/s^2]


class TiltState(NamedTuple):
    """State and covariance of the filter.

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
    """Densities of what drives the errors, of one axis.

    Attributes:
        velocity: Of the accelerometer's noise and of velocity errors that wander [m^2/s^3].
        rotation: Of the gyroscope's noise [rad^2/s].
        bias: Of the drift of its bias [rad^2/s^3].
        offset: Of the drift of the accelerometer's offset [m^2/s^5].
    """

    velocity: float
    rotation: float
    bias: float
    offset: float


class Carried(NamedTuple):
    """What the IMU carries along since the last time that the contacts were seen; changed in place.

    Attributes:
        points: Points fixed in the world, as they are expected now [m], shape (n, 3).
        rotation: Rotation of a vector fixed in the world since then, I_now from I_then, shape (3, 3).
        turn: Recent corrections of the vertical, summed [rad], shape (3,).
        turn_variance: Covariance of that sum, if corrections are due to noise alone [rad^2], shape (3, 3).
    """

    points: MutableTable
    rotation: MutableTable
    turn: MutableColumn
    turn_variance: MutableTable


class Contacts(NamedTuple):
    """Contacts as the joints see them.

    Attributes:
        points: Where those of the last time are now, each moved with its foot [m], shape (n, 3).
        turns: Rotation of each foot in the IMU frame since then, its nine numbers by rows, shape (n, 9).
        shares: Share of each contact in the weight, zero where it is not used, of sum one or zero, shape
            (n,).
        flat: Share of each sole that stands flat, zero where it does not, shape (n,).
    """

    points: MutableTable
    turns: MutableTable
    shares: MutableColumn
    flat: MutableColumn


class ContactNoise(NamedTuple):
    """Variance of a contact velocity that has all the weight, as innovations show it.

    Attributes:
        slow: Its mean over seconds [m^2/s^2].
        fast: Its mean over a tenth of a second [m^2/s^2].
        time: Time over which it has been seen [s].
    """

    slow: float
    fast: float
    time: float


@compiled
def propagate(state: TiltState, h: float, reading: Column, carried: Carried) -> None:
    """Advance velocity and vertical by one step, and what the IMU carries along.

    Args:
        state: At the begin of the step; changed.
        h: Its duration [s].
        reading: Mean specific force and angular rate over it [m/s^2, rad/s], shape (6,).
        carried: What is fixed in the world; changed.
    """
    w, f = reading[3:6] - state.bias, reading[0:3] - state.offset
    middle = exp_so3(-0.5 * h * w)
    E = middle @ middle
    before, vertical = E @ state.velocity, E @ state.vertical
    after = before + h * (middle @ (f - STANDARD_GRAVITY * (middle @ state.vertical)))
    travel = (0.5 * h) * (middle @ (state.velocity + after))
    for k in range(len(carried.points)):
        carried.points[k] = E @ carried.points[k] - travel
    carried.rotation[:] = E @ carried.rotation
    state.velocity[:], state.vertical[:] = after, vertical / math.sqrt(vertical @ vertical)


@compiled
def spread(state: TiltState, T: float, rate: Column, noise: ProcessNoise, carried: Carried) -> None:
    """Advance the covariance over an interval.

    Args:
        state: At its end; its covariance, that at the begin, is changed.
        T: Its duration [s].
        rate: Mean reading of the gyroscope over it [rad/s], shape (3,).
        noise: Densities of the noise.
        carried: Its recent corrections turn with the IMU; changed.
    """
    w = rate - state.bias
    E, z_middle = exp_so3(-T * w), exp_so3(0.5 * T * w) @ state.vertical
    F = np.eye(ERRORS)
    F[0:3, 0:3] = E
    F[0:3, 3:6] = skew(-T * STANDARD_GRAVITY * z_middle)
    F[0:3, 6:9] = skew(-T * state.velocity)
    F[3:6, 3:6] = E
    for i in range(3):
        F[i, 9 + i] = -T
        F[3 + i, 6 + i] = -T
    P = F @ state.covariance @ F.T
    rotation = noise.rotation + SCALE_TIME * SCALE_ERROR**2 * (w @ w)
    for i in range(3):
        P[i, i] += T * noise.velocity
        P[3 + i, 3 + i] += T * rotation
        P[6 + i, 6 + i] += T * noise.bias
        P[9 + i, 9 + i] += T * noise.offset
    state.covariance[:] = P
    carried.turn[:] = E @ carried.turn


@inlined
def inverse(A: Array, added: float) -> Array:
    """Return (A + added 1)^-1 of a symmetric matrix of shape (3, 3), by its cofactors."""
    a, b, c = A[0, 0] + added, A[0, 1], A[0, 2]
    d, e, f = A[1, 1] + added, A[1, 2], A[2, 2] + added
    p, q, r = d * f - e * e, c * e - b * f, b * e - c * d
    u, v, w = a * f - c * c, b * c - a * e, a * d - b * b
    scaled: Array = np.array([[p, q, r], [q, u, v], [r, v, w]]) / (a * p + b * q + c * r)
    return scaled


@inlined
def correct(state: TiltState, H: Array, residual: Array, variance: float, carried: Carried) -> None:
    """Correct the state by a measurement of three rows, residual = H (dv, a, db, dc) + noise.

    Args:
        state: Before it; changed.
        H: Shape (3, 12).
        residual: Measured less predicted, shape (3,).
        variance: Of the noise, of one row.
        carried: Takes the correction of the vertical and its covariance; changed.
    """
    P = state.covariance
    PH = P @ H.T
    K = PH @ inverse(H @ PH, variance)
    d, lost = K @ residual, K @ PH.T
    lost = 0.5 * (lost + lost.T)
    P -= lost
    carried.turn[:] += d[3:6]
    carried.turn_variance[:] += lost[3:6, 3:6]
    vertical = exp_so3(-d[3:6]) @ state.vertical
    state.velocity[:] += d[0:3]
    state.vertical[:] = vertical / math.sqrt(vertical @ vertical)
    state.bias[:] += d[6:9]
    state.offset[:] += d[9:12]


@inlined
def tail_weight(state: TiltState, H: Array, residual: Array, variance: float, tail: float) -> float:
    """Return the weight of a residual under Student's t distribution, (n + 3) / (n + d^2).

    Args:
        state: Before the measurement.
        H: Shape (3, 12).
        residual: Measured less predicted, shape (3,).
        variance: Of the noise, of one row.
        tail: n, the degrees of freedom.
    """
    S_inverse = inverse(H @ state.covariance @ H.T, variance)
    return (tail + 3.0) / (tail + float(residual @ S_inverse @ residual))


@compiled
def measure(
    state: TiltState, H: Table, residual: Column, variance: float, tail: float, carried: Carried
) -> None:
    """Correct the state by a measurement of three rows whose noise has the tails of Student's t.

    Args:
        state: Before it; changed.
        H: Its matrix, residual = H (dv, a, db, dc) + noise, shape (3, 12).
        residual: Measured less predicted, shape (3,).
        variance: Of the noise, of one row.
        tail: Degrees of freedom of the distribution of the noise; infinite for a normal one.
        carried: Takes the correction of the vertical; changed.
    """
    if tail < math.inf:
        variance = variance / tail_weight(state, H, residual, variance, tail)
    correct(state, H, residual, variance, carried)


@inlined
def measure_points(
    state: TiltState,
    seen: Contacts,
    interval: float,
    noise: ContactNoise,
    memory: tuple[float, float, float],
    tail: float,
    carried: Carried,
) -> tuple[ContactNoise, Array]:
    """Correct the state by points that are fixed in the world.

    A point that the IMU has carried along is expected where p' = -w x p - v takes it. It is seen where the
    joints put it; the difference over the interval T is a velocity,

        residual = (p_carried - p_seen) / T = dv + p x db + noise.

    The variance of its noise is s^2 over the share of the contact in the weight; s^2 is the mean of what the
    residuals show beyond the filter's own covariance (expectation maximisation, with the weights of
    Student's t).

    Args:
        state: Before it; changed.
        seen: The contacts now.
        interval: T, since the contacts were seen last [s].
        noise: s^2 until now.
        memory: Time constants of its slow and of its fast mean [s], and its least value [m^2/s^2].
        tail: Degrees of freedom of Student's t.
        carried: Points as they are expected; takes the correction of the vertical, changed.

    Returns:
        s^2 as it is now, and the mean residual [m/s], shape (3,).
    """
    count = len(seen.shares)
    H = np.zeros((3, ERRORS))
    for i in range(3):
        H[i, i] = 1.0
    residuals, arms = (carried.points - seen.points) / interval, 0.5 * (carried.points + seen.points)
    level = max(noise.slow, noise.fast, memory[2])
    power = -LEAST_POWER
    mean = np.zeros(3)
    for k in range(count):
        if seen.shares[k] > 0.0:
            H[:, 6:9] = skew(arms[k])
            weight = tail_weight(state, H, residuals[k], level / seen.shares[k], tail)
            known = np.trace(H @ state.covariance @ H.T)
            power += seen.shares[k] * (weight * (residuals[k] @ residuals[k]) - known) / 3.0
            mean += seen.shares[k] * residuals[k]
    power, time = max(power, 0.0), noise.time + interval
    slow = noise.slow + max(1.0 - math.exp(-interval / memory[0]), interval / (time + 0.3)) * (
        power - noise.slow
    )
    fast = noise.fast + max(1.0 - math.exp(-interval / memory[1]), interval / (time + 0.1)) * (
        power - noise.fast
    )
    level = max(slow, fast, memory[2])
    velocity, bias = state.velocity.copy(), state.bias.copy()
    for k in range(count):
        if seen.shares[k] > 0.0:
            S = skew(arms[k])
            H[:, 6:9] = S
            residual = residuals[k] - (state.velocity - velocity) - S @ (state.bias - bias)
            variance = level / seen.shares[k]
            variance = variance / tail_weight(state, H, residual, variance, tail)
            correct(state, H, residual, variance, carried)
    return ContactNoise(slow, fast, time), mean


@inlined
def missed_turn(turn: Array, carried: Carried) -> Array:
    """Return the rotation of a foot that does not turn, which the gyroscope has missed [rad], shape (3,).

    With R the rotation of a vector fixed in the world, in the IMU frame: R_foot R_gyro' = exp(S(missed)).

    Args:
        turn: Rotation of the foot in the IMU frame, its nine numbers by rows, shape (9,).
        carried: What the gyroscope shows.
    """
    missed = turn.reshape(3, 3) @ carried.rotation.T
    return np.array(rotation_vector(matrix_of(missed.reshape(9), 0)))


@compiled
def measure_contacts(
    state: TiltState,
    seen: Contacts,
    interval: float,
    noise: ContactNoise,
    memory: tuple[float, float, float],
    sole_noise: float,
    tail: float,
    carried: Carried,
) -> tuple[ContactNoise, Array]:
    """Correct the state by points that are fixed in the world, and by flat soles, which do not turn.

    What the gyroscope turns beyond a sole is an error of its bias. The other arguments and what is returned
    are those of `measure_points`.

    Args:
        state: Before it; changed.
        seen: The contacts now.
        interval: Since they were seen last [s].
        noise: Variance of a contact velocity until now.
        memory: Time constants of its slow and of its fast mean [s], and its least value [m^2/s^2].
        sole_noise: Density of the rate of a sole that stands [rad^2/s].
        tail: Degrees of freedom of Student's t.
        carried: What is expected; changed.
    """
    noise, residual = measure_points(state, seen, interval, noise, memory, tail, carried)
    H = np.eye(3, ERRORS, 6)
    for k in range(len(seen.flat)):
        if seen.flat[k] > 0.0:
            missed = missed_turn(seen.turns[k], carried) / interval
            variance = sole_noise / (interval * seen.flat[k])
            variance = variance / tail_weight(state, H, missed, variance, tail)
            correct(state, H, missed, variance, carried)
    return noise, residual
