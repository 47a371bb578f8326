"""Placement of an IMU on the robot."""

from collections.abc import Sequence
from dataclasses import dataclass

import pinocchio as pin

from inertial_estimation.errors import ConfigurationError, listing
from inertial_estimation.models.robot_model import BASE_JOINT, RobotModel
from inertial_estimation.spatial.rotations import rotation_from_roll_pitch_yaw

__all__ = ["ImuMount"]


@dataclass(frozen=True, eq=False)
class ImuMount:
    """An IMU resolved against the model; build it with `ImuMount.on`.

    Attributes:
        frame: Link of the IMU.
        frame_id: Index in the model of the frame whose axes the readings have.
        joint_id: Index of the joint that carries it.
        T_JI: Pose of the IMU in the frame of that joint.
        moving: Indices, among the generalized velocities, of the joints between the base and the IMU.
    """

    frame: str
    frame_id: int
    joint_id: int
    T_JI: pin.SE3
    moving: tuple[int, ...]

    @classmethod
    def on(cls, robot: RobotModel, frame: str, rotation: Sequence[float] = ()) -> "ImuMount":
        """Look up the link of an IMU.

        Args:
            robot: The robot; a frame of the readings is added to its model if they are rotated.
            frame: The link.
            rotation: Roll, pitch and yaw of the readings' axes in the link [rad]; empty: none.

        Raises:
            ~inertial_estimation.errors.ModelError: If there is no such link.
            ~inertial_estimation.errors.ConfigurationError: If the rotation has not three angles.
        """
        frame_id = robot.frame_id(frame)
        if len(rotation) not in (0, 3):
            given = listing(f"{angle:g}" for angle in rotation)
            raise ConfigurationError(f"'imu_rotation' is {given}, expected roll, pitch and yaw, or nothing")
        if any(rotation):
            frame_id = robot.add_rotated_frame(frame, rotation_from_roll_pitch_yaw(*rotation))
        placed = robot.model.frames[frame_id]
        joint_id = int(placed.parentJoint)
        moving = tuple(robot.model.idx_vs[j] for j in robot.model.supports[joint_id] if j > BASE_JOINT)
        return cls(frame, frame_id, joint_id, placed.placement, moving)

    @property
    def on_base(self) -> bool:
        """Whether the IMU is fixed to the base, which floats."""
        return self.joint_id == BASE_JOINT
