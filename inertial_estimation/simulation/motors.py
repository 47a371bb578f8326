"""Motors with a torque limit and a first-order lag."""

import numpy as np

from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array
from inertial_estimation.simulation.simulation_config import ActuatorConfig


class Motors:
    """The motors of all joints, in the robot's order.

    Attributes:
        limit: Largest torques [Nm], infinite where there is no limit, shape (n_joints,).
        tau: Torques now [Nm], shape (n_joints,).
    """

    def __init__(self, robot: RobotModel, config: ActuatorConfig, step: float) -> None:
        """Read the effort limits of the URDF.

        Args:
            robot: The robot.
            config: Parameters.
            step: Step of the integration [s].
        """
        effort = np.array(robot.model.effortLimit[robot.n_base :])
        limited = (config.torque_limit_scale > 0.0) & (effort > 0.0)
        self.limit: Array = np.where(limited, effort * config.torque_limit_scale, np.inf)
        self._blend = 1.0 if config.lag == 0.0 else 1.0 - float(np.exp(-step / config.lag))
        self._command = np.zeros(robot.n_joints)
        self.tau = np.zeros(robot.n_joints)

    def reset(self) -> None:
        """Return to zero torque and zero command."""
        self._command = np.zeros_like(self._command)
        self.tau = np.zeros_like(self.tau)

    def command(self, tau: Array) -> None:
        """Set the commanded torques [Nm], shape (n_joints,)."""
        self._command = self._limited(tau)

    def set_torque(self, tau: Array) -> None:
        """Set the current torques, the state of the lag, within the limits [Nm], shape (n_joints,)."""
        self.tau = self._limited(tau)

    def advance(self) -> None:
        """Advance the lag by one step."""
        if self._blend == 1.0:
            self.tau = self._command
        else:
            self.tau = self.tau + self._blend * (self._command - self.tau)

    def _limited(self, tau: Array) -> Array:
        limited: Array = np.minimum(np.maximum(tau, -self.limit), self.limit)
        return limited
