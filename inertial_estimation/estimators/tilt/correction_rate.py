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

from inertial_estimation.compilation import MutableColumn, cells, compiled, inlined, warm_up, zeros
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.parameters import parameter
from inertial_estimation.signals import Array
from inertial_estimation.spatial.vectors import Vector, store, vector_of

MARGIN = 18.0  # density of the gyroscope's errors over that of a white noise with its second differences
DENSITY = MARGIN / 18.0  # of one axis, by the sum of the squares of three
LEAST_DENSITY = 1e-10  # of the gyroscope's noise: 0.03 deg per root hour [rad^2/s]
LEAST_VARIANCE = 1e-6 / STANDARD_GRAVITY**2  # of the contact velocity: 1 mm/s, over g0^2
UNSEEN = 2.0  # variance of a stance-long error of the contact velocity over that of its innovation
SQUARE = UNSEEN / STANDARD_GRAVITY**2 / 3.0  # of one axis, over g0^2
LARGEST_INNOVATION = 4.0  # square of the largest innovation that counts as noise [m^2/s^2]

# Numbers of the state: time since the begin [s], density of the gyroscope's noise [rad^2/s], variance of the
# contact velocity over g0^2 of one axis [rad^2], rate of least error in the steady state [1/s], variance of
# the tilt [rad^2], whether rates are known, and the last two of them [rad/s]. Behind them the parameters:
# time constant [s], lowest rate [1/s], whether the rate follows the noise.
ELAPSED, DENSITY_SEEN, VARIANCE, BEST, VARIANCE_TILT, RATES_KNOWN, RATES, SIZE = *range(7), 12
MEMORY, SLOWEST, ENABLED, ROW_SIZE = range(SIZE, SIZE + 4)


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
        row: Numbers of the state and the parameters, for the functions of this module.
    """

    def __init__(self, config: AdaptationConfig, row: Array | None = None) -> None:
        """Begin without a measured noise.

        Args:
            config: Parameters.
            row: Memory for at least `ROW_SIZE` numbers; None: its own.
        """
        self.row = zeros(ROW_SIZE) if row is None else row
        self._cells = cells(self.row)
        self.configure(config)
        warm_up()
        self.reset()

    def configure(self, config: AdaptationConfig) -> None:
        """Take parameters, which may have changed at run time."""
        self._cells[MEMORY], self._cells[SLOWEST] = config.memory, config.slowest
        self._cells[ENABLED] = 1.0 if config.enabled else 0.0

    def reset(self) -> None:
        """Forget the noise."""
        for k in range(SIZE):
            self._cells[k] = 0.0
        self._cells[BEST] = 1.0

    @property
    def velocity_noise(self) -> float:
        """Standard deviation of the contact velocity about its prediction, one axis [m/s]."""
        return STANDARD_GRAVITY * math.sqrt(self._cells[VARIANCE])

    @property
    def gyro_noise(self) -> float:
        """Noise of the gyroscope as an angle random walk [rad/sqrt(s)]."""
        return math.sqrt(self._cells[DENSITY_SEEN])

    @property
    def white_density(self) -> float:
        """Density of the gyroscope's noise if it is as white as its second differences say [rad^2/s]."""
        return white_density(float(self._cells[DENSITY_SEEN]))

    def begin(self, sigma: float) -> None:
        """Note that the vertical was set.

        Args:
            sigma: Standard deviation of that vertical [rad].
        """
        self._cells[VARIANCE_TILT] = sigma * sigma


@inlined
def white_density(seen: float) -> float:
    """Return the density of the gyroscope's noise if it is as white as its second differences say [rad^2/s].

    Args:
        seen: Density that the rate of correction follows [rad^2/s].
    """
    return seen / MARGIN + LEAST_DENSITY


@inlined
def follows_noise(state: MutableColumn) -> bool:
    """Return whether the rate of the correction follows the noise, by the numbers of `CorrectionRate`."""
    enabled: bool = state[ENABLED] > 0.0
    return enabled


@inlined
def measure_rate(h: float, rate: Vector, state: MutableColumn) -> None:
    """Measure the gyroscope's noise by the second difference of three readings.

    A white noise of standard deviation s a reading has the density s^2 h, and second differences of variance
    6 s^2 on each axis. Errors at an impact last for several readings, and those of scale and alignment show
    in no second difference: the density is taken `MARGIN` times as large.

    Args:
        h: Time since the last reading [s].
        rate: Angular rate [rad/s].
        state: Numbers of `CorrectionRate`.
    """
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
    share = h / min(state[ELAPSED], state[MEMORY])
    state[DENSITY_SEEN] += share * (DENSITY * h * (x * x + y * y + z * z) - state[DENSITY_SEEN])


@compiled
def measure_velocity(h: float, innovation: Vector, x2: Vector, f_I: Vector, state: MutableColumn) -> None:
    """Measure the noise of the contact velocity by its difference from the prediction; not without contact.

    Args:
        h: Duration of the step [s].
        innovation: Of the velocity [m/s].
        x2: The vertical in the IMU frame, after the step.
        f_I: Specific force, mean over the step [m/s^2].
        state: Numbers of `CorrectionRate`.
    """
    x = innovation[0] - h * (f_I[0] - STANDARD_GRAVITY * x2[0])
    y = innovation[1] - h * (f_I[1] - STANDARD_GRAVITY * x2[1])
    z = innovation[2] - h * (f_I[2] - STANDARD_GRAVITY * x2[2])
    share = h / min(state[ELAPSED], state[MEMORY])
    square = min(x * x + y * y + z * z, LARGEST_INNOVATION)
    state[VARIANCE] += share * (SQUARE * square - state[VARIANCE])


@compiled
def best_rate(h: float, bias_variance: float, fastest: float, state: MutableColumn) -> float:
    """Return the rate of least error in a step with contact [1/s], and update the variance of the tilt.

    Args:
        h: Duration of the step [s].
        bias_variance: Variance of the gyro bias across the vertical [rad^2/s^2].
        fastest: Highest rate [1/s], which counts more than the lowest one.
        state: Numbers of `CorrectionRate`.
    """
    q, r = state[DENSITY_SEEN] + LEAST_DENSITY, state[VARIANCE] + LEAST_VARIANCE
    best = ((0.25 * q + bias_variance / state[BEST]) / r) ** (1.0 / 3.0)
    state[BEST] = best
    least = 0.5 * q / best + bias_variance / (best * best) + best * best * r
    gain = state[VARIANCE_TILT] * best / least
    rate: float = max(min(gain, fastest), min(state[SLOWEST], fastest))
    # With another gain than the optimal one: P' = Q - 2 k P + k^2 R.
    keep = 1.0 / (1.0 + 2.0 * h * rate)
    grown = h * (least * best + rate * rate * least / best)
    state[VARIANCE_TILT] = keep * (state[VARIANCE_TILT] + grown)
    return rate


@compiled
def uncorrected(h: float, bias_variance: float, state: MutableColumn) -> None:
    """Let the variance of the tilt grow over a step without contact.

    Args:
        h: Duration of the step [s].
        bias_variance: Variance of the gyro bias across the vertical [rad^2/s^2].
        state: Numbers of `CorrectionRate`.
    """
    sigma = math.sqrt(state[VARIANCE_TILT] * bias_variance)
    state[VARIANCE_TILT] += h * (state[DENSITY_SEEN] + LEAST_DENSITY + 2.0 * sigma)
