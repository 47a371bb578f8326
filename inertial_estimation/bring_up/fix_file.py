"""What a diagnosis can set, as a parameter file that is loaded in addition to the robot's own."""

from collections.abc import Iterable
from typing import Any

from inertial_estimation.bring_up.finding import Finding
from inertial_estimation.models.robot_config import RobotConfig


def fixed_parameters(findings: Iterable[Finding], config: RobotConfig) -> dict[str, Any]:
    """Return the parameters that mend what was found, added to offsets and gains of the robot's file.

    Args:
        findings: Of a diagnosis.
        config: The parameters with which the recording was read.

    Returns:
        Values by dotted name, for all nodes; empty where nothing can be set.
    """
    offsets = dict(zip(config.joint_offsets.joints, config.joint_offsets.values, strict=True))
    gains = dict(zip(config.drive_gains.joints, config.drive_gains.values, strict=True))
    values: dict[str, Any] = {}
    changed_offsets = changed_gains = False
    for item in findings:
        for joint, offset in item.joint_offsets.items():
            offsets[joint] = round(offsets.get(joint, 0.0) + offset, 6)
            changed_offsets = True
        for joint, gain in item.drive_gains.items():
            gains[joint] = float(f"{gains.get(joint, 1.0) * gain:.6g}")
            changed_gains = True
        values.update(item.parameters)
    for name, by_joint, changed in (
        ("joint_offsets", offsets, changed_offsets),
        ("drive_gains", gains, changed_gains),
    ):
        if changed:
            values[f"{name}.joints"] = list(by_joint)
            values[f"{name}.values"] = list(by_joint.values())
    return values
