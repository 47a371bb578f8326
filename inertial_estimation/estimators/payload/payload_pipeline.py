"""Everything between raw readings and the trunk's inertia; node, replay and experiments use this object."""

from inertial_estimation.estimators.payload.payload_config import TrunkPayloadConfig
from inertial_estimation.estimators.payload.payload_estimate import PayloadEstimate
from inertial_estimation.models.robot_config import robot_from_config
from inertial_estimation.signals import BaseState, Health, ImuSample, JointReading, WrenchSample

__all__ = ["TrunkPayloadPipeline"]


class TrunkPayloadPipeline:
    """Trunk mass and centre of mass of a legged robot, identified at rest.

    Attributes:
        config: The parameters in force.
        robot: The robot.
        trunk: Name of the trunk's link.
    """

    def __init__(self, config: TrunkPayloadConfig, urdf: str) -> None:
        self.config = config
        self.robot, _contacts = robot_from_config(config.robot, urdf)
        self.trunk = config.trunk or self.robot.base_link

    def push_imu(self, sample: ImuSample) -> None:
        """Take an IMU reading."""

    def push_joints(self, reading: JointReading) -> None:
        """Take a joint state, joints by name in any order."""

    def push_wrench(self, contact: str, sample: WrenchSample) -> None:
        """Take the wrench of a contact."""

    def push_base_state(self, state: BaseState) -> None:
        """Take the state of the base."""

    def tick(self, now_ns: int) -> list[PayloadEstimate]:
        """Make every step whose inputs are complete."""
        return []

    def health(self, now_ns: int) -> list[Health]:
        """Say how inputs and identification are."""
        return []

    def identify(self, method: str = "") -> str:
        """Begin an identification; returns what happens next, as a sentence."""
        return ""

    def cancel(self) -> None:
        """Give up the identification under way; what was in force before stays."""

    def reset(self) -> None:
        """Return to the nominal trunk and drop all buffered readings."""

    def set_parameter(self, name: str, value: object) -> None:
        """Change a parameter that may change while running."""
