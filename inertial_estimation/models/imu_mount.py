"""Placement of an IMU on the robot."""

from dataclasses import dataclass

import pinocchio as pin

from inertial_estimation.models.robot_model import BASE_JOINT, RobotModel


@dataclass(frozen=True, eq=False)
class ImuMount:
    """An IMU resolved against the model; build it with `ImuMount.on`.

    Attributes:
        frame: Link of the IMU.
        frame_id: Index of that frame in the model.
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
    def on(cls, robot: RobotModel, frame: str) -> "ImuMount":
        """Look up the link of an IMU.

        Raises:
            ~inertial_estimation.errors.ModelError: If there is no such link.
        """
        frame_id = robot.frame_id(frame)
        placed = robot.model.frames[frame_id]
        joint_id = int(placed.parentJoint)
        moving = tuple(robot.model.idx_vs[j] for j in robot.model.supports[joint_id] if j > BASE_JOINT)
        return cls(frame, frame_id, joint_id, placed.placement, moving)

    @property
    def on_base(self) -> bool:
        """Whether the IMU is fixed to the base, which floats."""
        return self.joint_id == BASE_JOINT
