"""The earlier tilt observer in R3 x S2 (B V-A, its reference 18), for comparison.

    x1' = -S(w) x1 - g0 x2 + f + k1v (y_v - x1)
    x2' = -S(w + (k1r/g0) S(x2) (y_v - x1)) x2

The second line moves x2 by the tangent part of -(k1r/g0) (y_v - x1): with x2 wrong by d, x1 settles off
by -g0 d / k1v, the innovation is g0 d / k1v, and the correction is against d.
"""

import math
from dataclasses import dataclass

from inertial_estimation.estimators.tilt.comparison_observer import ComparisonObserver, velocity_correction
from inertial_estimation.estimators.tilt.observer_steps import slow_root
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.parameters import parameter
from inertial_estimation.spatial.vectors import Vector, combine, normalised, rotate


@dataclass(frozen=True)
class R3S2Config:
    """Gains of the R3 x S2 observer."""

    k1v: float = parameter(
        100.0,
        "Gain of the velocity innovation on the velocity of the observer r3s2.",
        unit="1/s",
        lower=1e-3,
        upper=1e4,
        runtime=True,
    )
    k1r: float = parameter(
        20.0,
        "Gain of the velocity innovation on the vertical of the observer r3s2; larger corrects tilt errors "
        "faster.",
        unit="1/s^2",
        lower=1e-3,
        upper=1e5,
        runtime=True,
    )


class R3S2Observer(ComparisonObserver[R3S2Config]):
    """Single-stage observer with the vertical on the unit sphere."""

    @property
    def bias_sensitivity(self) -> float:
        """k1v/k1r [s]."""
        return self.config.k1v / self.config.k1r

    @property
    def convergence_rate(self) -> float:
        """Slowest root of s^2 + k1v s + k1r [1/s]."""
        return slow_root(self.config.k1v, self.config.k1r)

    def _step_with_contact(self, h: float, w_I: Vector, f_I: Vector, y_v: Vector) -> None:
        half = (-0.5 * h * w_I[0], -0.5 * h * w_I[1], -0.5 * h * w_I[2])
        x1, x2 = rotate(half, self.x1), rotate(half, self.x2)
        free = combine(f_I, -STANDARD_GRAVITY, x2)
        e = (y_v[0] - x1[0], y_v[1] - x1[1], y_v[2] - x1[2])
        self.innovation = e
        left, mean = relaxed_innovation(e, free, self.config.k1v, h)
        self.x1 = rotate(half, (y_v[0] - left[0], y_v[1] - left[1], y_v[2] - left[2]))
        self.correction = velocity_correction(x2, mean, self.config.k1r)
        turn = (h * self.correction[0], h * self.correction[1], h * self.correction[2])
        self.x2 = normalised(rotate(half, rotate(turn, x2)))


def relaxed_innovation(e: Vector, free: Vector, gain: float, h: float) -> tuple[Vector, Vector]:
    """Solve e' = -gain e - free exactly over a step.

    Args:
        e: Innovation at the start [m/s].
        free: Acceleration of the velocity without the correction, constant over the step [m/s^2].
        gain: Gain on the velocity [1/s].
        h: Step [s].

    Returns:
        Innovation at the end, and its mean over the step [m/s].
    """
    decay = math.exp(-gain * h)
    share = -math.expm1(-gain * h) / (gain * h)
    steady = (-free[0] / gain, -free[1] / gain, -free[2] / gain)
    rest = (e[0] - steady[0], e[1] - steady[1], e[2] - steady[2])
    return combine(steady, decay, rest), combine(steady, share, rest)
