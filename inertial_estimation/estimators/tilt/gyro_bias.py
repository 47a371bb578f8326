"""Gyroscope bias: averaged at rest, and online from what the tilt observer has to correct.

The bias b is a random walk with variance P_h across the vertical and P_v along it. Two measurements:
at rest the mean rate over a window is b itself, less the rate with which the body still turns on its feet by
the joints where that is more than sway (a body that settles after it was set down passes for rest); in motion
the angular velocity by which the observer turns the vertical beyond the gyroscope is, in the mean, the
horizontal part of b (the vertical part does not move the vertical and is learnt at rest only). Errors of the
latter while walking are not white: they come from feet that roll and legs that bend, so below a floor of
uncertainty it is no longer used.
"""

import math
from dataclasses import dataclass

import numpy as np

from inertial_estimation.compilation import (
    Column,
    MutableColumn,
    MutableTable,
    compiled,
    inlined,
    numbers,
    warm_up,
    zeros,
)
from inertial_estimation.parameters import parameter
from inertial_estimation.signals import Array
from inertial_estimation.spatial.vectors import ZERO, Vector, combine, dot, norm, store, vector_of

__all__ = ["GyroBiasConfig", "GyroBiasEstimator", "JointSpeed"]

WINDOW = 256  # readings for which a window has memory at first
SETTLING = 3.0  # times `rest_sigma`: a rate by the feet beyond it is motion, below it joint velocities err
# A row of the window: duration, rate, specific force, rate by the feet, and whether they determine one.
STEP, RATE, FORCE, BODY, KNOWN, WIDTH = 0, 1, 4, 7, 10, 11
# Sums over the window: rates, their squares, forces, their squares, rates by the feet and how many of them;
# then the oldest row, the number of rows and the duration [s].
BODY_SUM, KNOWN_COUNT, FIRST, COUNT, DURATION, SIZE = 12, 15, 16, 17, 18, 19


@dataclass(frozen=True)
class GyroBiasConfig:
    """How the gyroscope bias is found."""

    at_rest: bool = parameter(
        True, "Whether the gyroscope bias is estimated by averaging while the robot is at rest.", runtime=True
    )
    online: bool = parameter(
        True,
        "Whether the horizontal gyroscope bias is estimated in motion, from the correction of the tilt "
        "observer.",
        runtime=True,
    )
    initial_sigma: float = parameter(
        0.01,
        "Standard deviation of each component of the gyroscope bias at the start.",
        unit="rad/s",
        lower=1e-6,
        upper=1.0,
    )
    drift: float = parameter(
        6e-5,
        "Random walk of the gyroscope bias per square root of a second (the default is 0.0005 rad/s in a "
        "minute); larger adapts faster.",
        unit="rad/s",
        lower=0.0,
        upper=0.1,
        runtime=True,
    )
    rest_sigma: float = parameter(
        0.002,
        "Standard deviation of the mean angular rate over one second of rest, in which the body sways and "
        "settles.",
        unit="rad/s",
        lower=1e-6,
        upper=0.1,
        runtime=True,
    )
    rest_window: float = parameter(
        0.5,
        "Time for which the IMU readings must stay quiet before they count as rest.",
        unit="s",
        lower=0.05,
        upper=10.0,
    )
    rest_rate_deviation: float = parameter(
        0.02,
        "Largest standard deviation of each gyroscope axis over rest_window at which the robot counts as "
        "at rest.",
        unit="rad/s",
        lower=1e-5,
        upper=1.0,
        runtime=True,
    )
    rest_force_deviation: float = parameter(
        0.4,
        "Largest standard deviation of each accelerometer axis over rest_window at which the robot counts "
        "as at rest.",
        unit="m/s^2",
        lower=1e-3,
        upper=10.0,
        runtime=True,
    )
    rest_rate: float = parameter(
        0.05,
        "Largest mean angular rate of each gyroscope axis, the bias not subtracted, at which the robot "
        "counts as at rest.",
        unit="rad/s",
        lower=1e-4,
        upper=1.0,
        runtime=True,
    )
    rest_joint_speed: float = parameter(
        0.02,
        "Largest speed of a joint between IMU and contacts, smoothed over rest_window, at which the robot "
        "counts as at rest.",
        unit="rad/s",
        lower=1e-4,
        upper=10.0,
        runtime=True,
    )
    online_sigma: float = parameter(
        0.01,
        "Standard deviation of the mean tilt correction over one second of motion, as a measurement of the "
        "gyroscope bias.",
        unit="rad/s",
        lower=1e-6,
        upper=1.0,
        runtime=True,
    )
    online_floor: float = parameter(
        0.003,
        "Standard deviation of the gyroscope bias below which it is no longer corrected in motion.",
        unit="rad/s",
        lower=0.0,
        upper=1.0,
        runtime=True,
    )


class GyroBiasEstimator:
    """Bias of the gyroscope with its variance across and along the vertical.

    Attributes:
        config: Parameters; they may be replaced at run time.
        bias: Estimate [rad/s].
        variance_horizontal: Variance across the vertical [rad^2/s^2].
        variance_vertical: Variance along the vertical [rad^2/s^2].
        resting: Whether the last window was quiet.
    """

    def __init__(self, config: GyroBiasConfig) -> None:
        self.config = config
        warm_up()
        self.reset()

    def reset(self) -> None:
        """Reset bias and window."""
        self.bias: Vector = ZERO
        self.clear_window()
        self.calibrate()

    def clear_window(self) -> None:
        """Clear the window in which rest is detected, for example after a gap; the bias is kept."""
        self._window = zeros(WINDOW, WIDTH)  # a ring
        self._sums = zeros(SIZE)
        self.resting = False

    def calibrate(self) -> None:
        """Reset the variances to those at the start, so that the next rest determines the bias again."""
        self.variance_horizontal = self.variance_vertical = self.config.initial_sigma**2

    def doubt(self, sigma: float) -> None:
        """Raise the standard deviation across the vertical: the bias has left the tilt wrong.

        Args:
            sigma: Bias that explains the error of the tilt [rad/s]; that at the start, if it is larger.
        """
        self.variance_horizontal = max(self.variance_horizontal, self.config.initial_sigma**2, sigma * sigma)

    def update(
        self,
        h: float,
        rate_I: Vector,
        force_I: Vector,
        x2: Vector,
        correction: Vector | None,
        joint_speed: float,
        fastest: float,
        body_rate: Vector | None = None,
    ) -> None:
        """Process the readings of one step.

        Args:
            h: Duration of the step [s].
            rate_I: Gyroscope reading, bias included [rad/s].
            force_I: Accelerometer reading [m/s^2].
            x2: The vertical in the IMU frame.
            correction: `TiltObserver.correction` of this step [rad/s]; None without contact.
            joint_speed: Largest smoothed speed of the joints between IMU and contacts [rad/s].
            fastest: Upper limit of the online correction rate [1/s], for a stable loop with the observer.
            body_rate: Angular velocity of the IMU by the feet that stand [rad/s]; None where they do not
                determine it, which at rest counts as zero.
        """
        config = self.config
        if self._sums[COUNT] >= len(self._window):
            self._enlarge()
        quiet = _quiet_after(
            *(h, rate_I, force_I, body_rate or ZERO, body_rate is not None, config.rest_window),
            *(config.rest_rate, config.rest_rate_deviation, config.rest_force_deviation),
            *(self._window, self._sums),
        )
        self.resting = joint_speed <= config.rest_joint_speed and quiet
        drift = config.drift * config.drift * h
        variances = self.variance_horizontal + drift, self.variance_vertical + drift
        self.variance_horizontal, self.variance_vertical = variances
        if self.resting and config.at_rest:
            self.bias, self.variance_horizontal, self.variance_vertical = _learnt_at_rest(
                h, self.bias, variances, x2, config.rest_sigma, self._sums
            )
        elif correction is not None and config.online:
            noise = config.online_sigma, config.online_floor
            self.bias, self.variance_horizontal = _learnt_online(
                h, self.bias, variances[0], correction, x2, fastest, noise
            )

    def _enlarge(self) -> None:
        """Double the memory of the window; the oldest reading moves to its begin."""
        first, n = int(self._sums[FIRST]), len(self._window)
        kept = [self._window[(first + k) % n] for k in range(n)]
        self._window = numbers(np.concatenate((np.array(kept), np.zeros((n, WIDTH)))))
        self._sums[FIRST] = 0.0

    @property
    def sigma(self) -> float:
        """Standard deviation of the horizontal bias [rad/s]."""
        return math.sqrt(self.variance_horizontal)


@compiled
def _quiet_after(
    h: float,
    rate: Vector,
    force: Vector,
    body_rate: Vector,
    body_known: bool,
    rest_window: float,
    rest_rate: float,
    rate_deviation: float,
    force_deviation: float,
    window: MutableTable,
    sums: MutableColumn,
) -> bool:
    """Advance the window by a reading; return whether a whole window was quiet."""
    first, count = int(sums[FIRST]), int(sums[COUNT])
    added = window[(first + count) % len(window)]
    added[STEP], added[KNOWN] = h, 1.0 if body_known else 0.0
    store(added, RATE, rate)
    store(added, FORCE, force)
    store(added, BODY, body_rate)
    _accumulate(1.0, added, sums)
    sums[DURATION] += h
    count += 1
    while count > 2 and sums[DURATION] - window[first][STEP] >= rest_window:
        _accumulate(-1.0, window[first], sums)
        sums[DURATION] -= window[first][STEP]
        first, count = (first + 1) % len(window), count - 1
    sums[FIRST], sums[COUNT] = first, count
    if count < 3 or sums[DURATION] < 0.99 * rest_window:
        return False
    rate_limit, force_limit = rate_deviation * rate_deviation, force_deviation * force_deviation
    for i in range(3):
        mean, mean_force = sums[i] / count, sums[6 + i] / count
        if abs(mean) > rest_rate or sums[3 + i] / count - mean * mean > rate_limit:
            return False
        if sums[9 + i] / count - mean_force * mean_force > force_limit:
            return False
    return True


@inlined
def _accumulate(sign: float, reading: Column, sums: MutableColumn) -> None:
    """Add a reading to the sums of the window, or take it away."""
    sums[KNOWN_COUNT] += sign * reading[KNOWN]
    for i in range(3):
        r, f = reading[RATE + i], reading[FORCE + i]
        signed_r, signed_f = sign * r, sign * f
        sums[i] += signed_r
        sums[3 + i] += signed_r * r
        sums[6 + i] += signed_f
        sums[9 + i] += signed_f * f
        sums[BODY_SUM + i] += sign * reading[BODY + i]


@compiled
def _learnt_at_rest(
    h: float, b: Vector, variances: tuple[float, float], x2: Vector, rest_sigma: float, sums: MutableColumn
) -> tuple[Vector, float, float]:
    """Return bias and variances, across and along the vertical, after a step at rest."""
    n = sums[COUNT]
    y = (sums[0] / n - b[0], sums[1] / n - b[1], sums[2] / n - b[2])
    settling = combine(ZERO, 1.0 / n, vector_of(sums, BODY_SUM))
    if sums[KNOWN_COUNT] == n and norm(settling) > SETTLING * rest_sigma:
        y = combine(y, -1.0, settling)
    R = rest_sigma * rest_sigma / h
    across, along = variances
    k_h, k_v = across / (across + R), along / (along + R)
    bias = combine(combine(b, k_h, y), (k_v - k_h) * dot(y, x2), x2)
    return bias, across * (1.0 - k_h), along * (1.0 - k_v)


@compiled
def _learnt_online(
    h: float,
    b: Vector,
    variance: float,
    correction: Vector,
    x2: Vector,
    fastest: float,
    noise: tuple[float, float],
) -> tuple[Vector, float]:
    """Return bias and variance across the vertical after a step in motion; the noise is sigma and floor."""
    sigma, floor = noise
    excess = variance - floor * floor
    if excess <= 0.0:
        return b, variance
    gain = min(excess / (excess + sigma * sigma / h), fastest * h)
    y = combine(correction, -dot(correction, x2), x2)
    return combine(b, gain, y), variance - gain * excess


class JointSpeed:
    """Speed of the fastest joint, with velocities low-passed over the window in which rest is detected."""

    def __init__(self, rest_window: float) -> None:
        """Begin without a velocity.

        Args:
            rest_window: Length of the window [s]; the time constant of the low-pass is half of it.
        """
        self._time_constant = 0.5 * rest_window
        warm_up()
        self.reset()

    def reset(self) -> None:
        """Reset the low-pass."""
        self._velocity: Array | None = None

    def update(self, h: float, velocity: Array | None) -> float:
        """Process the velocities of one step.

        Args:
            h: Duration of the step [s].
            velocity: Of the joints between IMU and contacts [rad/s], shape (n,); None where missing.

        Returns:
            Speed of the fastest joint [rad/s]; infinite where the velocities are missing.
        """
        if velocity is None:
            return math.inf
        if self._velocity is None:
            self._velocity = numbers(velocity.copy())
        return _fastest(h / (h + self._time_constant), numbers(velocity), self._velocity)


@compiled
def _fastest(share: float, velocity: Column, smoothed: MutableColumn) -> float:
    """Low-pass velocities; return the largest magnitude."""
    fastest = 0.0
    for i in range(len(velocity)):
        smoothed[i] += share * (velocity[i] - smoothed[i])
        fastest = max(fastest, abs(smoothed[i]))
    return fastest
