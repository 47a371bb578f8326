"""Kalman observer: velocity, vertical and offset of the specific force, with noise as the readings show it.

    x1' = -S(w) x1 - g0 x2 + f - c        x2' = -S(w) x2        c' = 0

The gains follow the covariance of an extended Kalman filter of these equations with the gyro bias considered
(Schmidt, 1966): its variance counts, its estimate is left to `GyroBiasEstimator`. Three things distinguish it
from an observer of constant gains:

- The noise of the contact velocity is measured, by its mean innovation over half a second, and that of the
  gyroscope by its second differences. Feet that slip or ground that yields lower the gains.
- A constant offset c of the horizontal specific force (bias of the accelerometer; the centripetal
  acceleration of a contact velocity that is wrong in a turn) tilts any observer by c/g0. It turns with the
  robot and the vertical does not, so that it becomes observable in a turn.
- After a start the gains are as high as the vertical is uncertain.
"""

from dataclasses import dataclass

from inertial_estimation.estimators.tilt.kalman_advance import (
    DRIFTS,
    OWN_SIZE,
    SEEN,
    TIMES,
    TOLD,
    advance_kalman,
    expected_velocity,
    kalman_rate,
    store_kalman_rates,
)
from inertial_estimation.estimators.tilt.kalman_steps import (
    CC,
    OFFSET,
    SIZE,
    VELOCITY_NOISE,
    ZZ,
    begin,
    undo,
)
from inertial_estimation.estimators.tilt.tilt_observer import GravityFallbackConfig, TiltObserver
from inertial_estimation.parameters import parameter
from inertial_estimation.signals import Array
from inertial_estimation.spatial.vectors import ZERO, Vector, distance, store, vector_of

SET_SIGMA = 0.03  # standard deviation of a vertical of which nothing else is known [rad]
TURNED_SHARE = 0.3  # of a turn by which the vertical was set right after a fault, that may be wrong
UNSEEN: Vector = (1e-6, 1e-6, 1.0)  # noise before any is seen: density, variance of the bias, information


@dataclass(frozen=True)
class KalmanConfig:
    """What the observer `kalman` cannot measure."""

    accelerometer_offset: float = parameter(
        0.04,
        "Standard deviation of the constant offset of the horizontal specific force that the observer kalman "
        "estimates, of one axis: bias of the accelerometer, and the acceleration that a contact velocity "
        "which is wrong in a turn feigns.",
        unit="m/s^2",
        lower=0.0,
        upper=1.0,
    )
    offset_drift: float = parameter(
        0.001,
        "Random walk of that offset per square root of a second.",
        unit="m/s^2",
        lower=0.0,
        upper=1.0,
        runtime=True,
    )
    velocity_drift: float = parameter(
        0.04,
        "Random walk of the velocity of the observer kalman per square root of a second: how much a contact "
        "velocity that is wrong for longer than a step may change, and noise of the accelerometer.",
        unit="m/s",
        lower=0.0,
        upper=10.0,
        runtime=True,
    )
    window: float = parameter(
        0.5,
        "Time over which the observer kalman averages its velocity innovation before it takes what is left "
        "for noise of the contact velocity: about one step of the gait.",
        unit="s",
        lower=0.02,
        upper=10.0,
        runtime=True,
    )
    memory: float = parameter(
        4.0,
        "Time constant with which the noise of the contact velocity is averaged by the observer kalman; "
        "several windows.",
        unit="s",
        lower=0.1,
        upper=100.0,
        runtime=True,
    )

    @property
    def times(self) -> tuple[float, float]:
        """Window and memory with which the contact velocity's noise is measured [s]."""
        return self.window, self.memory

    @property
    def drifts(self) -> tuple[float, float]:
        """Random walks of the velocity [m/s/sqrt(s)] and of the offset [m/s^2/sqrt(s)]."""
        return self.velocity_drift, self.offset_drift


class KalmanObserver(TiltObserver[KalmanConfig]):
    """Extended Kalman filter with one covariance for both horizontal axes."""

    own_size = OWN_SIZE

    def __init__(
        self,
        config: KalmanConfig,
        fallback: GravityFallbackConfig,
        rows: tuple[Array, Array] | None = None,
    ) -> None:
        """Begin upright and at rest, without a measured noise; arguments are those of `TiltObserver`."""
        super().__init__(config, fallback, rows)
        store(self._own_cells, SEEN, UNSEEN)

    def configure(self, config: KalmanConfig, fallback: GravityFallbackConfig) -> None:
        """Take parameters, which may have changed at run time."""
        super().configure(config, fallback)
        numbers = self._own_cells
        (numbers[TIMES], numbers[TIMES + 1]), (numbers[DRIFTS], numbers[DRIFTS + 1]) = (
            config.times,
            config.drifts,
        )

    def initialise(self, x1: Vector, x2: Vector) -> None:
        """Begin from a state of which nothing else is known."""
        super().initialise(x1, x2)
        store(self._own_cells, TOLD, self.x1)
        self.trust(SET_SIGMA)

    def trust(self, sigma: float) -> None:
        """Set the standard deviation of the vertical, apart from an offset of the specific force."""
        begin(self.own, sigma, self.config.accelerometer_offset)

    def restore(self, x2: Vector) -> None:
        """Set the vertical, which is then less certain by a share of the turn, and keep the velocity."""
        before = self.x2
        super().restore(x2)
        self._own_cells[ZZ] += (TURNED_SHARE * distance(before, self.x2)) ** 2

    def hold(self, h: float, w_I: Vector, before: Vector) -> None:
        """Undo the correction of vertical, offset and covariance in the last step."""
        super().hold(h, w_I, before)
        undo(self.own)

    def expected_velocity(self, h: float, w_I: Vector, f_I: Vector) -> Vector | None:
        """Predict the mean velocity of a step."""
        return expected_velocity(h, w_I, f_I, self._cells, self._own_cells)

    def forget_noise(self) -> None:
        """Begin without a measured noise; `initialise` has to follow."""
        for k in range(SIZE):
            self._own_cells[k] = 0.0
        store(self._own_cells, SEEN, UNSEEN)

    def see_noise(self, gyro_density: float, bias_variance: float, information: float) -> None:
        """Take the noise of the readings of the next step."""
        store(self._own_cells, SEEN, (gyro_density, bias_variance, information))

    @property
    def tilt_variance(self) -> float:
        """Variance of the tilt, of one axis [rad^2]."""
        return float(self._own_cells[ZZ])

    @property
    def offset(self) -> Vector:
        """Offset of the specific force, IMU frame [m/s^2]."""
        return vector_of(self._own_cells, OFFSET)

    @property
    def offset_variance(self) -> float:
        """Variance of the offset, of one axis [m^2/s^4]."""
        return float(self._own_cells[CC])

    @property
    def velocity_noise(self) -> float:
        """Measured density of the contact velocity's noise, of one axis [m^2/s]."""
        return float(self._own_cells[VELOCITY_NOISE])

    def store_rates(self) -> None:
        """Write rates and gains of the last step to the numbers that all observers have."""
        store_kalman_rates(self._cells, self._own_cells)

    @property
    def convergence_rate(self) -> float:
        """Slowest root of the error with the gains of the last step, within bounds [1/s]."""
        return kalman_rate(self._own_cells)

    @property
    def bias_sensitivity(self) -> float:
        """Inverse of the rate of convergence [s]."""
        return 1.0 / self.convergence_rate

    def step(self, h: float, w_I: Vector, f_I: Vector, y_v: Vector | None) -> None:
        """Advance by one step, as `TiltObserver.step`."""
        advance_kalman(h, w_I, f_I, y_v or ZERO, y_v is not None, self.shared, self.own)
