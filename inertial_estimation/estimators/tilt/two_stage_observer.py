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

from inertial_estimation.compilation import MutableColumn, compiled, inlined
from inertial_estimation.estimators.tilt.correction_rate import best_rate, follows_noise
from inertial_estimation.estimators.tilt.linear_stage import first_stage
from inertial_estimation.estimators.tilt.observer_steps import (
    CORRECTION,
    FLIGHT,
    GRAVITY_AIDED,
    INNOVATION,
    INTERMEDIATE,
    STAGED,
    VELOCITY_AIDED,
    X1,
    X2,
    advance_without_contact,
    lost_in_flight,
    slow_root,
)
from inertial_estimation.estimators.tilt.tilt_observer import GravityFallbackConfig, TiltObserver
from inertial_estimation.parameters import parameter
from inertial_estimation.signals import Array
from inertial_estimation.spatial.sphere import turn_towards
from inertial_estimation.spatial.vectors import (
    ZERO,
    Vector,
    normalised,
    rotate,
    rotation,
    store,
    times,
    vector_of,
)

TwoStageState = tuple[Vector, Vector, Vector]  # x1, x2' and x2^
# Numbers of the observer: whether a rate was set, that rate [1/s], and the gains of `TwoStageConfig`.
RATE_SET, RATE, ALPHA1, ALPHA2, GAMMA, OWN_SIZE = range(6)


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

    own_size = OWN_SIZE

    def __init__(
        self,
        config: TwoStageConfig,
        fallback: GravityFallbackConfig,
        rows: tuple[Array, Array] | None = None,
    ) -> None:
        """Begin upright and at rest, with the rate gamma; arguments are those of `TiltObserver`."""
        super().__init__(config, fallback, rows)
        self._cells[STAGED], self._own_cells[RATE_SET] = 1.0, 0.0

    def configure(self, config: TwoStageConfig, fallback: GravityFallbackConfig) -> None:
        """Take gains, which may have changed at run time."""
        super().configure(config, fallback)
        numbers = self._own_cells
        numbers[ALPHA1], numbers[ALPHA2], numbers[GAMMA] = config.alpha1, config.alpha2, config.gamma

    @property
    def x2_intermediate(self) -> Vector:
        """The unconstrained vertical x2'."""
        return vector_of(self._cells, INTERMEDIATE)

    @x2_intermediate.setter
    def x2_intermediate(self, vertical: Vector) -> None:
        store(self._cells, INTERMEDIATE, vertical)

    @property
    def rate(self) -> float:
        """Rate at which x2^ follows x2' [1/s]: gamma unless the noise has set another one."""
        return _rate(self._own_cells)

    def follow_noise(self, h: float, bias_variance: float, noise: Array) -> None:
        """Correct the vertical at the rate of least error from the next step on, where that is enabled."""
        follow_noise(h, bias_variance, noise, self.own)

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
        return two_stage_sensitivity(self._own_cells)

    @property
    def convergence_rate(self) -> float:
        """Slowest of the rate and the roots of s^2 + alpha1 s + alpha2 [1/s]."""
        return two_stage_rate(self._own_cells)

    def step(self, h: float, w_I: Vector, f_I: Vector, y_v: Vector | None) -> None:
        """Advance by one step, as `TiltObserver.step`."""
        advance_two_stage(h, w_I, f_I, y_v or ZERO, y_v is not None, self.shared, self.own)


@inlined
def _rate(own: MutableColumn) -> float:
    rate: float = own[RATE] if own[RATE_SET] > 0.0 else own[GAMMA]
    return rate


@inlined
def two_stage_rate(own: MutableColumn) -> float:
    """Return the slowest of the rate and the roots of s^2 + alpha1 s + alpha2 [1/s].

    Args:
        own: Numbers of the two-stage observer.
    """
    return min(slow_root(own[ALPHA1], own[ALPHA2]), _rate(own))


@inlined
def two_stage_sensitivity(own: MutableColumn) -> float:
    """Return the steady tilt error per constant horizontal gyro bias [s].

    Args:
        own: Numbers of the two-stage observer.
    """
    sensitivity: float = own[ALPHA1] / own[ALPHA2] + 1.0 / _rate(own)
    return sensitivity


@compiled
def follow_noise(h: float, bias_variance: float, noise: MutableColumn, own: MutableColumn) -> None:
    """Set the rate of a step with contact to that of the least error, where that is enabled.

    Args:
        h: Duration of the step [s].
        bias_variance: Variance of the gyro bias across the vertical [rad^2/s^2].
        noise: Numbers of `CorrectionRate`; changed.
        own: Numbers of the two-stage observer; changed.
    """
    if follows_noise(noise):
        own[RATE], own[RATE_SET] = best_rate(h, bias_variance, own[GAMMA], noise), 1.0


@compiled
def advance_two_stage(
    h: float,
    w_I: Vector,
    f_I: Vector,
    y_v: Vector,
    aided: bool,
    shared: MutableColumn,
    own: MutableColumn,
) -> None:
    """Advance the two-stage observer by one step.

    Args:
        h: Duration of the step [s].
        w_I: Angular velocity of the IMU, bias removed, mean over the step [rad/s].
        f_I: Specific force, mean over the step [m/s^2].
        y_v: Velocity of the IMU in its frame from contacts [m/s]; used with contact only.
        aided: Whether there is contact.
        shared: Numbers that all observers have; changed.
        own: Those of the two-stage observer.
    """
    intermediate = vector_of(shared, INTERMEDIATE)
    if not aided:
        shared[FLIGHT] += h
        carried = rotate((-h * w_I[0], -h * w_I[1], -h * w_I[2]), intermediate)
        advance_without_contact(h, w_I, f_I, shared)
        gravity_aided = shared[GRAVITY_AIDED] > 0.0
        store(shared, INTERMEDIATE, vector_of(shared, X2) if gravity_aided else carried)
        return
    x1, x2 = vector_of(shared, X1), vector_of(shared, X2)
    if shared[VELOCITY_AIDED] == 0.0:
        if lost_in_flight(shared[FLIGHT], x1, y_v):
            x2 = normalised(x2)
            x1, intermediate = y_v, x2
        shared[FLIGHT] = 0.0
    shared[VELOCITY_AIDED], shared[GRAVITY_AIDED] = 1.0, 0.0
    state, innovation, correction = two_stage_step(
        h, (own[ALPHA1], own[ALPHA2]), _rate(own), (x1, intermediate, x2), w_I, f_I, y_v
    )
    store(shared, X1, state[0])
    store(shared, INTERMEDIATE, state[1])
    store(shared, X2, state[2])
    store(shared, INNOVATION, innovation)
    store(shared, CORRECTION, correction)


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
