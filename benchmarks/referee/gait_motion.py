"""Gaits of synthetic legged robots: motion of base and feet, with feet that skid, slip, sink and roll.

The motion is kinematic: the base follows a path and oscillates with the gait, and every foot in stance stays
where it touched down except for the imperfections of `FootMotion`. No dynamics are solved, so the motion is
exactly known and any imperfection can be switched off. Lengths of the imperfections are shares of the height
of the hip, so that one gait fits robots of every size.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import make_interp_spline

from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.signals import Array
from inertial_estimation.spatial.rotations import rotation_from_roll_pitch_yaw

WANDER_HZ = (0.07, 0.13, 0.31, 0.53)  # frequencies of the slow changes of roll and pitch
RING_HZ, RING_DECAY = 18.0, 0.025  # frequency [Hz] and decay [s] of the base's ringing after a touchdown
LOADING = 0.25  # share of a stance in which the load of a foot grows, and in which it falls
SWING_HEIGHT = 0.15  # height of a swing, as a share of the hip's height


@dataclass(frozen=True)
class FootMotion:
    """Motion of a foot in stance, in shares of the hip's height; all zero: the foot stands still."""

    skid: float = 0.0  # mean distance a foot slides forward after touchdown
    slips: float = 0.0  # share of the stances with a slip
    slip: float = 0.0  # distance of a slip
    sink: float = 0.0  # depth to which the ground yields under the largest load; a third of it stays
    radius: float = 0.0  # radius of the foot, which rolls


@dataclass(frozen=True)
class BaseMotion:
    """Motion of the base."""

    speed: float = 0.3  # forward speed, as a Froude number v / sqrt(g h) with the hip's height h
    yaw_rate: float = 0.5  # yaw rate [rad/s]
    bounce: float = 0.015  # amplitude of height, lateral and forward motion, of the hip's height
    rocking: float = 0.02  # amplitude of roll and pitch with the gait [rad]
    wander: float = 0.03  # amplitude of slow changes of roll and pitch [rad]
    impact: float = 0.0  # change of velocity at a touchdown that rings off [m/s]


@dataclass(frozen=True)
class Gait:
    """A gait of any number of legs."""

    offsets: tuple[float, ...] = (0.0, 0.5, 0.5, 0.0)  # phase of the touchdown of each contact's leg
    duty: float = 0.55  # share of the stride in which a foot is in stance; a trot below 0.5 has flight phases
    stride_hz: float = 2.0  # strides per second
    base: BaseMotion = field(default_factory=BaseMotion)  # motion of the base
    foot: FootMotion = field(default_factory=FootMotion)  # motion of the feet in stance
    rest_s: float = 2.0  # rest before the motion [s]
    fade_s: float = 1.0  # time in which the motion fades in [s]


@dataclass(frozen=True, eq=False)
class GaitMotion:
    """Motion of base and feet in the world, n samples, m feet."""

    times_s: Array  # time [s], shape (n,)
    position: Array  # position of the base [m], shape (n, 3)
    acceleration: Array  # acceleration of the base [m/s^2], shape (n, 3)
    rotation: Array  # orientation of the base, shape (n, 3, 3)
    rate: Array  # angular velocity of the base, base frame [rad/s], shape (n, 3)
    feet: Array  # positions of the feet [m], shape (n, m, 3)
    load: Array  # vertical force of each foot over the weight, shape (n, m)
    touchdowns: Array  # times since the last touchdown of any foot [s], shape (n,)


def gait_motion(
    gait: Gait, hips: Array, duration_s: float, rate_hz: float, rng: np.random.Generator
) -> GaitMotion:
    """Compute a gait.

    Args:
        gait: The gait.
        hips: Positions of the feet at rest relative to the base's origin [m], shape (m, 3).
        duration_s: Duration [s].
        rate_hz: Samples per second.
        rng: Random generator of phases, slips and footholds.

    Returns:
        The motion.
    """
    t = np.arange(round(duration_s * rate_hz)) / rate_hz
    height = -float(hips[:, 2].mean())
    fade = np.clip((t - gait.rest_s) / gait.fade_s, 0.0, 1.0)
    fade = fade**3 * (10.0 - 15.0 * fade + 6.0 * fade**2)
    moving = np.clip(t - gait.rest_s, 0.0, None)
    phase = gait.stride_hz * moving
    stances = [_stances(t, phase, offset, gait) for offset in gait.offsets]
    speed = gait.base.speed * np.sqrt(STANDARD_GRAVITY * height)
    heading = _integral(gait.base.yaw_rate * fade, rate_hz)
    velocity = np.stack([speed * fade * np.cos(heading), speed * fade * np.sin(heading)], axis=1)
    path = np.column_stack([_integral(velocity, rate_hz), np.zeros(len(t))])
    position, angles = _oscillation(gait, t, phase, fade, heading, path, height, rng)
    position = position + _ringing(gait, t, stances, rng)
    spline, turned = make_interp_spline(t, position, k=5), make_interp_spline(t, angles, k=5)
    R = np.array([rotation_from_roll_pitch_yaw(*row) for row in angles])
    walk = _Walk(gait, t, heading, path, height)
    feet = np.stack([walk.foot(hip, s, rng) for hip, s in zip(hips, stances, strict=True)], axis=1)
    load = np.stack([s.load for s in stances], axis=1) * _share(gait, stances)
    impacts = np.sort(np.concatenate([s.down for s in stances]))
    return GaitMotion(
        t, position, spline(t, 2), R, _body_rate(angles, turned(t, 1)), feet, load, _since(t, impacts)
    )


@dataclass(frozen=True, eq=False)
class _Stances:
    """Stances of one foot: index at each time (-1 before the first), starts and ends [s], load profile."""

    index: NDArray[np.int64]
    down: Array
    up: Array
    load: Array


def _stances(t: Array, phase: Array, offset: float, gait: Gait) -> _Stances:
    """Return the stances: until the first swing, then in every stride from `offset` for a share `duty`."""
    first = (offset + gait.duty) % 1.0  # phase at which it is lifted first
    begins = np.arange(0.0, phase[-1] + 2.0) + first + (1.0 - gait.duty)
    down = gait.rest_s + begins / gait.stride_hz
    up = gait.rest_s + np.concatenate([[first], begins[:-1] + gait.duty]) / gait.stride_hz
    down = np.concatenate([[-1.0], down[:-1]])  # stance k lasts from down[k] to up[k]
    index = np.searchsorted(down, t, side="right") - 1
    standing = t <= up[index]
    s = np.clip((t - down[index]) / np.maximum(up[index] - down[index], 1e-9), 0.0, 1.0)
    profile = np.where(standing, np.clip(np.minimum(s, 1.0 - s) / LOADING, 0.0, 1.0), 0.0)
    first_stance = index == 0
    rest = np.clip((up[0] - t) * gait.stride_hz / 0.1, 0.0, 1.0)
    profile = np.where(first_stance & standing, rest, np.sin(0.5 * np.pi * profile))
    return _Stances(index, down, up, profile)


def _share(gait: Gait, stances: Sequence[_Stances]) -> Array:
    """Return the peak load of a foot over the weight, such that the mean of the sum is the weight."""
    total = np.sum([s.load for s in stances], axis=0)
    mean = max(float(total.mean()), 1e-6)
    share: Array = np.where(total > 0.0, 0.5 / mean + 0.5 / np.maximum(total, 1.0), 1.0 / mean)
    return share[:, None]


class _Walk:
    """Footholds below the path, and the motion of a foot on and between them."""

    def __init__(self, gait: Gait, t: Array, heading: Array, path: Array, height: float) -> None:
        self._gait, self._t, self._heading, self._path = gait, t, heading, path
        self._height = height

    def foot(self, hip: Array, stances: _Stances, rng: np.random.Generator) -> Array:
        """Return the position of one foot in the world [m], shape (n, 3)."""
        t, k = self._t, stances.index
        middle = np.where(np.arange(len(stances.down)) > 0, 0.5 * (stances.down + stances.up), 0.0)
        below = self._path + _rotated(self._heading, hip)
        holds = below[np.minimum(np.searchsorted(t, middle), len(t) - 1)]
        own = holds[k] + self._imperfect(below - holds[k], stances, rng)
        nxt = np.minimum(k + 1, len(holds) - 1)
        swing = np.clip((t - stances.up[k]) / np.maximum(stances.down[nxt] - stances.up[k], 1e-9), 0.0, 1.0)
        s = (swing**3 * (10.0 - 15.0 * swing + 6.0 * swing**2))[:, None]
        feet: Array = (1.0 - s) * own + s * holds[nxt]
        feet[:, 2] += SWING_HEIGHT * self._height * 64.0 * (swing * (1.0 - swing)) ** 3
        return feet

    def _imperfect(self, ahead: Array, stances: _Stances, rng: np.random.Generator) -> Array:
        """Return the displacement of a foot from its foothold in stance [m], with the hip `ahead`, (n, 3)."""
        foot, h, t, k = self._gait.foot, self._height, self._t, stances.index
        n = len(stances.down)
        forward = np.stack([np.cos(self._heading), np.sin(self._heading), 0.0 * t], axis=1)
        since = np.clip(t - stances.down[k], 0.0, None)
        active = (k > 0).astype(float)
        aside = rng.standard_normal((n, 2))
        skid = foot.skid * h * np.exp(0.5 * rng.standard_normal(n))[k] * (1.0 - np.exp(-since / 0.03))
        out = (active * skid)[:, None] * (forward + 0.5 * np.column_stack([aside, np.zeros(n)])[k])
        slipping = (rng.uniform(size=n) < foot.slips)[k] * active
        moment = (stances.down + rng.uniform(0.2, 0.7, n) * (stances.up - stances.down))[k]
        s = np.clip((t - moment) / 0.06, 0.0, 1.0)
        direction = rng.standard_normal((n, 3)) * (1.0, 1.0, 0.0)
        direction /= np.linalg.norm(direction, axis=1)[:, None]
        out += (slipping * foot.slip * h * s**2 * (3.0 - 2.0 * s))[:, None] * direction[k]
        stays = 1.0 - np.exp(-since / 0.05)
        out[:, 2] -= active * foot.sink * h * (2.0 / 3.0 * stances.load + 1.0 / 3.0 * stays)
        lean = ahead * (1.0, 1.0, 0.0)
        return out + (active * foot.radius)[:, None] * lean  # a rolling foot moves with its leg's angle


def _rotated(heading: Array, hip: Array) -> Array:
    c, s = np.cos(heading), np.sin(heading)
    return np.stack([c * hip[0] - s * hip[1], s * hip[0] + c * hip[1], 0.0 * c], axis=1)


def _oscillation(
    gait: Gait,
    t: Array,
    phase: Array,
    fade: Array,
    heading: Array,
    path: Array,
    height: float,
    rng: np.random.Generator,
) -> tuple[Array, Array]:
    """Return position [m] and roll, pitch, yaw [rad] of the base with the oscillations of the gait."""
    base = gait.base
    two = 4.0 * np.pi * phase + rng.uniform(0.0, 2.0 * np.pi)
    one = 2.0 * np.pi * phase + rng.uniform(0.0, 2.0 * np.pi)
    size = base.bounce * height * fade
    forward, aside = 0.5 * size * np.sin(two + 1.0), 0.7 * size * np.sin(one)
    c, s = np.cos(heading), np.sin(heading)
    moved = np.stack([c * forward - s * aside, s * forward + c * aside, size * np.cos(two)], axis=1)
    roll, pitch = base.rocking * fade * np.sin(one + 0.5), base.rocking * fade * np.sin(two + 2.0)
    slow = np.zeros((2, len(t)))
    for frequency in WANDER_HZ:
        angles = rng.uniform(0.0, 2.0 * np.pi, (2, 1))
        slow += base.wander / np.sqrt(len(WANDER_HZ)) * np.sin(2.0 * np.pi * frequency * t + angles)
    slow *= fade
    origin = path + moved + np.array([0.0, 0.0, height])
    return origin, np.stack([roll + slow[0], pitch + slow[1], heading], axis=1)


def _ringing(gait: Gait, t: Array, stances: Sequence[_Stances], rng: np.random.Generator) -> Array:
    """Return the displacement of the base after touchdowns [m]: a change of velocity that rings down."""
    out = np.zeros((len(t), 3))
    omega = 2.0 * np.pi * RING_HZ
    for down in np.concatenate([s.down[1:] for s in stances]):
        since = np.clip(t - down, 0.0, None)
        kick = gait.base.impact * rng.standard_normal(3) * (0.5, 0.5, 1.0)
        smooth = 1.0 - np.exp(-((since / 0.008) ** 2))  # the velocity changes over some milliseconds
        out += (smooth * np.sin(omega * since) / omega * np.exp(-since / RING_DECAY))[:, None] * kick
    return out


def _body_rate(angles: Array, rates: Array) -> Array:
    """Return w_B = E(roll, pitch) (roll', pitch', yaw') [rad/s]."""
    cr, sr = np.cos(angles[:, 0]), np.sin(angles[:, 0])
    cp, sp = np.cos(angles[:, 1]), np.sin(angles[:, 1])
    r, p, y = rates.T
    return np.stack([r - sp * y, cr * p + sr * cp * y, -sr * p + cr * cp * y], axis=1)


def _integral(rate: Array, rate_hz: float) -> Array:
    steps = 0.5 * (rate[1:] + rate[:-1]) / rate_hz
    return np.concatenate([np.zeros_like(rate[:1]), np.cumsum(steps, axis=0)])


def _since(t: Array, moments: Array) -> Array:
    index = np.searchsorted(moments, t, side="right") - 1
    since: Array = np.where(index >= 0, t - moments[np.maximum(index, 0)], np.inf)
    return since
