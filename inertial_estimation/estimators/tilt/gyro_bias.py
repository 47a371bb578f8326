"""Gyroscope bias: averaged at rest, and online from what the tilt observer has to correct.

The bias b is a random walk with variance P_h across the vertical and P_v along it. Two measurements:
at rest the mean rate over a window is b itself; in motion the angular velocity by which the observer
turns the vertical beyond the gyroscope is, in the mean, the horizontal part of b (the vertical part does
not move the vertical and is learnt at rest only). Errors of the latter while walking are not white: they
come from feet that roll and legs that bend, so below a floor of uncertainty it is no longer used.
"""

import math
from collections import deque
from dataclasses import dataclass

from inertial_estimation.parameters import parameter
from inertial_estimation.signals import Array
from inertial_estimation.spatial.vectors import ZERO, Vector, combine, dot

__all__ = ["GyroBiasConfig", "GyroBiasEstimator", "JointSpeed"]


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
        bias: Estimate [rad/s].
        variance_horizontal: Variance across the vertical [rad^2/s^2].
        variance_vertical: Variance along the vertical [rad^2/s^2].
        resting: Whether the last window was quiet.
    """

    def __init__(self, config: GyroBiasConfig) -> None:
        self.config = config
        self.reset()

    def reset(self) -> None:
        """Reset bias and window."""
        self.bias: Vector = ZERO
        self.clear_window()
        self.calibrate()

    def clear_window(self) -> None:
        """Clear the window in which rest is detected, for example after a gap; the bias is kept."""
        self._window: deque[tuple[float, Vector, Vector]] = deque()
        self._sums = [0.0] * 12
        self._duration = 0.0
        self.resting = False

    def calibrate(self) -> None:
        """Reset the variances to those at the start, so that the next rest determines the bias again."""
        self.variance_horizontal = self.variance_vertical = self.config.initial_sigma**2

    def update(
        self,
        h: float,
        rate_I: Vector,
        force_I: Vector,
        x2: Vector,
        correction: Vector | None,
        joint_speed: float,
        fastest: float,
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
        """
        config = self.config
        drift = config.drift * config.drift * h
        self.variance_horizontal += drift
        self.variance_vertical += drift
        self._slide(h, rate_I, force_I)
        self.resting = joint_speed <= config.rest_joint_speed and self._quiet()
        if self.resting and config.at_rest:
            self._learn_at_rest(h, x2)
        elif correction is not None and config.online:
            self._learn_online(h, correction, x2, fastest)

    def _learn_at_rest(self, h: float, x2: Vector) -> None:
        n = len(self._window)
        b, s = self.bias, self._sums
        y = (s[0] / n - b[0], s[1] / n - b[1], s[2] / n - b[2])
        R = self.config.rest_sigma**2 / h
        k_h = self.variance_horizontal / (self.variance_horizontal + R)
        k_v = self.variance_vertical / (self.variance_vertical + R)
        self.bias = combine(combine(b, k_h, y), (k_v - k_h) * dot(y, x2), x2)
        self.variance_horizontal *= 1.0 - k_h
        self.variance_vertical *= 1.0 - k_v

    def _learn_online(self, h: float, correction: Vector, x2: Vector, fastest: float) -> None:
        excess = self.variance_horizontal - self.config.online_floor**2
        if excess <= 0.0:
            return
        gain = min(excess / (excess + self.config.online_sigma**2 / h), fastest * h)
        y = combine(correction, -dot(correction, x2), x2)
        self.bias = combine(self.bias, gain, y)
        self.variance_horizontal -= gain * excess

    def _slide(self, h: float, rate: Vector, force: Vector) -> None:
        """Advance the window; the sums of the readings and of their squares are updated incrementally."""
        self._window.append((h, rate, force))
        self._accumulate(1.0, rate, force)
        self._duration += h
        while len(self._window) > 2 and self._duration - self._window[0][0] >= self.config.rest_window:
            gone, rate, force = self._window.popleft()
            self._accumulate(-1.0, rate, force)
            self._duration -= gone

    def _accumulate(self, sign: float, rate: Vector, force: Vector) -> None:
        s = self._sums
        for i, r, f in zip((0, 1, 2), rate, force, strict=True):
            signed_r, signed_f = sign * r, sign * f
            s[i] += signed_r
            s[3 + i] += signed_r * r
            s[6 + i] += signed_f
            s[9 + i] += signed_f * f

    def _quiet(self) -> bool:
        n = len(self._window)
        config = self.config
        if n < 3 or self._duration < 0.99 * config.rest_window:
            return False
        s = self._sums
        rate_limit, force_limit = config.rest_rate_deviation**2, config.rest_force_deviation**2
        for i in range(3):
            mean, mean_force = s[i] / n, s[6 + i] / n
            if abs(mean) > config.rest_rate or s[3 + i] / n - mean * mean > rate_limit:
                return False
            if s[9 + i] / n - mean_force * mean_force > force_limit:
                return False
        return True

    @property
    def sigma(self) -> float:
        """Standard deviation of the horizontal bias [rad/s]."""
        return math.sqrt(self.variance_horizontal)


class JointSpeed:
    """Speed of the fastest joint, with velocities low-passed over the window in which rest is detected."""

    def __init__(self, rest_window: float) -> None:
        """Begin without a velocity.

        Args:
            rest_window: Length of the window [s]; the time constant of the low-pass is half of it.
        """
        self._time_constant = 0.5 * rest_window
        self._velocity: Array | None = None

    def reset(self) -> None:
        """Reset the low-pass."""
        self._velocity = None

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
            self._velocity = velocity
        share = h / (h + self._time_constant)
        self._velocity = self._velocity + share * (velocity - self._velocity)
        return max(map(abs, self._velocity.tolist()), default=0.0)
