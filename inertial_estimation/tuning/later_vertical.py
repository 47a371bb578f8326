"""The vertical of a moving IMU by the readings that come later, to judge an estimate by.

In a frame that turns with the gyroscope the integrated specific force F and the contact velocity y, both
turned into that frame, differ by a line,

    d(t) = F(t) - y(t) = -v0 + g0 t z,

whose slope is the vertical z. Fitted over the `WINDOW_S` after a time t, it determines z(t) by readings that
an estimate at t has not used. The noise of later readings is not that of earlier ones, so the mean square of
the angle between the two is the mean square error of the estimate plus that of the fit, which is the same for
every estimate: it is least where the unknown error is (the argument of Lehtinen et al., Noise2Noise, ICML
2018, 2). What both have in common cannot be seen: an offset of the accelerometer, errors that repeat in step
with the window. A constant gyroscope bias turns the two apart, by more than either is wrong: a constant
difference therefore does not count.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.signals import Array, frozen_array
from inertial_estimation.tilt.base_estimator import StepReadings
from inertial_estimation.tilt.contact_velocity import ContactVelocity

WINDOW_S = 1.5  # of readings that determine the vertical [s]
LEAST_CONTACT = 0.5  # share of the window in contact
LEAST_SPREAD = 0.5  # of the times in contact, variance over that of the whole window
UNKNOWN = (np.nan, np.nan, np.nan)


@dataclass(frozen=True, slots=True, eq=False)
class ObserverReadings:
    """What the observer takes at each of K steps.

    Attributes:
        h: Durations of the steps [s], shape (K,).
        w_I: Angular velocity of the IMU, bias removed, mean over each step [rad/s], shape (K, 3).
        f_I: Specific force, mean over each step [m/s^2], shape (K, 3).
        y_v: Velocity of the IMU in its frame from contacts [m/s], shape (K, 3); NaN without contact.
    """

    h: Array
    w_I: Array
    f_I: Array
    y_v: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "h", frozen_array("h", np.ascontiguousarray(self.h)))
        for name in ("w_I", "f_I", "y_v"):
            values = frozen_array(name, np.ascontiguousarray(getattr(self, name)), (len(self.h), 3))
            object.__setattr__(self, name, values)

    @classmethod
    def of(cls, steps: Sequence[StepReadings], radius: float = 0.0) -> "ObserverReadings":
        """Collect those of single steps; feet may be round [m]."""
        contacts = ContactVelocity(radius)
        velocities = []
        for step in steps:
            contacts.turn(step.h, step.rate)
            seen = None if step.feet is None else contacts.look(step.feet, step.vertical)
            velocities.append(UNKNOWN if seen is None or seen[0] > 1.5 * step.h else seen[1])
        return cls(
            np.array([step.h for step in steps]),
            np.array([step.rate for step in steps]),
            np.array([step.force for step in steps]),
            np.array(velocities).reshape(-1, 3),
        )


def later_verticals(readings: ObserverReadings, window_s: float = WINDOW_S) -> Array:
    """Return the vertical in the IMU frame at the end of each step, by later readings alone.

    Args:
        readings: Readings without a break; K steps.
        window_s: Length of the window that determines the vertical [s].

    Returns:
        Unit vectors, shape (K, 3); NaN where the window ends after the readings or has too little contact.
    """
    ends = np.cumsum(readings.h)
    turned = _accumulated(readings)
    middle = turned * Rotation.from_rotvec(-0.5 * readings.h[:, None] * readings.w_I)
    added = middle.apply(readings.f_I.copy()) * readings.h[:, None]
    line = np.cumsum(added, axis=0) - 0.5 * added - middle.apply(np.nan_to_num(readings.y_v))
    slopes = _slopes(ends - 0.5 * readings.h, line, readings, ends, window_s)
    verticals: Array = turned.inv().apply(slopes)
    verticals /= np.linalg.norm(verticals, axis=1, keepdims=True)
    return verticals


def _accumulated(readings: ObserverReadings) -> Rotation:
    """Return the orientation after each step relative to that before the first one."""
    turned = Rotation.from_rotvec(readings.h[:, None] * readings.w_I)
    reach = 1
    while reach < len(readings.h):  # products over twice as many steps each time
        later = turned[:-reach] * turned[reach:]
        turned = Rotation.concatenate([turned[:reach], later])
        reach *= 2
    return turned


def _slopes(t: Array, line: Array, readings: ObserverReadings, begins: Array, window_s: float) -> Array:
    """Return the slopes of a line over windows, over g0, from the samples in contact; NaN where unknown."""
    used = np.isfinite(readings.y_v[:, :1]).astype(float)
    t = t[:, None]
    columns = used * np.concatenate([np.ones_like(t), t, t * t, line, t * line, readings.h[:, None]], axis=1)
    sums = np.concatenate([np.zeros((1, columns.shape[1])), np.cumsum(columns, axis=0)])
    first = np.searchsorted(t[:, 0], begins)
    last = np.searchsorted(t[:, 0], begins + window_s)
    n, s, ss, d, sd, contact = np.split(sums[last] - sums[first], (1, 2, 3, 6, 9), axis=1)
    complete = (begins + window_s <= t[-1, 0])[:, None] & (contact >= LEAST_CONTACT * window_s)
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = ss / n - (s / n) ** 2
        slopes = (sd / n - s / n * (d / n)) / spread / STANDARD_GRAVITY
    known = complete & (spread >= LEAST_SPREAD * window_s**2 / 12.0)
    found: Array = np.where(known, slopes, np.nan)
    return found
