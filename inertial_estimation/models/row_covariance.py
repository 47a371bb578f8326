"""Covariance of the rows of the measurement equation, from the noise of what they are computed from.

R = R_tau + E Sigma_a E' + J' Sigma_lambda J, with E the effect of an error of each sensed acceleration on the
rows and J the contact Jacobians. The accelerations of the joints are sensed directly, E = M. That of the base
may come from an IMU: it is computed, a_B = X_BI (a_I - J_I a), so errors of the IMU enter through the lever
arm, and errors of the joints between base and IMU enter twice: as accelerations and through the base.
"""

import numpy as np

from inertial_estimation.models.measurement_noise import MeasurementNoise
from inertial_estimation.models.measurement_rows import ResolvedRows
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array

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
    ) -> None:
        """Lay out the standard deviations.

        Args:
            noise: The standard deviations; negative ones are derived from the robot.
            robot: The robot.
            rows: The measured rows.
            n_contacts: Number of contacts.
        """
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
            contacts: Contact Jacobians in the columns of the rows, shape (6 n_contacts, m).

        Returns:
            Shape (m, m).
        """
        sigma_a, sigma_wrench, variance = self.sigmas
        W = np.hstack((sensed * sigma_a, contacts[: len(sigma_wrench)].T * sigma_wrench))
        R: Array = W @ W.T
        R[np.diag_indices(len(R))] += variance
        return R
