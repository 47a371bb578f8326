"""Viscous and Coulomb friction of simulated joints."""

import numpy as np

from inertial_estimation.models.friction import NominalFriction
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array
from inertial_estimation.simulation.simulation_config import ActuatorConfig

SMALLEST_SPEED_RATIO = 1e-6  # to the smoothing speed; there tanh(x) / x is one


class JointFriction:
    """Friction torques d(v) v of all joints, d(v) = viscous + coulomb tanh(|v| / v_s) / |v|.

    Attributes:
        present: Whether any joint has friction.
    """

    def __init__(self, robot: RobotModel, config: ActuatorConfig, known: NominalFriction) -> None:
        """Add the friction of the parameters, of the URDF and of the robot's known friction.

        Args:
            robot: The robot.
            config: Parameters.
            known: Friction the robot is known to have; its smoothing speed then holds for all.
        """
        model, n_base, known_terms = robot.model, robot.n_base, known.by_joint(robot)
        urdf = float(config.urdf_friction)
        self._speed = known.smoothing_speed if known.joints else config.coulomb_speed
        self._viscous = config.viscous + known_terms["viscous"] + urdf * np.array(model.damping[n_base:])
        self._coulomb = config.coulomb + known_terms["coulomb"] + urdf * np.array(model.friction[n_base:])
        self.present = bool(self._viscous.any() or self._coulomb.any())

    def damping(self, v: Array) -> Array:
        """Return d(v), the friction torque over the velocity [Nms/rad], shape (n_joints,).

        Args:
            v: Joint velocities [rad/s], shape (n_joints,).
        """
        ratio = np.maximum(np.abs(v) / self._speed, SMALLEST_SPEED_RATIO)
        damping: Array = self._viscous + self._coulomb / self._speed * np.tanh(ratio) / ratio
        return damping
