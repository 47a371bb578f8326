"""Checks of the references and walks that users request; rejected ones are counted."""

from dataclasses import replace

import numpy as np

from inertial_estimation.control.controller_config import ReferenceConfig
from inertial_estimation.control.references import WalkCommand
from inertial_estimation.control.state_limits import LARGEST_POSITION
from inertial_estimation.control.whole_body_controller import WholeBodyController
from inertial_estimation.errors import ConfigurationError, listing
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import BaseReference, JointReading


class ReferenceIntake:
    """Hands references over to the controller; a bad one is refused as a whole.

    Attributes:
        refused: References and walks refused.
        last_refusal: Why the last one was refused; empty where none was.
        clipped: Joint references that were beyond the joints' limits.
    """

    def __init__(self, robot: RobotModel, controller: WholeBodyController, config: ReferenceConfig) -> None:
        """Begin with zero rejections.

        Args:
            robot: The robot.
            controller: Takes the references.
            config: Limits of the references.

        Raises:
            ConfigurationError: If the range of heights does not have two ascending values.
        """
        if len(config.height_range) != 2 or not config.height_range[0] <= config.height_range[1]:
            raise ConfigurationError(
                f"'references.height_range' is {list(config.height_range)}, expected the smallest and the "
                "largest share"
            )
        self._config = config
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
        problem = self._joint_problem(reading)
        if problem:
            self._refuse(f"joint reference of {listing(reading.names, limit=3)}: {problem}")
            return
        indices = np.array([self._robot.joint_index(name) for name in reading.names], dtype=int)
        low, high = self._controller.dynamics.position_limits[:, indices]
        position = np.clip(reading.position, low, high)
        self.clipped += bool((position != reading.position).any())
        rate = reading.velocity
        if rate is not None:
            rate = np.clip(rate, -self._config.joint_rate, self._config.joint_rate)
        self._controller.references.set_joints(indices, position, rate)

    def push_base(self, reference: BaseReference) -> None:
        """Take where the base should be; refused where it cannot get there."""
        problem = self._base_problem(reference)
        if problem:
            self._refuse(f"base reference: {problem}")
            return
        config = self._config
        rate, angle_rate = config.height_rate, config.angle_rate
        bounded = replace(
            reference,
            height_rate=min(rate, max(-rate, reference.height_rate)),
            roll_rate=min(angle_rate, max(-angle_rate, reference.roll_rate)),
            pitch_rate=min(angle_rate, max(-angle_rate, reference.pitch_rate)),
        )
        self._controller.references.set_base(bounded)

    def push_walk(self, command: WalkCommand) -> None:
        """Take steps to walk; refused where the robot cannot walk, or not that far."""
        try:
            self._controller.gait.command(command)
        except ConfigurationError as error:
            self._refuse(str(error))

    def _joint_problem(self, reading: JointReading) -> str:
        """Return why a joint reference is refused; empty if it is not."""
        known = set(self._robot.joint_names)
        unknown = [name for name in reading.names if name not in known]
        if unknown:
            return f"no joint {listing(unknown, limit=3)}"
        if len(set(reading.names)) < len(reading.names):
            return "a joint is named twice"
        values = [reading.position] + ([] if reading.velocity is None else [reading.velocity])
        if not np.isfinite(np.concatenate(values)).all():
            return "not finite"
        if (np.abs(reading.position) > LARGEST_POSITION).any():
            return f"beyond {LARGEST_POSITION:g} rad"
        return ""

    def _base_problem(self, reference: BaseReference) -> str:
        """Return why a base reference is refused; empty if it is not."""
        config, home = self._config, self._controller.references.home_height
        if not self._robot.floating_base:
            return "the base is fixed"
        low, high = (share * home for share in config.height_range)
        if not low <= reference.height <= high:
            return f"height {reference.height:.4g} m, expected {low:.3g} to {high:.3g} m"
        angle = max(abs(reference.roll), abs(reference.pitch))
        if not angle <= config.angle_limit:
            return f"an angle of {angle:.4g} rad, expected at most {config.angle_limit:g} rad"
        return ""

    def _refuse(self, reason: str) -> None:
        self.refused += 1
        self.last_refusal = reason
