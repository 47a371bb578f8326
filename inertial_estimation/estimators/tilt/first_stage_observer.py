"""The linear first stage of the two-stage observer alone (Benallegue et al., first two lines of eq. 17).

    x1'  = -S(w) x1 - g0 x2' + f + alpha1 (y_v - x1)
    x2'' = -S(w) x2' - (alpha2/g0) (y_v - x1)

The output is x2'/|x2'|. The error converges globally and exponentially with the roots of
s^2 + alpha1 s + alpha2, without the smoothing by the second stage: faster after a start, noisier in a walk.
"""

from dataclasses import dataclass

from inertial_estimation.compilation import compiled
from inertial_estimation.estimators.tilt.comparison_observer import ComparisonObserver
from inertial_estimation.estimators.tilt.linear_stage import first_stage
from inertial_estimation.estimators.tilt.observer_steps import slow_root
from inertial_estimation.parameters import parameter
from inertial_estimation.spatial.vectors import Vector, cross, norm, normalised, rotate, rotation

SHORTEST = 1e-3  # length of x2' below which its direction says nothing


@dataclass(frozen=True)
class FirstStageConfig:
    """Gains of the first stage of (B 17)."""

    alpha1: float = parameter(
        20.0,
        "Gain of the velocity innovation on the velocity of the observer first_stage; the poles of its error "
        "are the roots of s^2 + alpha1 s + alpha2.",
        unit="1/s",
        lower=1e-3,
        upper=1e4,
        runtime=True,
    )
    alpha2: float = parameter(
        20.0,
        "Gain of the velocity innovation on the vertical of the observer first_stage; the poles of its error "
        "are the roots of s^2 + alpha1 s + alpha2, the slow one near alpha2/alpha1.",
        unit="1/s^2",
        lower=1e-3,
        upper=1e6,
        runtime=True,
    )


class FirstStageObserver(ComparisonObserver[FirstStageConfig]):
    """The first stage alone.

    The checks of the readings compare its output with a first stage of their own, so that `x2_intermediate`
    stays None.

    Attributes:
        x2_free: x2' of (B 17), of any length; `x2` is its direction.
    """

    def initialise(self, x1: Vector, x2: Vector) -> None:
        """Set the state, with the unconstrained vertical equal to the output."""
        super().initialise(x1, x2)
        self.x2_free = self.x2

    def restore(self, x2: Vector) -> None:
        """Set the vertical, with the unconstrained vertical equal to the output."""
        super().restore(x2)
        self.x2_free = self.x2

    def hold(self, h: float, w_I: Vector, before: Vector) -> None:
        """Undo the correction of the vertical in the last step, of both verticals."""
        super().hold(h, w_I, before)
        self.x2_free = self.x2

    @property
    def bias_sensitivity(self) -> float:
        """alpha1/alpha2 [s] (THEORY 4)."""
        return self.config.alpha1 / self.config.alpha2

    @property
    def convergence_rate(self) -> float:
        """Slowest root of s^2 + alpha1 s + alpha2 [1/s]."""
        return slow_root(self.config.alpha1, self.config.alpha2)

    def _step_with_contact(self, h: float, w_I: Vector, f_I: Vector, y_v: Vector) -> None:
        gains, state = (self.config.alpha1, self.config.alpha2), (self.x1, self.x2_free)
        carried = rotate((-h * w_I[0], -h * w_I[1], -h * w_I[2]), self.x2)
        self.x1, self.x2_free, self.innovation = first_stage_step(h, gains, state, w_I, f_I, y_v)
        self.x2 = carried
        if norm(self.x2_free) > SHORTEST:
            self.x2 = normalised(self.x2_free)
        turned = cross(carried, self.x2)
        self.correction = (turned[0] / h, turned[1] / h, turned[2] / h)

    def _step_without_contact(self, h: float, w_I: Vector, f_I: Vector) -> None:
        super()._step_without_contact(h, w_I, f_I)
        self.x2_free = self.x2


@compiled
def first_stage_step(
    h: float,
    gains: tuple[float, float],
    state: tuple[Vector, Vector],
    w_I: Vector,
    f_I: Vector,
    y_v: Vector,
) -> tuple[Vector, Vector, Vector]:
    """Advance velocity and unconstrained vertical by one step with contact.

    Args:
        h: Duration of the step [s].
        gains: alpha1 [1/s] and alpha2 [1/s^2].
        state: x1 [m/s] and x2' at the begin.
        w_I: Angular velocity of the IMU, bias removed, mean over the step [rad/s].
        f_I: Specific force, mean over the step [m/s^2].
        y_v: Velocity of the IMU in its frame from contacts [m/s].

    Returns:
        x1 and x2' at the end, and the innovation [m/s].
    """
    half = rotation((-0.5 * h * w_I[0], -0.5 * h * w_I[1], -0.5 * h * w_I[2]))
    return first_stage(h, gains, half, state, f_I, y_v)
