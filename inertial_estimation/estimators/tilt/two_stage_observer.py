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

from inertial_estimation.compilation import compiled
from inertial_estimation.estimators.tilt.linear_stage import first_stage
from inertial_estimation.estimators.tilt.tilt_observer import (
    GravityFallbackConfig,
    TiltObserver,
    slow_root,
)
from inertial_estimation.parameters import parameter
from inertial_estimation.spatial.sphere import turn_towards
from inertial_estimation.spatial.vectors import Vector, normalised, rotate, rotation, times

__all__ = ["TwoStageConfig", "TwoStageObserver", "TwoStageState", "two_stage_step"]

TwoStageState = tuple[Vector, Vector, Vector]  # x1, x2' and x2^


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
        self._rate: float | None = None  # that which was set [1/s]
        super().__init__(config, fallback)

    @property
    def rate(self) -> float:
        """Rate at which x2^ follows x2' [1/s]: gamma unless another one was set."""
        return self.config.gamma if self._rate is None else self._rate

    @property
    def state(self) -> tuple[float, ...]:
        """x1, x2 and the intermediate vertical."""
        return *self.x1, *self.x2, *self.x2_intermediate

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
        gains = self.config.alpha1, self.config.alpha2
        state = self.x1, self.x2_intermediate, self.x2
        (self.x1, self.x2_intermediate, self.x2), self.innovation, self.correction = two_stage_step(
            h, gains, self.rate, state, w_I, f_I, y_v
        )

    def _step_without_contact(self, h: float, w_I: Vector, f_I: Vector) -> None:
        carried = rotate((-h * w_I[0], -h * w_I[1], -h * w_I[2]), self.x2_intermediate)
        super()._step_without_contact(h, w_I, f_I)
        self.x2_intermediate = self.x2 if self.gravity_aided else carried


@compiled
def two_stage_step(
    h: float,
    gains: tuple[float, float],
    rate: float,
    state: TwoStageState,
    w_I: Vector,
    f_I: Vector,
    y_v: Vector,
) -> tuple[TwoStageState, Vector, Vector]:
    """Advance the observer by one step with contact.

    Args:
        h: Duration of the step [s].
        gains: alpha1 [1/s] and alpha2 [1/s^2].
        rate: Rate at which the vertical on the sphere follows the intermediate one [1/s].
        state: x1, x2' and x2^ at the begin.
        w_I: Angular velocity of the IMU, bias removed, mean over the step [rad/s].
        f_I: Specific force, mean over the step [m/s^2].
        y_v: Velocity of the IMU in its frame from contacts [m/s].

    Returns:
        The state at the end, the innovation [m/s], and the correction of the vertical [rad/s].
    """
    x1, x2_intermediate, x2 = state
    half = rotation((-0.5 * h * w_I[0], -0.5 * h * w_I[1], -0.5 * h * w_I[2]))
    x1, x2_intermediate, innovation = first_stage(h, gains, half, (x1, x2_intermediate), f_I, y_v)
    x2, turned = turn_towards(times(half, times(half, x2)), x2_intermediate, rate * h)
    correction = (turned[0] / h, turned[1] / h, turned[2] / h)
    return (x1, x2_intermediate, normalised(x2)), innovation, correction
