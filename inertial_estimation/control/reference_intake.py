"""Checks of the references and walks that users request; rejected ones are counted."""

import numpy as np

from inertial_estimation.control.references import WalkCommand
from inertial_estimation.control.whole_body_controller import WholeBodyController
from inertial_estimation.errors import ConfigurationError, listing
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import JointReading

__all__ = ["ReferenceIntake"]


class ReferenceIntake:
    """Hands references over to the controller; a bad one is refused as a whole.

    Attributes:
        refused: References and walks refused.
        last_refusal: Why the last one was refused; empty where none was.
        clipped: Joint references that were beyond the joints' limits.
    """

    def __init__(self, robot: RobotModel, controller: WholeBodyController) -> None:
        """Begin with zero rejections.

        Args:
            robot: The robot.
            controller: Takes the references.
        """
        self._robot = robot
        self._controller = controller
        self.refused = 0
        self.last_refusal = ""
        self.clipped = 0

    def reset(self) -> None:
        """Forget what was refused."""
        self.refused = self.clipped = 0
        self.last_refusal = ""

    def push_joints(self, reading: JointReading) -> None:
        """Take targets of joints by name; see `ControllerPipeline.push_joint_reference`."""
        known = [i for i, name in enumerate(reading.names) if name in self._robot.joint_names]
        values = [reading.position] + ([] if reading.velocity is None else [reading.velocity])
        if len(known) < len(reading.names) or not np.isfinite(np.concatenate(values)).all():
            self._refuse(f"joint reference {listing(reading.names)}: unknown or not finite")
            return
        indices = np.array([self._robot.joint_index(name) for name in reading.names], dtype=int)
        low, high = self._controller.dynamics.position_limits[:, indices]
        position = np.clip(reading.position, low, high)
        self.clipped += bool((position != reading.position).any())
        self._controller.references.set_joints(indices, position, reading.velocity)

    def push_walk(self, command: WalkCommand) -> None:
        """Take steps to walk; refused where the robot cannot walk, or not that far."""
        try:
            self._controller.gait.command(command)
        except ConfigurationError as error:
            self._refuse(str(error))

    def _refuse(self, reason: str) -> None:
        self.refused += 1
        self.last_refusal = reason
