"""A simple model of the covariance of the orientation estimate, for the odometry message.

The observer has fixed gains, so its covariance follows from an error model instead of a filter. In contact
the tilt variance converges, at twice the observer's slowest rate, to sigma^2 + (T sigma_b)^2. Here sigma is
the tilt error caused by errors of the contact velocity (rolling feet, bending legs), T the steady tilt error
per gyro bias (THEORY 4), and sigma_b the uncertainty of the bias. Without contact the variance grows with the
bias and the gyroscope's noise. The yaw variance is that of the reference; without a reference it grows in the
same way.

Neither grows beyond the variance of an angle of which nothing is known: pi^2 / 3 for the yaw, uniform in
(-pi, pi]. A vertical uniform on the sphere is turned by theta with the density sin(theta) / 2 about a
horizontal axis of any direction, so that the variance about either axis is E[theta^2] / 2 = (pi^2 - 4) / 4.
Tilt and yaw are not correlated, so that the bounded covariance is positive definite as it is.
"""

import math
from dataclasses import dataclass

from inertial_estimation.compilation import MutableColumn, cells, inlined, zeros
from inertial_estimation.parameters import parameter
from inertial_estimation.signals import Array
from inertial_estimation.spatial.vectors import Matrix, Vector

# Numbers of the state: variances of the tilt, either axis, and of the yaw [rad^2]; behind them the squares of
# the last three parameters of `UncertaintyConfig`.
TILT, YAW, CONTACT_TILT, GYRO_NOISE, YAW_REFERENCE, SIZE = range(6)
UNKNOWN_YAW = math.pi**2 / 3.0  # of which nothing is known [rad^2]
UNKNOWN_TILT = (math.pi**2 - 4.0) / 4.0  # either axis [rad^2]


@dataclass(frozen=True)
class UncertaintyConfig:
    """Standard deviations from which the covariance is computed."""

    initial_tilt: float = parameter(
        0.05,
        "Standard deviation of the initial tilt, which comes from the accelerometer.",
        unit="rad",
        lower=1e-6,
        upper=3.2,
    )
    contact_tilt: float = parameter(
        0.006,
        "Steady standard deviation of the tilt in contact, apart from the effect of the gyroscope bias.",
        unit="rad",
        lower=1e-6,
        upper=1.0,
    )
    gyro_noise: float = parameter(
        0.003,
        "Angle random walk in motion, per square root of a second; larger increases the published "
        "covariance faster.",
        unit="rad",
        lower=0.0,
        upper=1.0,
    )
    yaw_reference: float = parameter(
        0.02, "Standard deviation of the yaw of the yaw reference.", unit="rad", lower=1e-6, upper=3.2
    )


class TiltUncertainty:
    """Variances of the tilt (either axis) and of the yaw.

    Attributes:
        row: Numbers of the state, for `advance_variances`.
    """

    def __init__(self, config: UncertaintyConfig, row: Array | None = None) -> None:
        """Begin with the variances at the start.

        Args:
            config: Standard deviations from which the variances follow.
            row: Memory for at least `SIZE` numbers; None: its own.
        """
        self.row = zeros(SIZE) if row is None else row
        self._cells = numbers = cells(self.row)
        self._initial = config.initial_tilt**2
        numbers[CONTACT_TILT], numbers[GYRO_NOISE] = config.contact_tilt**2, config.gyro_noise**2
        numbers[YAW_REFERENCE] = config.yaw_reference**2
        self.reset()

    def reset(self) -> None:
        """Begin with the tilt variance of the accelerometer and a yaw that is zero by definition."""
        self._cells[TILT], self._cells[YAW] = self._initial, 0.0

    @property
    def tilt(self) -> float:
        """Variance of the tilt, of either axis [rad^2]."""
        return float(self._cells[TILT])


@inlined
def advance_variances(
    h: float,
    aided_rate: float,
    bias_sensitivity: float,
    bias_variances: tuple[float, float],
    yaw_referenced: bool,
    state: MutableColumn,
) -> None:
    """Advance the variances by one step, at most to `UNKNOWN_TILT` and `UNKNOWN_YAW`.

    Args:
        h: Duration [s].
        aided_rate: Rate at which the active correction reduces a tilt error [1/s]; 0 without one.
        bias_sensitivity: Steady tilt error per gyro bias with that correction [s].
        bias_variances: Variances of the gyro bias, across and along the vertical [rad^2/s^2].
        yaw_referenced: Whether the yaw comes from a reference.
        state: Numbers of `TiltUncertainty`; updated.
    """
    across, along = bias_variances
    walk = state[GYRO_NOISE] * h
    if aided_rate > 0.0:
        steady = state[CONTACT_TILT] + bias_sensitivity * bias_sensitivity * across
        state[TILT] = steady + (state[TILT] - steady) / (1.0 + 2.0 * aided_rate * h)
    else:  # sigma' = sigma_b: the error caused by a constant bias grows linearly with time
        state[TILT] += walk + h * (2.0 * math.sqrt(state[TILT] * across) + h * across)
    if yaw_referenced:
        state[YAW] = state[YAW_REFERENCE]
    else:
        state[YAW] += walk + h * (2.0 * math.sqrt(state[YAW] * along) + h * along)
    state[TILT], state[YAW] = min(state[TILT], UNKNOWN_TILT), min(state[YAW], UNKNOWN_YAW)


@inlined
def rotation_covariance(tilt: float, yaw: float, x2_B: Vector) -> Matrix:
    """Return the covariance of small rotations of the base.

    Args:
        tilt: Variance about each horizontal axis [rad^2].
        yaw: Variance about the vertical [rad^2].
        x2_B: The vertical in the base frame.

    Returns:
        tilt (1 - x2 x2^T) + yaw x2 x2^T [rad^2], base frame.
    """
    x, y, z = x2_B
    d = yaw - tilt
    xy, xz, yz = d * x * y, d * x * z, d * y * z
    return (tilt + d * x * x, xy, xz), (xy, tilt + d * y * y, yz), (xz, yz, tilt + d * z * z)
