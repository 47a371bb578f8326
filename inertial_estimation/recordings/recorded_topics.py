"""Names of the topics under which a recording holds the inputs."""

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["RecordedTopics"]


@dataclass(frozen=True)
class RecordedTopics:
    """Topics of the inputs.

    Attributes:
        imu: Of the IMU; empty: none.
        joints: Of the joint states.
        wrenches: By contact.
        yaw_reference: Of a yaw reference, used when the recording has it.
        base_state: Of a base state, used when the recording has it and no tilt pipeline runs.
    """

    imu: str = "/imu/data"
    joints: str = "/joint_states"
    wrenches: Mapping[str, str] = field(default_factory=dict)
    yaw_reference: str = "/yaw_reference"
    base_state: str = "/base_state"
