"""Arithmetic of the Kalman observer: one covariance for both horizontal axes, gains, measured noise.

A horizontal vector is a complex number, and i turns it by 90 degrees about the vertical. With the turn rate W
about the vertical, the errors of velocity, vertical, gyro bias and offset of the specific force obey

    v' = -i W v - g0 z - c,   z' = -i W z - i b,   b' = 0,   c' = 0

in the IMU frame. Nothing distinguishes one horizontal direction from another, so that the covariance is a
Hermitian matrix of these four numbers, whatever the tilt is.
"""

import cmath

from inertial_estimation.compilation import MutableColumn, compiled, inlined
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.spatial.vectors import (
    ZERO,
    Vector,
    combine,
    cross,
    dot,
    normalised,
    rotate,
    store,
    vector_of,
)

AIDED_SIGMA = 0.05  # of the accelerometer's direction in flight, where it has the length of gravity [rad]
LEAST_NOISE = 1e-5  # density of the contact velocity's noise [m^2/s]: 3 mm over a second
INITIAL_NOISE = 2e-3  # the same before it is measured [m^2/s]
INITIAL_VELOCITY = 0.1  # standard deviation of a velocity that was set, of one axis [m/s]
LEAST_VARIANCE = 1e-14  # of velocity [m^2/s^2], vertical [rad^2] and offset [m^2/s^4]

# Numbers of the state. Covariance: variances of velocity, vertical, bias and offset, then real and imaginary
# part of the six covariances. Offset of the specific force [m/s^2]. Copy of both before the last correction.
# Density of the contact velocity's noise [m^2/s], sum of the innovations of the present window [m], its
# duration [s], the gains of the last step on velocity and vertical [1/s], [1/s^2], and the mean innovation
# of the window before [m/s].
VV, ZZ, BB, CC, VZ, VB, VC, ZB, ZC, BC = 0, 1, 2, 3, 4, 6, 8, 10, 12, 14
OFFSET, KEPT, VELOCITY_NOISE, INNOVATIONS, WINDOW, RATES, LAST, SIZE = 16, 19, 38, 39, 42, 43, 45, 48


@inlined
def _complex(state: MutableColumn, k: int) -> complex:
    return complex(state[k], state[k + 1])


@inlined
def _store_complex(state: MutableColumn, k: int, value: complex) -> None:
    state[k], state[k + 1] = value.real, value.imag


@compiled
def begin(state: MutableColumn, sigma: float, offset_sigma: float) -> None:
    """Set the covariance of a vertical that was determined with the specific force as it is read.

    An offset c of the specific force has turned such a vertical by c/g0, so that the two errors are
    correlated. The offset found until now is forgotten. The noise of the contact velocity is kept, but for
    what exceeds the one assumed at first: it may come from the innovations of the wrong vertical before, and
    a contact velocity that hardly counts would let the new one drift, and the innovations grow, for long.

    Args:
        state: Numbers of the observer.
        sigma: Standard deviation of the vertical apart from the offset [rad].
        offset_sigma: Standard deviation of the offset, of one axis [m/s^2].
    """
    bias_variance = state[BB]
    for k in range(OFFSET + 3):
        state[k] = 0.0
    state[VV], state[BB], state[CC] = INITIAL_VELOCITY**2, bias_variance, offset_sigma**2
    state[ZC] = -(offset_sigma**2) / STANDARD_GRAVITY
    state[ZZ] = sigma**2 + (offset_sigma / STANDARD_GRAVITY) ** 2
    known = state[VELOCITY_NOISE] > 0.0
    state[VELOCITY_NOISE] = min(state[VELOCITY_NOISE], INITIAL_NOISE) if known else INITIAL_NOISE
    _keep(state)


@inlined
def _keep(state: MutableColumn) -> None:
    for k in range(OFFSET + 3):
        state[KEPT + k] = state[k]


@compiled
def undo(state: MutableColumn) -> None:
    """Take back what the last correction did to covariance and offset.

    Args:
        state: Numbers of the observer.
    """
    for k in range(OFFSET + 3):
        state[k] = state[KEPT + k]


@compiled
def forget_velocity(state: MutableColumn) -> None:
    """Set the covariance of a velocity that was set from outside.

    Args:
        state: Numbers of the observer.
    """
    state[VV] = INITIAL_VELOCITY**2
    for k in (VZ, VB, VC):
        _store_complex(state, k, 0j)


@compiled
def propagate(
    h: float,
    turn_rate: float,
    gyro_density: float,
    bias_variance: float,
    drifts: tuple[float, float],
    state: MutableColumn,
) -> None:
    """Advance the covariance over a step: P <- Phi P Phi^H + Q.

    Args:
        h: Duration of the step [s].
        turn_rate: Angular rate about the vertical [rad/s].
        gyro_density: Of the gyroscope's noise [rad^2/s].
        bias_variance: Of the gyro bias across the vertical [rad^2/s^2]; where it falls, the bias was
            corrected by others, and its covariances fall in proportion.
        drifts: Random walks of the velocity [m/s/sqrt(s)] and of the offset [m/s^2/sqrt(s)].
        state: Numbers of the observer.
    """
    if bias_variance < state[BB]:
        share = bias_variance / state[BB]
        for k in (VB, ZB, BC):
            _store_complex(state, k, share * _complex(state, k))
    state[BB] = bias_variance
    e, hg, ih = cmath.exp(complex(0.0, -turn_rate * h)), h * STANDARD_GRAVITY, complex(0.0, h)
    vv, zz, bb, cc = state[VV], state[ZZ], state[BB], state[CC]
    vz, vb, vc = _complex(state, VZ), _complex(state, VB), _complex(state, VC)
    zb, zc, bc = _complex(state, ZB), _complex(state, ZC), _complex(state, BC)
    m_vv = e * vv - hg * vz.conjugate() - h * vc.conjugate()
    m_vz = e * vz - hg * zz - h * zc.conjugate()
    m_vb = e * vb - hg * zb - h * bc.conjugate()
    m_vc = e * vc - hg * zc - h * cc
    m_zz, m_zb, m_zc = e * zz - ih * zb.conjugate(), e * zb - ih * bb, e * zc - ih * bc
    back = e.conjugate()
    state[VV] = (back * m_vv - hg * m_vz - h * m_vc).real + h * drifts[0] * drifts[0]
    state[ZZ] = (back * m_zz + ih * m_zb).real + h * gyro_density
    state[CC] = cc + h * drifts[1] * drifts[1]
    _store_complex(state, VZ, back * m_vz + ih * m_vb)
    _store_complex(state, VB, m_vb)
    _store_complex(state, VC, m_vc)
    _store_complex(state, ZB, m_zb)
    _store_complex(state, ZC, m_zc)


@compiled
def settle(h: float, gain: float, state: MutableColumn) -> None:
    """Lower the variance of a vertical that converges to the accelerometer's direction without contact.

    Args:
        h: Duration of the step [s].
        gain: Rate of convergence [1/s].
        state: Numbers of the observer.
    """
    excess = max(state[ZZ] - AIDED_SIGMA**2, 0.0)
    state[ZZ] -= excess * min(2.0 * gain * h, 1.0)


@inlined
def _correct(variance: float, state: MutableColumn) -> tuple[float, complex, complex]:
    """Update the covariance by a velocity of this variance; return the gains of v, z and c.

    The bias is considered, not estimated (Schmidt): its covariances count, its gain is zero.
    """
    vv = state[VV]
    vz, vb, vc = _complex(state, VZ), _complex(state, VB), _complex(state, VC)
    whole = vv + variance
    k_v, k_z, k_c = vv / whole, vz.conjugate() / whole, vc.conjugate() / whole
    left = 1.0 - k_v
    state[VV] = max(left * vv, LEAST_VARIANCE)
    state[ZZ] = max(state[ZZ] - (k_z * vz).real, LEAST_VARIANCE)
    state[CC] = max(state[CC] - (k_c * vc).real, LEAST_VARIANCE)
    _store_complex(state, ZB, _complex(state, ZB) - k_z * vb)
    _store_complex(state, ZC, _complex(state, ZC) - k_z * vc)
    _store_complex(state, BC, _complex(state, BC) - (k_c * vb).conjugate())
    _store_complex(state, VZ, left * vz)
    _store_complex(state, VB, left * vb)
    _store_complex(state, VC, left * vc)
    return k_v, k_z, k_c


@inlined
def _measure_noise(
    h: float, innovation: Vector, x2: Vector, window: float, memory: float, state: MutableColumn
) -> None:
    """Measure the density of the contact velocity's noise by mean innovations of successive windows.

    Errors of a step of the gait that average out within the window do not count, since they do not turn the
    vertical either; slips do. The mean square of the differences of successive means (von Neumann) leaves out
    what lasts: a wrong tilt or gyro bias, by which the innovation grows slowly, must not lower the gains.
    """
    total = combine(vector_of(state, INNOVATIONS), h, innovation)
    state[WINDOW] += h
    duration = state[WINDOW]
    if duration < window:
        store(state, INNOVATIONS, total)
        return
    scale = 1.0 / duration
    mean = combine(ZERO, scale, combine(total, -dot(total, x2), x2))
    change = combine(mean, -1.0, vector_of(state, LAST))
    store(state, LAST, mean)
    seen = 0.25 * duration * dot(change, change)
    share = min(duration / memory, 1.0)
    noise = state[VELOCITY_NOISE] + share * (seen - state[VELOCITY_NOISE])
    state[VELOCITY_NOISE] = max(noise, LEAST_NOISE)
    store(state, INNOVATIONS, ZERO)
    state[WINDOW] = 0.0


@inlined
def _applied(gain: complex, a: Vector, x2: Vector) -> Vector:
    """Multiply a horizontal vector by a complex number."""
    turned = cross(x2, a)
    x, y = gain.real, gain.imag
    return x * a[0] + y * turned[0], x * a[1] + y * turned[1], x * a[2] + y * turned[2]


@compiled
def kalman_step(
    h: float,
    noise: tuple[float, float, float],
    tuning: tuple[float, float],
    drifts: tuple[float, float],
    before: tuple[Vector, Vector],
    w_I: Vector,
    f_I: Vector,
    y_v: Vector,
    state: MutableColumn,
) -> tuple[Vector, Vector, Vector, Vector]:
    """Advance the observer by one step with contact.

    Args:
        h: Duration of the step [s].
        noise: Density of the gyroscope's noise [rad^2/s], variance of the gyro bias across the vertical
            [rad^2/s^2], and the information of this contact velocity over the usual one.
        tuning: Window and memory with which the contact velocity's noise is measured [s].
        drifts: Random walks of the velocity [m/s/sqrt(s)] and of the offset [m/s^2/sqrt(s)].
        before: x1 [m/s] and x2 at the start.
        w_I: Angular velocity of the IMU, bias removed, mean over the step [rad/s].
        f_I: Specific force, mean over the step [m/s^2].
        y_v: Velocity of the IMU in its frame from contacts, mean over the step [m/s].
        state: Numbers of the observer.

    Returns:
        x1 and x2 at the end, the innovation at the middle of the step [m/s], and the correction of the
        vertical [rad/s].
    """
    half = (-0.5 * h * w_I[0], -0.5 * h * w_I[1], -0.5 * h * w_I[2])
    x1, x2 = rotate(half, before[0]), rotate(half, before[1])
    offset = vector_of(state, OFFSET)
    a = combine(combine(f_I, -1.0, offset), -STANDARD_GRAVITY, x2)
    innovation = combine(combine(y_v, -1.0, x1), -0.5 * h, a)
    x1, x2 = rotate(half, combine(x1, h, a)), rotate(half, x2)
    density, bias_variance, information = noise
    propagate(h, dot(w_I, x2), density, bias_variance, drifts, state)
    _keep(state)
    _measure_noise(h, innovation, x2, tuning[0], tuning[1], state)
    variance = state[VELOCITY_NOISE] / (h * information)
    k_v, k_z, k_c = _correct(variance, state)
    state[RATES], state[RATES + 1] = k_v / h, -STANDARD_GRAVITY * k_z.real / h
    level = combine(innovation, -dot(innovation, x2), x2)
    turn = cross(x2, _applied(k_z, level, x2))
    store(state, OFFSET, combine(offset, 1.0, _applied(k_c, level, x2)))
    correction = (turn[0] / h, turn[1] / h, turn[2] / h)
    return combine(x1, k_v, innovation), normalised(rotate(turn, x2)), innovation, correction
