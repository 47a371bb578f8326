"""End stops of joints: spring-dampers beyond the position limits of the URDF."""

import numpy as np

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array

DAMPING_TIME = 0.02  # damping of an end stop over its stiffness [s]
STANCE_MARGIN = 1e-3  # by which a stance may exceed a limit, for rounded values in files [rad]


class EndStops:
    """The end stops of all joints, in the robot's order.

    Attributes:
        stiffness: Stiffness [Nm/rad]; zero for no end stops.
    """

    def __init__(self, robot: RobotModel, stiffness: float) -> None:
        """Read the position limits of the URDF.

        Args:
            robot: The robot.
            stiffness: Stiffness [Nm/rad]; zero for no end stops.
        """
        model = robot.model
        joints = range(model.njoints - robot.n_joints, model.njoints)
        address = [model.idx_qs[j] for j in joints]
        lower, upper = model.lowerPositionLimit[address], model.upperPositionLimit[address]
        bounded = np.array([model.nqs[j] == 1 for j in joints], dtype=bool) & (upper > lower)
        self._names = robot.joint_names
        self._lower = np.where(bounded, lower, -np.inf)
        self._upper = np.where(bounded, upper, np.inf)
        self.stiffness = stiffness

    def check_stance(self, q: Array) -> None:
        """Raise for a home posture beyond the end stops.

        Raises:
            ConfigurationError: Naming the joints.
        """
        if self.stiffness == 0.0:
            return
        over = np.flatnonzero((q < self._lower - STANCE_MARGIN) | (q > self._upper + STANCE_MARGIN))
        if len(over):
            found = ", ".join(
                f"{self._names[i]} at {q[i]:g} (limits {self._lower[i]:g} to {self._upper[i]:g})"
                for i in over
            )
            raise ConfigurationError(
                f"the stance is beyond the joints' limits: {found}; expected stance.positions within them, "
                "or actuators.stop_stiffness 0"
            )

    def excess(self, q: Array) -> Array | None:
        """Return the excess of joints beyond their limits [rad], shape (n_joints,); None without any."""
        if self.stiffness == 0.0 or not any(((q < self._lower) | (q > self._upper)).tolist()):
            return None
        excess: Array = q - np.minimum(np.maximum(q, self._lower), self._upper)
        return excess

    def end_of_step_damping(self, step: float) -> float:
        """Return the equivalent damping of an implicit spring-damper step, c + h k [Nms/rad]."""
        return self.stiffness * (DAMPING_TIME + step)
