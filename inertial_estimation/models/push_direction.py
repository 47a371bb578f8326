"""The direction in which the ground pushes a contact, as the description of the robot shows it."""

import math

import numpy as np
import pinocchio as pin

from inertial_estimation.models.robot_config import RobotConfig
from inertial_estimation.models.robot_model import RobotModel

UPRIGHT = math.cos(math.radians(15.0))  # an axis nearer than that to the base's z is the normal of a sole


def push_direction(config: RobotConfig, contact: str, robot: RobotModel) -> tuple[float, float, float] | None:
    """Return the normal of a sole, up, in the axes of the frame of its wrenches.

    It is the axis of that frame that points up where the base is upright and all joints are at zero; most
    descriptions of humanoids have one. It serves to tell which of two opposite forces is right.

    Args:
        config: The robot's parameters.
        contact: Name of one of its contacts.
        robot: The model.

    Returns:
        The unit vector; None for a fixed base, and where no axis points up.
    """
    if not robot.floating_base or contact not in config.contacts:
        return None
    frames = config.wrench_frames or config.contact_frames or config.contacts
    data = robot.model.createData()
    pin.framesForwardKinematics(robot.model, data, robot.configuration(np.zeros(robot.n_joints)))
    up = data.oMf[robot.frame_id(frames[config.contacts.index(contact)])].rotation[2]
    axis = int(np.argmax(np.abs(up)))
    if abs(float(up[axis])) < UPRIGHT:
        return None
    x, y, z = np.sign(up[axis]) * np.eye(3)[axis]
    return float(x), float(y), float(z)
