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
from typing import Any

from inertial_estimation.estimators.tilt.tilt_observer import TiltObserver
from inertial_estimation.estimators.tilt.two_stage_observer import TwoStageObserver
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.parameters import parameter
from inertial_estimation.spatial.vectors import Vector

__all__ = ["AdaptationConfig", "CorrectionRate"]

MARGIN = 18.0  # density of the gyroscope's errors over that of a white noise with its second differences
DENSITY = MARGIN / 18.0  # of one axis, by the sum of the squares of three
LEAST_DENSITY = 1e-10  # of the gyroscope's noise: 0.03 deg per root hour [rad^2/s]
LEAST_VARIANCE = 1e-6 / STANDARD_GRAVITY**2  # of the contact velocity: 1 mm/s, over g0^2
UNSEEN = 2.0  # variance of a stance-long error of the contact velocity over that of its innovation
SQUARE = UNSEEN / STANDARD_GRAVITY**2 / 3.0  # of one axis, over g0^2
LARGEST_INNOVATION = 4.0  # square of the largest innovation that counts as noise [m^2/s^2]


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
        self.reset()

    def reset(self) -> None:
        """Forget the noise."""
        self._elapsed = 0.0
        self._density = 0.0  # of the gyroscope's noise [rad^2/s]
        self._variance = 0.0  # of the contact velocity over g0^2 [rad^2], one axis
        self._best = 1.0  # rate of least error in the steady state [1/s]
        self._variance_tilt = 0.0  # [rad^2]
        self._rates: tuple[Vector, Vector] | None = None

    @property
    def velocity_noise(self) -> float:
        """Standard deviation of the contact velocity about its prediction, one axis [m/s]."""
        return STANDARD_GRAVITY * math.sqrt(self._variance)

    @property
    def gyro_noise(self) -> float:
        """Noise of the gyroscope as an angle random walk [rad/sqrt(s)]."""
        return math.sqrt(self._density)

    def begin(self, sigma: float) -> None:
        """Note that the vertical was set.

        Args:
            sigma: Standard deviation of that vertical [rad].
        """
        self._variance_tilt = sigma * sigma

    def measure_rate(self, h: float, rate: Vector) -> None:
        """Measure the gyroscope's noise by the second difference of three readings.

        A white noise of standard deviation s a reading has the density s^2 h, and second differences of
        variance 6 s^2 on each axis. Errors at an impact last for several readings, and those of scale and
        alignment show in no second difference: the density is taken `MARGIN` times as large.

        Args:
            h: Time since the last reading [s].
            rate: Angular rate [rad/s].
        """
        self._elapsed += h
        if self._rates is None:
            self._rates = rate, rate
            return
        a, b = self._rates
        self._rates = b, rate
        x, y, z = rate[0] - 2.0 * b[0] + a[0], rate[1] - 2.0 * b[1] + a[1], rate[2] - 2.0 * b[2] + a[2]
        share = h / min(self._elapsed, self.config.memory)
        self._density += share * (DENSITY * h * (x * x + y * y + z * z) - self._density)

    def measure_velocity(self, observer: TiltObserver[Any], h: float, f_I: Vector) -> None:
        """Measure the noise of the contact velocity by its difference from the prediction.

        Args:
            observer: The observer after the step; without contact nothing is measured.
            h: Duration of the step [s].
            f_I: Specific force, mean over the step [m/s^2].
        """
        if not observer.velocity_aided:
            return
        g, innovation, x2 = STANDARD_GRAVITY, observer.innovation, observer.x2
        x = innovation[0] - h * (f_I[0] - g * x2[0])
        y = innovation[1] - h * (f_I[1] - g * x2[1])
        z = innovation[2] - h * (f_I[2] - g * x2[2])
        share = h / min(self._elapsed, self.config.memory)
        square = min(x * x + y * y + z * z, LARGEST_INNOVATION)
        self._variance += share * (SQUARE * square - self._variance)

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
        q, r = self._density + LEAST_DENSITY, self._variance + LEAST_VARIANCE
        best: float = ((0.25 * q + bias_variance / self._best) / r) ** (1.0 / 3.0)
        self._best = best
        least = 0.5 * q / best + bias_variance / (best * best) + best * best * r
        gain = self._variance_tilt * best / least
        rate = max(min(gain, fastest), min(self.config.slowest, fastest))
        # With another gain than the optimal one: P' = Q - 2 k P + k^2 R.
        keep = 1.0 / (1.0 + 2.0 * h * rate)
        self._variance_tilt = keep * (self._variance_tilt + h * (least * best + rate * rate * least / best))
        return rate

    def propagate(self, h: float, bias_variance: float) -> None:
        """Let the variance of the tilt grow over a step without contact.

        Args:
            h: Duration of the step [s].
            bias_variance: Variance of the gyro bias across the vertical [rad^2/s^2].
        """
        sigma = math.sqrt(self._variance_tilt * bias_variance)
        self._variance_tilt += h * (self._density + LEAST_DENSITY + 2.0 * sigma)
