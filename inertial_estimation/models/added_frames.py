"""Frames that the description of a robot lacks, given by parameters: soles, an IMU, a force sensor."""

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from inertial_estimation.errors import ConfigurationError, ModelError, listing
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.parameters import parameter
from inertial_estimation.spatial.rotations import rotation_from_roll_pitch_yaw

POSE = 6  # numbers of a pose: position and roll, pitch, yaw


@dataclass(frozen=True)
class AddedFrames:
    """Frames fixed to links, for what a URDF has no link of its own for."""

    names: tuple[str, ...] = parameter(
        (),
        "Frames that are added to those of the URDF, for sensors or soles without a link there; they can be "
        "named wherever the frame of an IMU, a contact or a wrench is expected.",
    )
    links: tuple[str, ...] = parameter(
        (), "Link of the URDF to which each entry of frames.names is fixed, in the same order."
    )
    poses: tuple[float, ...] = parameter(
        (),
        "Pose of each entry of frames.names in its link, six numbers a frame: x, y, z and roll, pitch, yaw, "
        "as in the <origin> of a URDF.",
        unit="m, rad",
    )


def with_frames(robot: RobotModel, added: AddedFrames) -> RobotModel:
    """Return a robot that has the added frames besides those of its URDF.

    Args:
        robot: The robot.
        added: The frames; without any the robot itself is returned.

    Returns:
        The robot, its joints and bodies unchanged.

    Raises:
        ConfigurationError: If there is not one link and one pose for every name, or a name is there twice.
        ~inertial_estimation.errors.ModelError: If a link does not exist, or the URDF has such a frame.
    """
    n = len(added.names)
    if len(added.links) != n or len(added.poses) != POSE * n:
        raise ConfigurationError(
            f"frames.names has {n} entries, frames.links {len(added.links)} and frames.poses "
            f"{len(added.poses)} numbers, expected a link and {POSE} numbers for each name"
        )
    if len(set(added.names)) != n:
        raise ConfigurationError(f"frames.names has a name twice: {listing(added.names)}")
    if not n:
        return robot
    model = robot.model.copy()
    for name, link, pose in zip(added.names, added.links, np.reshape(added.poses, (-1, POSE)), strict=True):
        if model.existFrame(name):
            raise ModelError(f"frames.names has '{name}', which is a frame of the URDF; choose another name")
        body = robot.link_body(link)
        parent = robot.frame_id(link)
        T_LF = pin.SE3(rotation_from_roll_pitch_yaw(*pose[3:].tolist()), pose[:3].copy())
        kind = pin.FrameType.OP_FRAME
        model.addFrame(pin.Frame(name, body.joint_id, parent, body.T_JL * T_LF, kind), False)
    return RobotModel(model, floating_base=robot.floating_base, base_link=robot.base_link)
