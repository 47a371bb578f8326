"""Contact-aided right-invariant extended Kalman filter, for comparison (Hartley et al., IJRR 2020).

The state is X = (R, v, p, d_1 .. d_n) in SE_{n+2}(3): orientation, velocity and position of the IMU and the
positions of the feet in use, in the world. With the right-invariant error X^ X^-1 = exp(xi) the propagation
of the error does not depend on the state:

    xi_R' = 0,  xi_v' = g x xi_R,  xi_p' = xi_v,  xi_d' = 0

and a foot seen at y_i = R^T (d_i - p) in the IMU frame gives R^ y_i - (d_i^ - p^) = xi_p - xi_d, so that the
linearisation is exact in both. The noise of the feet is a random walk while they stand. Publication and this
module differ in one point: the gyro bias is not in the state, since `GyroBiasEstimator` estimates it for
every observer. Yaw and position are not observable; neither is part of the output.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from inertial_estimation.estimators.tilt.comparison_observer import ComparisonObserver
from inertial_estimation.estimators.tilt.tilt_observer import GravityFallbackConfig
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.parameters import parameter
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra
from inertial_estimation.spatial.rotations import exp_so3, left_jacobian_so3, skew
from inertial_estimation.spatial.vectors import IDENTITY, Vector, align_rows, matrix, vector

GRAVITY = np.array([0.0, 0.0, -STANDARD_GRAVITY])
INITIAL_TILT, INITIAL_VELOCITY = 0.03, 0.1  # standard deviations of a vertical and a velocity that were set
FARTHEST = 10.0  # distance from the origin at which the origin is moved [m]
ROTATION, VELOCITY, POSITION = slice(0, 3), slice(3, 6), slice(6, 9)
SLOWEST, FASTEST = 0.01, 10.0  # bounds of the rate of convergence that is reported [1/s]


@dataclass(frozen=True)
class InvariantEkfConfig:
    """Noise densities of the invariant filter."""

    gyro_noise: float = parameter(
        0.003,
        "Noise of the angular rate of the observer invariant_ekf as an angle random walk per square root of "
        "a second.",
        unit="rad",
        lower=1e-7,
        upper=1.0,
        runtime=True,
    )
    accelerometer_noise: float = parameter(
        0.1,
        "Noise of the specific force of the observer invariant_ekf as a velocity random walk per square root "
        "of a second.",
        unit="m/s",
        lower=1e-6,
        upper=100.0,
        runtime=True,
    )
    foot_noise: float = parameter(
        0.03,
        "Random walk of the position of a foot in contact, of the observer invariant_ekf, per square root of "
        "a second: how much feet slip, roll and sink.",
        unit="m",
        lower=1e-6,
        upper=100.0,
        runtime=True,
    )
    kinematics_noise: float = parameter(
        0.003,
        "Standard deviation of the position of a foot relative to the IMU by the joint positions, of the "
        "observer invariant_ekf.",
        unit="m",
        lower=1e-6,
        upper=1.0,
        runtime=True,
    )


class InvariantEkf(ComparisonObserver[InvariantEkfConfig]):
    """Right-invariant filter over orientation, velocity, position and feet.

    Attributes:
        R: Orientation of the IMU; its yaw is arbitrary.
        columns: v, p and d_i in the world, shape (3, 2 + n) [m/s, m].
        P: Covariance of xi, order R, v, p, d_i, shape (9 + 3 n, 9 + 3 n); zero for feet not in use.
    """

    needs_feet = True

    def __init__(
        self,
        config: InvariantEkfConfig,
        fallback: GravityFallbackConfig,
        rows: tuple[Array, Array] | None = None,
    ) -> None:
        """Begin upright and at rest, without a foot; arguments are those of `TiltObserver`."""
        self._feet: Sequence[Vector | None] = ()
        self._known: tuple[bool, ...] = ()
        super().__init__(config, fallback, rows)

    def initialise(self, x1: Vector, x2: Vector) -> None:
        """Begin from a state; the feet are placed anew."""
        super().initialise(x1, x2)
        n = len(self._feet)
        self.R = np.array(align_rows(IDENTITY, self.x2))
        self.columns = np.zeros((3, 2 + n))
        self.columns[:, 0] = self.R @ np.array(x1)
        self._known = (False,) * n
        self.P = np.zeros((9 + 3 * n, 9 + 3 * n))
        self.P[:2, :2] = INITIAL_TILT**2 * np.eye(2)
        self.P[VELOCITY, VELOCITY] = INITIAL_VELOCITY**2 * np.eye(3)
        self._told = self.x1, self.x2

    def see_feet(self, feet: Sequence[Vector | None]) -> None:
        """Take the positions of the feet for the next step."""
        self._feet = feet
        if len(feet) != len(self._known):
            self.initialise(self.x1, self.x2)

    @property
    def tilt_variance(self) -> float:
        """Variance of the tilt, mean of both axes [rad^2]."""
        return 0.5 * float(self.P[0, 0] + self.P[1, 1])

    @property
    def convergence_rate(self) -> float:
        """Rate of a scalar filter with this variance in its steady state, q / P [1/s]."""
        rate = self.config.gyro_noise**2 / max(self.tilt_variance, 1e-12)
        return min(max(rate, SLOWEST), FASTEST)

    @property
    def bias_sensitivity(self) -> float:
        """Inverse of the rate of convergence [s]."""
        return 1.0 / self.convergence_rate

    def _step_with_contact(self, h: float, w_I: Vector, f_I: Vector, y_v: Vector) -> None:
        self._accept_changes()
        half = exp_so3(-0.5 * h * np.array(w_I))
        self.innovation = vector(np.array(y_v) - half @ np.array(self.x1))
        self._predict(h, np.array(w_I), np.array(f_I))
        turned = self._update_feet()
        x, y, z = (self.R.T @ turned).tolist()
        self.correction = (-x / h, -y / h, -z / h)
        self._tell()

    def _step_without_contact(self, h: float, w_I: Vector, f_I: Vector) -> None:
        super()._step_without_contact(h, w_I, f_I)
        x1, x2 = self.x1, self.x2
        self.x1, self.x2 = self._told
        self._predict(h, np.array(w_I), np.array(f_I))
        self._place_feet([None] * len(self._known))
        self._tell()
        self.x1, self.x2 = x1, x2  # by which the accelerometer corrects them
        self._accept_changes()

    def _tell(self) -> None:
        self.x1 = vector(self.R.T @ self.columns[:, 0])
        self.x2 = vector(self.R[2])
        self._told = self.x1, self.x2

    def _accept_changes(self) -> None:
        """Take over a velocity or a vertical that was set from outside since the last step."""
        x1, x2 = self._told
        if self.x2 != x2:
            self.R = np.array(align_rows(matrix(self.R), self.x2))  # its yaw is kept
        if self.x1 != x1 or self.x2 != x2:
            self.columns[:, 0] = self.R @ np.array(self.x1)
        self._told = self.x1, self.x2

    def _predict(self, h: float, w: Array, f: Array) -> None:
        """Advance mean and covariance by one step; P+ = Phi (P + Ad Q Ad^T h) Phi^T."""
        config, n = self.config, len(self._known)
        if float(np.abs(self.columns[:, 1]).max()) > FARTHEST:
            self._move_origin()
        B = np.vstack([np.eye(3), *(skew(column) for column in self.columns.T)])
        Q = config.gyro_noise**2 * h * (B @ B.T)
        diagonal = np.zeros(9 + 3 * n)
        diagonal[VELOCITY] = config.accelerometer_noise**2 * h
        diagonal[9:] = config.foot_noise**2 * h
        for i, known in enumerate(self._known):
            if not known:
                foot = slice(9 + 3 * i, 12 + 3 * i)
                Q[foot], Q[:, foot], diagonal[foot] = 0.0, 0.0, 0.0
        Q[np.diag_indices(len(Q))] += diagonal
        Phi = transition(h, n)
        self.P = Phi @ (self.P + Q) @ Phi.T
        self.R, self.columns = propagated(self.R, self.columns, h, w, f)

    def _move_origin(self) -> None:
        """Place the origin at the IMU: xi_p and xi_d change by t x xi_R under a shift t of the world."""
        t = -self.columns[:, 1]
        known = np.array([False, True, *self._known])
        self.columns = self.columns + np.outer(t, known)
        T = np.eye(len(self.P))
        for i in np.flatnonzero(known):
            T[3 + 3 * i : 6 + 3 * i, ROTATION] = skew(t)
        self.P = T @ self.P @ T.T

    def _update_feet(self) -> Array:
        """Correct by the feet that are known and place the new ones; return the correction of R [rad]."""
        seen = [i for i, foot in enumerate(self._feet) if foot is not None and self._known[i]]
        turned = np.zeros(3)
        if seen:
            p = self.columns[:, 1]
            H = np.zeros((3 * len(seen), len(self.P)))
            z = np.empty(3 * len(seen))
            for row, i in enumerate(seen):
                rows = slice(3 * row, 3 * row + 3)
                z[rows] = self.R @ np.array(self._feet[i]) - (self.columns[:, 2 + i] - p)
                H[rows, POSITION], H[rows, 9 + 3 * i : 12 + 3 * i] = np.eye(3), -np.eye(3)
            turned = self._correct(H, z, self.config.kinematics_noise**2)
        self._place_feet(self._feet)
        return turned

    def _correct(self, H: Array, z: Array, variance: float) -> Array:
        """Kalman update: X^ <- exp(-K z) X^, Joseph's form; return the rotation of the correction."""
        PH = self.P @ H.T
        S = H @ PH + variance * np.eye(len(z))
        K = linear_algebra.solve(S, PH.T).T
        xi = -K @ z
        A = np.eye(len(self.P)) - K @ H
        P = A @ self.P @ A.T + variance * (K @ K.T)
        self.P = 0.5 * (P + P.T)
        R, J = exp_so3(xi[ROTATION]), left_jacobian_so3(xi[ROTATION])
        self.R = R @ self.R
        self.columns = R @ self.columns + J @ xi[3:].reshape(-1, 3).T
        turned: Array = xi[ROTATION]
        return turned

    def _place_feet(self, feet: Sequence[Vector | None]) -> None:
        """Add the feet that have come into use at p + R y, and remove those that are no longer in use."""
        for i, foot in enumerate(feet):
            rows = slice(9 + 3 * i, 12 + 3 * i)
            if foot is None:
                self.P[rows], self.P[:, rows] = 0.0, 0.0
            elif not self._known[i]:
                self.columns[:, 2 + i] = self.columns[:, 1] + self.R @ np.array(foot)
                self.P[rows] = self.P[POSITION]
                self.P[:, rows] = self.P[:, POSITION]
                self.P[rows, rows] = self.P[POSITION, POSITION] + self.config.kinematics_noise**2 * np.eye(3)
        self._known = tuple(foot is not None for foot in feet)


def transition(h: float, n: int) -> Array:
    """Return exp(A h) of the right-invariant error, shape (9 + 3 n, 9 + 3 n).

    Args:
        h: Duration of the step [s].
        n: Number of feet.
    """
    Phi = np.eye(9 + 3 * n)
    G = skew(GRAVITY)
    Phi[VELOCITY, ROTATION], Phi[POSITION, ROTATION] = h * G, 0.5 * h * h * G
    Phi[POSITION, VELOCITY] = h * np.eye(3)
    return Phi


def propagated(R: Array, columns: Array, h: float, w: Array, f: Array) -> tuple[Array, Array]:
    """Advance orientation, velocity and position by one step; the feet stay.

    Args:
        R: Orientation of the IMU, shape (3, 3).
        columns: v, p and d_i, shape (3, 2 + n).
        h: Duration of the step [s].
        w: Angular velocity, mean over the step [rad/s], shape (3,).
        f: Specific force, mean over the step [m/s^2], shape (3,).

    Returns:
        Orientation and columns at the end.
    """
    a = R @ exp_so3(0.5 * h * w) @ f + GRAVITY
    columns = columns.copy()
    columns[:, 1] += h * columns[:, 0] + 0.5 * h * h * a
    columns[:, 0] += h * a
    return R @ exp_so3(h * w), columns
