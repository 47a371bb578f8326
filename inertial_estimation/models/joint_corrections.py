"""Corrections of joint states: offsets of the position sensors and gains of the drives."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.parameters import parameter
from inertial_estimation.signals import Array


@dataclass(frozen=True)
class JointOffsets:
    """Offsets of the joint position sensors, as `inertial-estimation calibrate` finds them."""

    joints: tuple[str, ...] = parameter((), "Joints whose position sensor has a known offset.")
    values: tuple[float, ...] = parameter(
        (),
        "Offset added to the measured position of each entry of joint_offsets.joints, in the same order; of "
        "a prismatic joint in metres.",
        unit="rad or m",
    )


@dataclass(frozen=True)
class DriveGains:
    """Gains of joints whose reported effort is not a torque but, for example, a motor current."""

    joints: tuple[str, ...] = parameter(
        (), "Joints whose reported effort is not a torque, such as a motor current."
    )
    values: tuple[float, ...] = parameter(
        (),
        "Torque per unit of reported effort of each entry of drive_gains.joints, in the same order.",
        unit="Nm/unit",
    )


@dataclass(frozen=True, eq=False)
class JointCorrections:
    """q = q_sent + offset, tau = gain effort.

    Attributes:
        offset: [rad], shape (n_joints,).
        gain: [Nm per unit of effort], shape (n_joints,).
    """

    offset: Array
    gain: Array


def joint_corrections(offsets: JointOffsets, gains: DriveGains, robot: RobotModel) -> JointCorrections:
    """Resolve offsets and gains against a robot.

    Args:
        offsets: By joint name.
        gains: By joint name.
        robot: The model; locked joints are not in it and cannot be corrected.

    Raises:
        ConfigurationError: If there are not as many values as joints, or a gain is zero.
        ~inertial_estimation.errors.ModelError: If a joint does not exist.
    """
    offset = values_by_joint("joint_offsets", offsets.joints, offsets.values, robot, 0.0)
    gain = values_by_joint("drive_gains", gains.joints, gains.values, robot, 1.0)
    if not gain.all():
        idle = robot.joint_names[int(np.flatnonzero(gain == 0.0)[0])]
        raise ConfigurationError(f"the drive gain of '{idle}' is 0, expected another value")
    return JointCorrections(offset, gain)


def values_by_joint(
    name: str, joints: Sequence[str], values: Sequence[float], robot: RobotModel, missing: float
) -> Array:
    """Spread values of some joints over all.

    Args:
        name: Of the parameter section, for messages.
        joints: Names of joints.
        values: As many.
        robot: The model.
        missing: Value of the joints that are not named.

    Returns:
        Shape (n_joints,).

    Raises:
        ConfigurationError: If the numbers differ, a value is no number, or a joint is named twice.
        ~inertial_estimation.errors.ModelError: If a joint does not exist.
    """
    if len(joints) != len(values):
        raise ConfigurationError(
            f"'{name}' has {len(values)} values, expected one for each of its {len(joints)} joints"
        )
    spread = np.full(robot.n_joints, missing)
    for joint, value in zip(joints, values, strict=True):
        if isinstance(value, str):
            raise ConfigurationError(f"'{name}' has the value {value!r} for '{joint}', expected a number")
        spread[robot.joint_index(joint)] = value
    if len(set(joints)) < len(joints):
        twice = next(joint for joint in joints if list(joints).count(joint) > 1)
        raise ConfigurationError(f"'{name}' names the joint '{twice}' more than once")
    return spread
