"""Noise of the measurement equation: its parameters, and the covariance of the rows that follows."""

from dataclasses import dataclass, replace

import numpy as np

from inertial_estimation.models.joint_limits import urdf_limits
from inertial_estimation.models.measurement_rows import ResolvedRows
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.parameters import parameter
from inertial_estimation.signals import Array

FULL_SIZE = 80.0  # [kg]; from this weight on the noise that robots have by default does not grow
STRONG = 100.0  # [Nm]; the same for the largest effort limit of an arm
DEFAULTS = {"base_force": 2.0, "base_moment": 1.0, "contact_force": 2.0, "torque": 0.5}
CONTACT_LEVER = 0.1  # of errors of a contact's force, for its moments; half a foot of that robot [m]
PROPER_ACCELERATION = 0.05  # noise of the base's specific force over one window: of common IMUs [m/s^2]
ANGULAR_ACCELERATION = 0.1  # the same of its angular acceleration [rad/s^2]
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
        "Standard deviation of the force components of a measured contact wrench, averaged over one window; "
        "that of its moments follows by a lever of 0.1 m times (the robot's mass / 80 kg) to the power 1/3, "
        "but at most 0.1 m. Negative: 2 N times the robot's mass / 80 kg, but at most 2 N.",
        unit="N",
        lower=-1e4,
        upper=1e4,
    )
    joint_acceleration: float = parameter(
        0.2,
        "Standard deviation of the joint accelerations over one window.",
        unit="rad/s^2",
        lower=0.0,
        upper=1000.0,
    )

    def contact_moment(self, robot: RobotModel) -> float:
        """Return the standard deviation of the moments of a measured contact wrench [Nm].

        Args:
            robot: The robot.
        """
        size: float = min(robot.total_mass / FULL_SIZE, 1.0) ** (1.0 / 3.0)
        return CONTACT_LEVER * size * self.contact_force

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
        derived = {
            name: share * DEFAULTS[name] for name, share in shares.items() if getattr(self, name) < 0.0
        }
        return replace(self, **derived)


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
            base = 3 * [PROPER_ACCELERATION] + 3 * [ANGULAR_ACCELERATION]
            acceleration = base + acceleration
            direct = 3 * [noise.base_force] + 3 * [noise.base_moment] + direct
        variance = np.maximum(direct, LEAST)[rows.picked] ** 2
        wrench = 3 * [noise.contact_force] + 3 * [noise.contact_moment(robot)]
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
