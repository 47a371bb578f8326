"""The inputs that a recording can contain, and their topics."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

__all__ = ["INPUT_NAMES", "RecordedTopics"]


@dataclass(frozen=True)
class RecordedTopics:
    """Topics of the inputs; the defaults are the nodes' own names in the root namespace.

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


INPUT_NAMES: Mapping[str, str] = {  # the nodes' relative topic, by the attribute of RecordedTopics
    item.name: item.default.removeprefix("/")
    for item in fields(RecordedTopics)
    if isinstance(item.default, str)
}
