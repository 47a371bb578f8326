"""Rate of the tilt correction by its information: the noise of gyroscope, contact velocity and gyro bias.

At a rate gamma the tilt is wrong by three independent parts: what the gyroscope's noise of density q adds in
the time 1/gamma, what the unknown part sigma_b of its bias does, and what errors sigma_v of the contact
velocity leave, since a wrong velocity is a wrong direction of gravity at gamma sigma_v / g0:

    E(gamma) = q / (2 gamma) + (sigma_b / gamma)^2 + (gamma sigma_v / g0)^2

The least E is at gamma^3 = (g0/sigma_v)^2 (q/4 + sigma_b^2 / gamma). A scalar Kalman filter of the tilt
whose steady state is this minimum, with noise densities E gamma and E / gamma, gives the rate after a start,
when the vertical is less certain: P' = E gamma - P^2 gamma / E, with the gain P gamma / E.

None of the noises is a parameter. q is measured by the second differences of the rate, which a smooth motion
leaves zero and which noise, vibration and impacts aliased at a low sampling rate do not; sigma_v by the
innovation of the velocity, so that feet that slip, strike, sink or lose contact lower the rate while they do
so.
"""

import math
from dataclasses import dataclass
from typing import Any, TypeVar

from inertial_estimation.compilation import MutableColumn, compiled, warm_up, zeros
from inertial_estimation.estimators.tilt.tilt_observer import TiltObserver
from inertial_estimation.estimators.tilt.two_stage_observer import TwoStageObserver
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.parameters import parameter
from inertial_estimation.signals import Array
from inertial_estimation.spatial.vectors import Vector, store, vector_of

__all__ = [
    "DENSITY_SEEN",
    "ELAPSED",
    "SIZE",
    "AdaptationConfig",
    "CorrectionRate",
    "best_rate",
    "measure_velocity",
    "uncorrected",
    "white_density",
]

MARGIN = 18.0  # density of the gyroscope's errors over that of a white noise with its second differences
DENSITY = MARGIN / 18.0  # of one axis, by the sum of the squares of three
LEAST_DENSITY = 1e-10  # of the gyroscope's noise: 0.03 deg per root hour [rad^2/s]
LEAST_VARIANCE = 1e-6 / STANDARD_GRAVITY**2  # of the contact velocity: 1 mm/s, over g0^2
AnyArray = TypeVar("AnyArray", float, Array)
UNSEEN = 2.0  # variance of a stance-long error of the contact velocity over that of its innovation
SQUARE = UNSEEN / STANDARD_GRAVITY**2 / 3.0  # of one axis, over g0^2
LARGEST_INNOVATION = 4.0  # square of the largest innovation that counts as noise [m^2/s^2]

# Numbers of the state: time since the begin [s], density of the gyroscope's noise [rad^2/s], variance of the
# contact velocity over g0^2 of one axis [rad^2], rate of least error in the steady state [1/s], variance of
# the tilt [rad^2], whether rates are known, and the last two of them [rad/s].
ELAPSED, DENSITY_SEEN, VARIANCE, BEST, VARIANCE_TILT, RATES_KNOWN, RATES, SIZE = *range(7), 12


@dataclass(frozen=True)
class AdaptationConfig:
    """How the rate of the tilt correction follows the noise of the readings."""

    enabled: bool = parameter(
        True,
        "Whether the rate at which the observer two_stage corrects the tilt follows the measured noise of "
        "gyroscope and contact velocity, up to two_stage.gamma; if false, it is two_stage.gamma.",
    )
    memory: float = parameter(
        2.0,
        "Time constant with which the noise of gyroscope and contact velocity is averaged; several steps of "
        "the gait.",
        unit="s",
        lower=0.1,
        upper=100.0,
        runtime=True,
    )
    slowest: float = parameter(
        0.05,
        "Lowest rate of the tilt correction, however noisy the contact velocity is.",
        unit="1/s",
        lower=1e-3,
        upper=100.0,
        runtime=True,
    )


class CorrectionRate:
    """Noise of gyroscope and contact velocity, and the rate of correction that follows from it.

    Attributes:
        config: Parameters; they may be replaced at run time.
    """

    def __init__(self, config: AdaptationConfig) -> None:
        self.config = config
        warm_up()
        self.reset()

    def reset(self) -> None:
        """Forget the noise."""
        self._state = zeros(SIZE)
        self._state[BEST] = 1.0

    @property
    def velocity_noise(self) -> float:
        """Standard deviation of the contact velocity about its prediction, one axis [m/s]."""
        return STANDARD_GRAVITY * math.sqrt(self._state[VARIANCE])

    @property
    def gyro_noise(self) -> float:
        """Noise of the gyroscope as an angle random walk [rad/sqrt(s)]."""
        return math.sqrt(self._state[DENSITY_SEEN])

    @property
    def white_density(self) -> float:
        """Density of the gyroscope's noise if it is as white as its second differences say [rad^2/s]."""
        return white_density(float(self._state[DENSITY_SEEN]))

    @property
    def state(self) -> tuple[float, ...]:
        """The numbers that change from step to step, for a run over a whole recording."""
        return tuple(self._state)

    def begin(self, sigma: float) -> None:
        """Note that the vertical was set.

        Args:
            sigma: Standard deviation of that vertical [rad].
        """
        self._state[VARIANCE_TILT] = sigma * sigma

    def measure_rate(self, h: float, rate: Vector) -> None:
        """Measure the gyroscope's noise by the second difference of three readings.

        A white noise of standard deviation s a reading has the density s^2 h, and second differences of
        variance 6 s^2 on each axis. Errors at an impact last for several readings, and those of scale and
        alignment show in no second difference: the density is taken `MARGIN` times as large.

        Args:
            h: Time since the last reading [s].
            rate: Angular rate [rad/s].
        """
        _measure_rate(h, rate, self.config.memory, self._state)

    def measure_velocity(self, observer: TiltObserver[Any], h: float, f_I: Vector) -> None:
        """Measure the noise of the contact velocity by its difference from the prediction.

        Args:
            observer: The observer after the step; without contact nothing is measured.
            h: Duration of the step [s].
            f_I: Specific force, mean over the step [m/s^2].
        """
        if observer.velocity_aided:
            measure_velocity(h, observer.innovation, observer.x2, f_I, self.config.memory, self._state)

    def set_rate(self, observer: TiltObserver[Any], h: float, bias_variance: float) -> None:
        """Let the observer correct the vertical in a step with contact at the rate of least error.

        Args:
            observer: The observer; only the two-stage observer has a rate that can be set.
            h: Duration of the step [s].
            bias_variance: Variance of the gyro bias across the vertical [rad^2/s^2].
        """
        if isinstance(observer, TwoStageObserver) and self.config.enabled:
            observer.set_rate(self.update(h, bias_variance, observer.config.gamma))

    def update(self, h: float, bias_variance: float, fastest: float) -> float:
        """Return the rate of the tilt correction in a step with contact [1/s].

        Args:
            h: Duration of the step [s].
            bias_variance: Variance of the gyro bias across the vertical [rad^2/s^2].
            fastest: Highest rate [1/s].
        """
        return best_rate(h, bias_variance, fastest, self.config.slowest, self._state)

    def propagate(self, h: float, bias_variance: float) -> None:
        """Let the variance of the tilt grow over a step without contact.

        Args:
            h: Duration of the step [s].
            bias_variance: Variance of the gyro bias across the vertical [rad^2/s^2].
        """
        uncorrected(h, bias_variance, self._state)


def white_density(seen: AnyArray) -> AnyArray:
    """Return the density of the gyroscope's noise if it is as white as its second differences say [rad^2/s].

    Args:
        seen: Density that the rate of correction follows, a number or an array [rad^2/s].
    """
    return seen / MARGIN + LEAST_DENSITY


@compiled
def _measure_rate(h: float, rate: Vector, memory: float, state: MutableColumn) -> None:
    """Update the density of the gyroscope's noise, as `CorrectionRate.measure_rate`."""
    state[ELAPSED] += h
    if state[RATES_KNOWN] == 0.0:
        state[RATES_KNOWN] = 1.0
        store(state, RATES, rate)
        store(state, RATES + 3, rate)
        return
    a, b = vector_of(state, RATES), vector_of(state, RATES + 3)
    store(state, RATES, b)
    store(state, RATES + 3, rate)
    x, y, z = rate[0] - 2.0 * b[0] + a[0], rate[1] - 2.0 * b[1] + a[1], rate[2] - 2.0 * b[2] + a[2]
    share = h / min(state[ELAPSED], memory)
    state[DENSITY_SEEN] += share * (DENSITY * h * (x * x + y * y + z * z) - state[DENSITY_SEEN])


@compiled
def measure_velocity(
    h: float, innovation: Vector, x2: Vector, f_I: Vector, memory: float, state: MutableColumn
) -> None:
    """Update the variance of the contact velocity, as `CorrectionRate.measure_velocity`."""
    x = innovation[0] - h * (f_I[0] - STANDARD_GRAVITY * x2[0])
    y = innovation[1] - h * (f_I[1] - STANDARD_GRAVITY * x2[1])
    z = innovation[2] - h * (f_I[2] - STANDARD_GRAVITY * x2[2])
    share = h / min(state[ELAPSED], memory)
    square = min(x * x + y * y + z * z, LARGEST_INNOVATION)
    state[VARIANCE] += share * (SQUARE * square - state[VARIANCE])


@compiled
def best_rate(h: float, bias_variance: float, fastest: float, slowest: float, state: MutableColumn) -> float:
    """Return the rate of least error, and update the variance of the tilt, as `CorrectionRate.update`."""
    q, r = state[DENSITY_SEEN] + LEAST_DENSITY, state[VARIANCE] + LEAST_VARIANCE
    best = ((0.25 * q + bias_variance / state[BEST]) / r) ** (1.0 / 3.0)
    state[BEST] = best
    least = 0.5 * q / best + bias_variance / (best * best) + best * best * r
    gain = state[VARIANCE_TILT] * best / least
    rate: float = max(min(gain, fastest), min(slowest, fastest))
    # With another gain than the optimal one: P' = Q - 2 k P + k^2 R.
    keep = 1.0 / (1.0 + 2.0 * h * rate)
    grown = h * (least * best + rate * rate * least / best)
    state[VARIANCE_TILT] = keep * (state[VARIANCE_TILT] + grown)
    return rate


@compiled
def uncorrected(h: float, bias_variance: float, state: MutableColumn) -> None:
    """Let the variance of the tilt grow without contact, as `CorrectionRate.propagate`."""
    sigma = math.sqrt(state[VARIANCE_TILT] * bias_variance)
    state[VARIANCE_TILT] += h * (state[DENSITY_SEEN] + LEAST_DENSITY + 2.0 * sigma)
