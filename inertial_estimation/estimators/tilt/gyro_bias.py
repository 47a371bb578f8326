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

from inertial_estimation.compilation import (
    Column,
    MutableColumn,
    MutableTable,
    cells,
    compiled,
    inlined,
    zeros,
)
from inertial_estimation.estimators.tilt.rest_window import RestWindow, mean_rate_at_rest, quiet_after
from inertial_estimation.parameters import parameter
from inertial_estimation.signals import Array
from inertial_estimation.spatial.vectors import ZERO, Vector, combine, dot, store, vector_of

# Numbers of the state: bias [rad/s], its variances across and along the vertical [rad^2/s^2], whether the
# last window was quiet. Behind them the parameters of `GyroBiasConfig` that may change at run time.
BIAS, ACROSS, ALONG, RESTING, AT_REST, ONLINE, DRIFT, REST_SIGMA, RATE_DEVIATION, FORCE_DEVIATION = (
    0,
    *range(3, 12),
)
REST_RATE, JOINT_SPEED, ONLINE_SIGMA, ONLINE_FLOOR, SIZE = range(12, 17)


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
        row: Numbers of the state and the parameters, for `learn_bias`.
        rest: The window in which rest is detected.
    """

    def __init__(self, config: GyroBiasConfig, rows: tuple[Array, Array] | None = None) -> None:
        """Begin with a bias of zero.

        Args:
            config: Parameters.
            rows: Memory for at least `SIZE` numbers, and for those of `RestWindow`; None: its own.
        """
        self.row, sums = (zeros(SIZE), None) if rows is None else rows
        self._cells = cells(self.row)
        self.rest = RestWindow(config.rest_window, sums)
        self.configure(config)
        self.reset()

    def configure(self, config: GyroBiasConfig) -> None:
        """Take parameters, which may have changed at run time."""
        self._initial_variance = config.initial_sigma**2
        numbers = self._cells
        numbers[AT_REST], numbers[ONLINE] = float(config.at_rest), float(config.online)
        numbers[DRIFT], numbers[REST_SIGMA] = config.drift, config.rest_sigma
        numbers[RATE_DEVIATION], numbers[FORCE_DEVIATION] = (
            config.rest_rate_deviation,
            config.rest_force_deviation,
        )
        numbers[REST_RATE], numbers[JOINT_SPEED] = config.rest_rate, config.rest_joint_speed
        numbers[ONLINE_SIGMA], numbers[ONLINE_FLOOR] = config.online_sigma, config.online_floor

    @property
    def bias(self) -> Vector:
        """Estimate [rad/s]."""
        return vector_of(self._cells, BIAS)

    @property
    def variance_horizontal(self) -> float:
        """Variance across the vertical [rad^2/s^2]."""
        return float(self._cells[ACROSS])

    @property
    def variance_vertical(self) -> float:
        """Variance along the vertical [rad^2/s^2]."""
        return float(self._cells[ALONG])

    @property
    def sigma(self) -> float:
        """Standard deviation of the horizontal bias [rad/s]."""
        return math.sqrt(self.variance_horizontal)

    @property
    def resting(self) -> bool:
        """Whether the last window was quiet."""
        return bool(self._cells[RESTING])

    def reset(self) -> None:
        """Reset bias, window and variances."""
        store(self._cells, BIAS, ZERO)
        self.clear_window()
        self.calibrate()

    def clear_window(self) -> None:
        """Clear the window in which rest is detected, for example after a gap; the bias is kept."""
        self.rest.clear()
        self._cells[RESTING] = 0.0

    def calibrate(self) -> None:
        """Reset the variances to those at the start, so that the next rest determines the bias again."""
        self._cells[ACROSS] = self._cells[ALONG] = self._initial_variance

    def doubt(self, sigma: float) -> None:
        """Raise the standard deviation across the vertical: the bias has left the tilt wrong.

        Args:
            sigma: Bias that explains the error of the tilt [rad/s]; that at the start, if it is larger.
        """
        self._cells[ACROSS] = max(self._cells[ACROSS], self._initial_variance, sigma * sigma)


@compiled
def learn_bias(
    h: float,
    readings: tuple[Vector, Vector, Vector],
    body_known: bool,
    x2: Vector,
    corrected: bool,
    correction: Vector,
    speeds: tuple[float, float],
    window: MutableTable,
    sums: MutableColumn,
    state: MutableColumn,
) -> None:
    """Process the readings of one step.

    Args:
        h: Duration of the step [s].
        readings: Gyroscope reading, bias included [rad/s], accelerometer reading [m/s^2], and angular
            velocity of the IMU by the feet that stand [rad/s].
        body_known: Whether the feet determine it; where they do not, it counts as zero at rest.
        x2: The vertical in the IMU frame.
        corrected: Whether there was a correction of the vertical, which there is not without contact.
        correction: `TiltObserver.correction` of this step [rad/s].
        speeds: Largest smoothed speed of the joints between IMU and contacts [rad/s], and upper limit of the
            online correction rate [1/s], for a stable loop with the observer.
        window: `RestWindow.readings`; changed.
        sums: `RestWindow.sums`; changed.
        state: Numbers of `GyroBiasEstimator`; changed.
    """
    limits = state[REST_RATE], state[RATE_DEVIATION], state[FORCE_DEVIATION]
    quiet = quiet_after(h, readings, body_known, limits, window, sums)
    resting = speeds[0] <= state[JOINT_SPEED] and quiet
    state[RESTING] = 1.0 if resting else 0.0
    drift = state[DRIFT] * state[DRIFT] * h
    state[ACROSS] += drift
    state[ALONG] += drift
    if resting and state[AT_REST] > 0.0:
        _learn_at_rest(h, x2, sums, state)
    elif corrected and state[ONLINE] > 0.0:
        _learn_online(h, correction, x2, speeds[1], state)


@inlined
def _learn_at_rest(h: float, x2: Vector, sums: Column, state: MutableColumn) -> None:
    """Correct bias and variances by a step at rest."""
    b = vector_of(state, BIAS)
    y = mean_rate_at_rest(state[REST_SIGMA], b, sums)
    R = state[REST_SIGMA] * state[REST_SIGMA] / h
    across, along = state[ACROSS], state[ALONG]
    k_h, k_v = across / (across + R), along / (along + R)
    store(state, BIAS, combine(combine(b, k_h, y), (k_v - k_h) * dot(y, x2), x2))
    state[ACROSS], state[ALONG] = across * (1.0 - k_h), along * (1.0 - k_v)


@inlined
def _learn_online(h: float, correction: Vector, x2: Vector, fastest: float, state: MutableColumn) -> None:
    """Correct bias and variance across the vertical by a step in motion."""
    sigma, floor, variance = state[ONLINE_SIGMA], state[ONLINE_FLOOR], state[ACROSS]
    excess = variance - floor * floor
    if excess <= 0.0:
        return
    gain = min(excess / (excess + sigma * sigma / h), fastest * h)
    y = combine(correction, -dot(correction, x2), x2)
    store(state, BIAS, combine(vector_of(state, BIAS), gain, y))
    state[ACROSS] = variance - gain * excess
