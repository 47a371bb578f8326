"""Covariance of the rows of the measurement equation, from the noise of what they are computed from.

R = R_tau + E Sigma_a E' + J' Sigma_lambda J, with E the effect of an error of each sensed acceleration on the
rows and J the contact Jacobians. The accelerations of the joints are sensed directly, E = M. That of the base
may come from an IMU: it is computed, a_B = X_BI (a_I - J_I a), so errors of the IMU enter through the lever
arm, and errors of the joints between base and IMU enter twice: as accelerations and through the base.
"""

from collections.abc import Sequence

import numpy as np

from inertial_estimation.compilation import (
    Column,
    Integers,
    MutableTable,
    Table,
    compiled,
    in_place_of,
    inlined,
)
from inertial_estimation.models.imu_mount import ImuMount
from inertial_estimation.models.measurement_noise import MeasurementNoise
from inertial_estimation.models.measurement_rows import Indices, ResolvedRows
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.models.row_weights import noise_scale
from inertial_estimation.signals import Array
from inertial_estimation.spatial.rotations import skew
from inertial_estimation.spatial.vectors import (
    add,
    cross,
    dot,
    matrix_of,
    product,
    times,
    transposed,
    transposed_times,
    vector_of,
)

LEAST = 1e-9  # [N, Nm]; without noise a covariance would be singular


class RowCovariance:
    """Covariance of the measured rows, from the noise of what they are computed from.

    Attributes:
        sigmas: Standard deviations of the sensed accelerations, shape (nv,), and of the components of the
            measured wrenches, shape (6 n_contacts,) or empty; variance of each row itself, shape (m,).
    """

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
        variance = np.maximum(direct, LEAST)[rows.picked] ** 2
        wrench = 3 * [noise.contact_force] + 3 * [noise.contact_moment]
        sensed = [float(mode.senses) for mode in rows.modes] if rows.sensed else []
        sigma_wrench = np.array([share * sigma for share in sensed for sigma in wrench])
        self.sigmas = np.array(acceleration), sigma_wrench, variance

    def at(self, sensed: Array, contacts: Array) -> Array:
        """Return R.

        Args:
            sensed: Effect of an error of each sensed acceleration on the rows, shape (m, nv).
            contacts: Contact Jacobians in the columns of the rows, contiguous, shape (6 n_contacts, m).

        Returns:
            Shape (m, m).
        """
        R: Array = np.empty((len(sensed), len(sensed)))
        _fill_covariance(sensed, contacts, self.sigmas, R)
        return R

    def weighted(self, R: Array) -> Array:
        """Return the covariance of the rows with the weights of a user.

        Args:
            R: Without them, after a projection, shape (m, m).
        """
        return R if self._scale is None else self._scale * R


class SensedAccelerations:
    """Effect of errors of the sensed accelerations on the measured rows.

    Attributes:
        imu: Joint that carries the IMU, and its placement in it, orientation by rows and position, in a
            table, shape (1, 12); the table is empty where the acceleration of the base is given directly.
        moving: Velocities of the joints between base and IMU.
    """

    def __init__(self, imu: ImuMount | None) -> None:
        """Note where the IMU is.

        Args:
            imu: IMU that senses the acceleration of the base; None if that acceleration is given directly.
        """
        self.imu: tuple[int, Array] = (0, np.zeros((0, 12)))
        self.moving = np.array([] if imu is None else imu.moving, dtype=np.int64)
        if imu is not None:
            placement = np.concatenate((imu.T_JI.rotation.ravel(), imu.T_JI.translation))
            self.imu = (imu.joint_id, placement.reshape(1, 12))

    def begun(self, inertia: Array) -> Array:
        """Return where the effect on given rows of the mass matrix is written to: them without an IMU."""
        return np.empty_like(inertia) if len(self.imu[1]) else inertia

    def rotation(self, poses: Array) -> Array:
        """Return the rotation from the axes of the IMU to those of the base, shape (3, 3).

        Args:
            poses: Of all joints, as for `effect`; identity without an IMU.
        """
        joint, placement = self.imu
        if not len(placement):
            return np.eye(3)
        R_BI: Array = poses[joint, :9].reshape(3, 3).T @ placement[0, :9].reshape(3, 3)
        return R_BI

    def effect(self, poses: Array, Jt: Array, inertia: Array) -> Array:
        """Return the effect of an error of each sensed acceleration on the rows, shape (m, nv).

        With a floating base, the first six columns are those of the IMU, or of the base where no IMU is used.

        Args:
            poses: Of all joints, the base at the origin, as `pinocchio_memory.pose_rows`.
            Jt: Transposed Jacobian of all joints, at the origin of the base in its axes, shape (nv, 6).
            inertia: Rows of the mass matrix, contiguous, shape (m, nv).
        """
        effect = self.begun(inertia)
        _fill_effect(inertia, poses, Jt, self.imu, self.moving, effect)
        return effect


def effect_of_imu(
    inertia: Array, pose: Array, placement: Array, Jt: Array, moving: Indices, sensed: Array
) -> None:
    """Write the effect of an error of each sensed acceleration, the base's sensed by an IMU.

    Args:
        inertia: Rows of the mass matrix, shape (m, nv).
        pose: Of the joint that carries the IMU, shape (12,).
        placement: Of the IMU in it, shape (12,).
        Jt: Transposed Jacobian of all joints, shape (nv, 6).
        moving: Velocities of the joints between base and IMU.
        sensed: Written, shape (m, nv).
    """
    R_BJ = pose[:9].reshape(3, 3).T
    R_BI, p_BI = R_BJ @ placement[:9].reshape(3, 3), pose[9:] + R_BJ @ placement[9:]
    X_BI = np.zeros((6, 6))
    X_BI[:3, :3] = X_BI[3:, 3:] = R_BI
    X_BI[:3, 3:] = skew(p_BI) @ R_BI
    of_base = inertia[:, :6]
    sensed[:] = inertia
    sensed[:, :6] = of_base @ X_BI
    if len(moving):
        sensed[:, moving] -= of_base @ Jt[moving].T


@in_place_of(effect_of_imu)
def _effect_of_imu(
    inertia: Array, pose: Array, placement: Array, Jt: Array, moving: Indices, sensed: Array
) -> None:
    R_BJ = transposed(matrix_of(pose, 0))
    R_BI = product(R_BJ, matrix_of(placement, 0))
    p_BI = add(vector_of(pose, 9), times(R_BJ, vector_of(placement, 9)))
    for i in range(len(inertia)):
        row, out = inertia[i], sensed[i]
        force, moment = vector_of(row, 0), vector_of(row, 3)
        out[:] = row
        out[0], out[1], out[2] = transposed_times(R_BI, force)
        out[3], out[4], out[5] = transposed_times(R_BI, add(moment, cross(force, p_BI)))
        for k in range(len(moving)):
            j = moving[k]
            out[j] -= dot(force, vector_of(Jt[j], 0)) + dot(moment, vector_of(Jt[j], 3))


@inlined
def effect_of_sensed(
    inertia: Table, poses: Table, Jt: Table, imu: tuple[int, Table], moving: Integers, sensed: MutableTable
) -> None:
    """Write the effect of an error of each sensed acceleration on the rows; nothing without an IMU.

    Args:
        inertia: Rows of the mass matrix, shape (m, nv).
        poses: Of all joints.
        Jt: Transposed Jacobian of all joints, shape (nv, 6).
        imu: As `SensedAccelerations.imu`.
        moving: As `SensedAccelerations.moving`.
        sensed: Written, shape (m, nv).
    """
    if len(imu[1]):
        effect_of_imu(inertia, poses[imu[0]], imu[1][0], Jt, moving, sensed)


@inlined
def covariance_of_rows(
    sensed: Table, contacts: Table, sigmas: tuple[Column, Column, Column], R: MutableTable
) -> None:
    """Write the covariance of the rows.

    Args:
        sensed: Effect of an error of each sensed acceleration on the rows, shape (m, nv).
        contacts: Contact Jacobians in the columns of the rows, shape (6 n_contacts, m).
        sigmas: As `RowCovariance.sigmas`.
        R: Written, shape (m, m).
    """
    sigma_a, sigma_wrench, variance = sigmas
    m, n, k = len(sensed), len(sigma_a), len(sigma_wrench)
    W = np.empty((m, n + k))
    W[:, :n] = sensed * sigma_a
    W[:, n:] = contacts[:k].T * sigma_wrench
    np.dot(W, W.T, R)
    for i in range(m):
        R[i, i] += variance[i]


@compiled
def _fill_effect(
    inertia: Table, poses: Table, Jt: Table, imu: tuple[int, Table], moving: Integers, sensed: MutableTable
) -> None:
    effect_of_sensed(inertia, poses, Jt, imu, moving, sensed)


@compiled
def _fill_covariance(
    sensed: Table, contacts: Table, sigmas: tuple[Column, Column, Column], R: MutableTable
) -> None:
    covariance_of_rows(sensed, contacts, sigmas, R)
