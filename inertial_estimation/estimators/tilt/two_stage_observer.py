"""The two-stage tilt observer in R3 x R3 x S2 (Benallegue et al., eq. 17).

    x1'  = -S(w) x1 - g0 x2' + f + alpha1 (y_v - x1)
    x2'' = -S(w) x2' - (alpha2/g0) (y_v - x1)
    x2^' = -S(w - gamma S(x2^) x2') x2^

x2' is an unconstrained estimate of the vertical with global exponential convergence; x2^, on the
sphere, follows it smoothly and is the output. In a frame that rotates with the gyroscope, the first two
lines are linear with constant coefficients and equal for each axis. A step is therefore the closed-form
exponential of a 2 x 2 matrix between two half rotations, which is stable for any gains and step lengths.
"""

from dataclasses import dataclass

from inertial_estimation.estimators.tilt.linear_stage import LinearStage
from inertial_estimation.estimators.tilt.tilt_observer import (
    GravityFallbackConfig,
    TiltObserver,
    slow_root,
)
from inertial_estimation.parameters import parameter
from inertial_estimation.spatial.sphere import turn_towards
from inertial_estimation.spatial.vectors import Vector, normalised, rotate, rotation, times

__all__ = ["TwoStageConfig", "TwoStageObserver"]


@dataclass(frozen=True)
class TwoStageConfig:
    """Gains of (B 17)."""

    alpha1: float = parameter(
        20.0,
        "Gain of the velocity innovation on the velocity; the poles of the error are the roots of s^2 + "
        "alpha1 s + alpha2.",
        unit="1/s",
        lower=1e-3,
        upper=1e4,
        runtime=True,
    )
    alpha2: float = parameter(
        100.0,
        "Gain of the velocity innovation on the intermediate vertical; the poles of the error are the "
        "roots of s^2 + alpha1 s + alpha2.",
        unit="1/s^2",
        lower=1e-3,
        upper=1e6,
        runtime=True,
    )
    gamma: float = parameter(
        1.0,
        "Rate at which the estimated vertical on the unit sphere follows the intermediate vertical.",
        unit="1/s",
        lower=1e-3,
        upper=1e3,
        runtime=True,
    )


class TwoStageObserver(TiltObserver[TwoStageConfig]):
    """Two-stage observer; `x2_intermediate` is x2' of (B 17), `x2` is x2^."""

    x2_intermediate: Vector

    def __init__(self, config: TwoStageConfig, fallback: GravityFallbackConfig) -> None:
        self._stage = LinearStage()
        self._rate: float | None = None  # that which was set [1/s]
        super().__init__(config, fallback)

    @property
    def rate(self) -> float:
        """Rate at which x2^ follows x2' [1/s]: gamma unless another one was set."""
        return self.config.gamma if self._rate is None else self._rate

    def set_rate(self, rate: float) -> None:
        """Correct the vertical at this rate in the following steps.

        Args:
            rate: Rate at which the output follows the intermediate vertical [1/s].
        """
        self._rate = rate

    def initialise(self, x1: Vector, x2: Vector) -> None:
        """Set the state, with the intermediate vertical equal to the output."""
        super().initialise(x1, x2)
        self.x2_intermediate = self.x2

    def restore(self, x2: Vector) -> None:
        """Set the vertical, with the intermediate vertical equal to the output."""
        super().restore(x2)
        self.x2_intermediate = self.x2

    @property
    def bias_sensitivity(self) -> float:
        """alpha1/alpha2 + 1/rate [s] (THEORY 4)."""
        return self.config.alpha1 / self.config.alpha2 + 1.0 / self.rate

    @property
    def convergence_rate(self) -> float:
        """Slowest of the rate and the roots of s^2 + alpha1 s + alpha2 [1/s]."""
        return min(slow_root(self.config.alpha1, self.config.alpha2), self.rate)

    def _step_with_contact(self, h: float, w_I: Vector, f_I: Vector, y_v: Vector) -> None:
        config = self.config
        half = rotation((-0.5 * h * w_I[0], -0.5 * h * w_I[1], -0.5 * h * w_I[2]))
        self.x1, self.x2_intermediate, self.innovation = self._stage.advance(
            h, (config.alpha1, config.alpha2), half, (self.x1, self.x2_intermediate), f_I, y_v
        )
        x2 = times(half, times(half, self.x2))
        x2, turned = turn_towards(x2, self.x2_intermediate, self.rate * h)
        self.x2 = normalised(x2)
        self.correction = (turned[0] / h, turned[1] / h, turned[2] / h)

    def _step_without_contact(self, h: float, w_I: Vector, f_I: Vector) -> None:
        carried = rotate((-h * w_I[0], -h * w_I[1], -h * w_I[2]), self.x2_intermediate)
        super()._step_without_contact(h, w_I, f_I)
        self.x2_intermediate = self.x2 if self.gravity_aided else carried
