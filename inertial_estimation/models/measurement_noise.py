"""Noise of the measurement equation: its parameters, and the covariance of the rows they give.

R = R_tau + E Sigma_a E' + J' Sigma_lambda J, with E the effect of an error of each sensed acceleration on the
rows and J the contact Jacobians. The accelerations of the joints are sensed directly, E = M. That of the base
may come from an IMU: it is computed, a_B = X_BI (a_I - J_I a), so errors of the IMU enter through the lever
arm, and errors of the joints between base and IMU enter twice: as accelerations and through the base.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from inertial_estimation.compilation import Column, MutableTable, Table, compiled
from inertial_estimation.models.imu_mount import ImuMount
from inertial_estimation.models.joint_limits import urdf_limits
from inertial_estimation.models.measurement_rows import ResolvedRows
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.models.row_weights import noise_scale
from inertial_estimation.parameters import parameter, replace_negative
from inertial_estimation.signals import Array

__all__ = ["DEFAULTS", "MeasurementNoise", "RowCovariance", "SensedAccelerations"]


FULL_SIZE = 80.0  # [kg]; from this weight on the noise that robots have by default does not grow
STRONG = 100.0  # [Nm]; the same for the largest effort limit of an arm
DEFAULTS = {"base_force": 2.0, "base_moment": 1.0, "contact_force": 2.0, "contact_moment": 0.2, "torque": 0.5}
LEAST = 1e-9  # [N, Nm]; without noise a covariance would be singular
FORCES = ("base_force", "contact_force")


@dataclass(frozen=True)
class MeasurementNoise:
    """Standard deviations of means over one window, unmodelled effects included.

    Negative ones follow from the robot: they are those of a humanoid of `FULL_SIZE`, scaled down for lighter
    robots by the weight (forces) and by the moment of the weight on a lever that grows with its third root
    (moments and torques); torques of a robot with a fixed base by its largest effort limit.
    """

    torque: float = parameter(
        -1.0,
        "Standard deviation of a joint torque averaged over one window, unmodelled effects included. "
        "Negative: 0.5 Nm times the robot's mass / 80 kg to the power 4/3 or, where the base is fixed, times "
        "its largest effort limit / 100 Nm, but at most 0.5 Nm.",
        unit="Nm",
        lower=-1e4,
        upper=1e4,
    )
    base_force: float = parameter(
        -1.0,
        "Standard deviation of unmodelled forces in the base rows, averaged over one window. Negative: 2 N "
        "times the robot's mass / 80 kg, but at most 2 N.",
        unit="N",
        lower=-1e4,
        upper=1e4,
    )
    base_moment: float = parameter(
        -1.0,
        "Standard deviation of unmodelled moments in the base rows, averaged over one window. Negative: 1 Nm "
        "times the robot's mass / 80 kg to the power 4/3, but at most 1 Nm.",
        unit="Nm",
        lower=-1e4,
        upper=1e4,
    )
    contact_force: float = parameter(
        -1.0,
        "Standard deviation of the force components of a measured contact wrench, averaged over one window. "
        "Negative: 2 N times the robot's mass / 80 kg, but at most 2 N.",
        unit="N",
        lower=-1e4,
        upper=1e4,
    )
    contact_moment: float = parameter(
        -1.0,
        "Standard deviation of the moment components of a measured contact wrench, averaged over one window. "
        "Negative: 0.2 Nm times the robot's mass / 80 kg to the power 4/3, but at most 0.2 Nm.",
        unit="Nm",
        lower=-1e4,
        upper=1e4,
    )
    proper_acceleration: float = parameter(
        0.05,
        "Standard deviation of the IMU's specific force averaged over one window; without an IMU, of the "
        "base's specific force.",
        unit="m/s^2",
        lower=0.0,
        upper=100.0,
    )
    angular_acceleration: float = parameter(
        0.1,
        "Standard deviation of the IMU's angular acceleration over one window; without an IMU, of the "
        "base's angular acceleration.",
        unit="rad/s^2",
        lower=0.0,
        upper=1000.0,
    )
    joint_acceleration: float = parameter(
        0.2,
        "Standard deviation of the joint accelerations over one window.",
        unit="rad/s^2",
        lower=0.0,
        upper=1000.0,
    )

    def for_robot(self, robot: RobotModel) -> "MeasurementNoise":
        """Return the noise with values in place of the negative ones.

        Args:
            robot: The robot.
        """
        weight = min(robot.total_mass / FULL_SIZE, 1.0)
        shares = {name: weight if name in FORCES else weight ** (4.0 / 3.0) for name in DEFAULTS}
        if not robot.floating_base:
            limits = urdf_limits(robot).effort
            shares["torque"] = min(float(limits.max(initial=0.0)) / STRONG, 1.0) if len(limits) else 1.0
        return replace_negative(self, {name: share * DEFAULTS[name] for name, share in shares.items()})


class RowCovariance:
    """Covariance of the measured rows, from the noise of what they are computed from."""

    def __init__(
        self,
        noise: MeasurementNoise,
        robot: RobotModel,
        rows: ResolvedRows,
        n_contacts: int,
        row_weights: Sequence[str] = (),
    ) -> None:
        """Lay out the standard deviations.

        Args:
            noise: The standard deviations; negative ones are derived from the robot.
            robot: The robot.
            rows: The measured rows.
            n_contacts: Number of contacts.
            row_weights: Weights of rows, ``row=weight``; one for all others.

        Raises:
            ~inertial_estimation.errors.ConfigurationError: If a weight is that of no row, or not positive.
        """
        self._scale = noise_scale(row_weights, rows.names)
        noise = noise.for_robot(robot)
        acceleration = [noise.joint_acceleration] * robot.n_joints
        direct = [noise.torque] * robot.n_joints
        if robot.floating_base:
            base = 3 * [noise.proper_acceleration] + 3 * [noise.angular_acceleration]
            acceleration = base + acceleration
            direct = 3 * [noise.base_force] + 3 * [noise.base_moment] + direct
        self._sigma_a = np.array(acceleration)
        self._variance = np.maximum(direct, LEAST)[rows.picked] ** 2
        wrench = 3 * [noise.contact_force] + 3 * [noise.contact_moment]
        sensed = [float(mode.senses) for mode in rows.modes] if rows.sensed else []
        self._sigma_wrench = np.array([share * sigma for share in sensed for sigma in wrench])

    def at(self, sensed: Array, J_C: Array) -> Array:
        """Return R.

        Args:
            sensed: Effect of an error of each sensed acceleration on the rows, shape (m, nv).
            J_C: Contact Jacobians in the columns of the rows, shape (6 n_contacts, m).

        Returns:
            Shape (m, m).
        """
        J_C = np.ascontiguousarray(J_C[: len(self._sigma_wrench)])
        R: Array = np.empty((len(sensed), len(sensed)))
        _row_covariance(sensed, J_C, self._sigma_a, self._sigma_wrench, self._variance, R)
        return R

    def weighted(self, R: Array) -> Array:
        """Return the covariance of the rows with the weights of a user.

        Args:
            R: Without them, after a projection, shape (m, m).
        """
        return R if self._scale is None else self._scale * R


class SensedAccelerations:
    """Effect of errors of the sensed accelerations on the measured rows."""

    def __init__(self, imu: ImuMount | None) -> None:
        """Note where the IMU is.

        Args:
            imu: IMU that senses the acceleration of the base; None if that acceleration is given directly.
        """
        self._imu = imu
        self._X_BI: Array | None = None  # of an IMU on the base, whose pose is constant
        self._moving = np.array(imu.moving if imu is not None else (), dtype=float)

    def effect(self, data: pin.Data, M: Array) -> Array:
        """Return the effect of an error of each sensed acceleration on the rows, shape (m, nv).

        With a floating base, the first six columns are those of the IMU, or of the base where no IMU is used.

        Args:
            data: Placements and Jacobians of the joints, the base at the origin of the world.
            M: Picked rows of the mass matrix, contiguous, shape (m, nv).
        """
        if self._imu is None:
            return M
        X_BI = self._X_BI
        if X_BI is None:
            X_BI = np.ascontiguousarray((data.oMi[self._imu.joint_id] * self._imu.T_JI).toActionMatrix())
            self._X_BI = X_BI if self._imu.on_base else None
        effect: Array = np.empty_like(M)
        _sensed_effect(M, X_BI, data.J.T, self._moving, effect)
        return effect


@compiled
def _sensed_effect(M: Table, X_BI: Table, Jt: Table, moving: Column, effect: MutableTable) -> None:
    """Write the effect of an error of each sensed acceleration on the rows.

    Args:
        M: Rows of the mass matrix, shape (m, nv).
        X_BI: Transforms the motion of the IMU to the base's, shape (6, 6).
        Jt: Transposed Jacobian of all joints, shape (nv, 6).
        moving: Columns of the joints between base and IMU, as floats.
        effect: Written, shape (m, nv).
    """
    effect[:] = M
    M_B = np.ascontiguousarray(M[:, :6])
    effect[:, :6] = M_B @ X_BI
    if len(moving):
        columns = np.empty((len(moving), 6))
        for j in range(len(moving)):
            columns[j] = Jt[int(moving[j])]
        by_joint = M_B @ columns.T
        for j in range(len(moving)):
            effect[:, int(moving[j])] -= by_joint[:, j]


@compiled
def _row_covariance(
    sensed: Table,
    J_C: Table,
    sigma_a: Column,
    sigma_wrench: Column,
    variance: Column,
    R: MutableTable,
) -> None:
    m, n = sensed.shape
    W = np.empty((m, n + len(sigma_wrench)))
    W[:, :n] = sensed * sigma_a
    W[:, n:] = J_C.T * sigma_wrench
    R[:] = W @ W.T + np.diag(variance)
