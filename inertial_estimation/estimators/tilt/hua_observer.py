"""Velocity-aided attitude observer after Hua, Martin and Hamel, Automatica 63 (2016), for comparison.

    x1' = -S(w) x1 - g0 x2 + f + k1v e + k2v (e - x2 x2^T e),   e = y_v - x1
    x2' = -S(w + (k1r/g0) S(x2) e) x2

It differs from the R3 x S2 observer by the gain k2v, which acts on the innovation across the estimated
vertical only, so that the loops along and across it are tuned separately. The original publication was not
available: gains and symbols are those quoted by Benallegue et al. (V-A); the form is the one that is
invariant to yaw and that makes this observer the slowest of the three with their gains, as they report.
"""

from dataclasses import dataclass

from inertial_estimation.estimators.tilt.comparison_observer import ComparisonObserver, velocity_correction
from inertial_estimation.estimators.tilt.observer_steps import slow_root
from inertial_estimation.estimators.tilt.r3s2_observer import relaxed_innovation
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.parameters import parameter
from inertial_estimation.spatial.vectors import Vector, add, combine, dot, normalised, rotate


@dataclass(frozen=True)
class HuaConfig:
    """Gains of the observer after Hua et al."""

    k1v: float = parameter(
        100.0,
        "Gain of the velocity innovation on the velocity, in all directions, of the observer hua.",
        unit="1/s",
        lower=1e-3,
        upper=1e4,
        runtime=True,
    )
    k2v: float = parameter(
        100.0,
        "Additional gain of the velocity innovation on the velocity, across the vertical, of the observer "
        "hua.",
        unit="1/s",
        lower=0.0,
        upper=1e4,
        runtime=True,
    )
    k1r: float = parameter(
        20.0,
        "Gain of the velocity innovation on the vertical of the observer hua; larger corrects tilt errors "
        "faster.",
        unit="1/s^2",
        lower=1e-3,
        upper=1e5,
        runtime=True,
    )


class HuaObserver(ComparisonObserver[HuaConfig]):
    """Observer with different gains along and across the estimated vertical."""

    @property
    def bias_sensitivity(self) -> float:
        """(k1v + k2v)/k1r [s]."""
        return (self.config.k1v + self.config.k2v) / self.config.k1r

    @property
    def convergence_rate(self) -> float:
        """Slowest root of s^2 + (k1v + k2v) s + k1r [1/s]."""
        return slow_root(self.config.k1v + self.config.k2v, self.config.k1r)

    def _step_with_contact(self, h: float, w_I: Vector, f_I: Vector, y_v: Vector) -> None:
        config = self.config
        half = (-0.5 * h * w_I[0], -0.5 * h * w_I[1], -0.5 * h * w_I[2])
        x1, x2 = rotate(half, self.x1), rotate(half, self.x2)
        free = combine(f_I, -STANDARD_GRAVITY, x2)
        e = (y_v[0] - x1[0], y_v[1] - x1[1], y_v[2] - x1[2])
        self.innovation = e
        e_along, e_across = _split(e, x2)
        free_along, free_across = _split(free, x2)
        left_along, mean_along = relaxed_innovation(e_along, free_along, config.k1v, h)
        left_across, mean_across = relaxed_innovation(e_across, free_across, config.k1v + config.k2v, h)
        left = add(left_along, left_across)
        self.x1 = rotate(half, (y_v[0] - left[0], y_v[1] - left[1], y_v[2] - left[2]))
        self.correction = velocity_correction(x2, add(mean_along, mean_across), config.k1r)
        turn = (h * self.correction[0], h * self.correction[1], h * self.correction[2])
        self.x2 = normalised(rotate(half, rotate(turn, x2)))


def _split(a: Vector, x2: Vector) -> tuple[Vector, Vector]:
    """Return the components of a vector along and across a unit vector."""
    k = dot(a, x2)
    along = (k * x2[0], k * x2[1], k * x2[2])
    return along, (a[0] - along[0], a[1] - along[1], a[2] - along[2])
