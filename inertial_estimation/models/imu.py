"""The base's proper acceleration and rotation from an IMU on any link."""

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from inertial_estimation.models.robot_model import BASE_JOINT, RobotModel
from inertial_estimation.signals import Array

STANDARD_GRAVITY = 9.80665


@dataclass(frozen=True, eq=False)
class ImuMount:
    """An IMU resolved against the model; build it with `ImuMount.on`."""

    frame: str  # link of the IMU
    frame_id: int  # index of that frame in the model
    joint_id: int  # index of the joint that carries it
    T_JI: pin.SE3  # pose of the IMU in the frame of that joint
    # indices, among the generalized velocities, of the joints between the base and the IMU
    moving: tuple[int, ...]

    @classmethod
    def on(cls, robot: RobotModel, frame: str) -> "ImuMount":
        """Look up the link of an IMU.

        Raises:
            ~inertial_estimation.errors.ModelError: If there is no such link.
        """
        frame_id = robot.frame_id(frame)
        placed = robot.model.frames[frame_id]
        moving = tuple(robot.n_base + j for j in robot.joints_to(frame))
        return cls(frame, frame_id, int(placed.parentJoint), placed.placement, moving)


class ImuToBase:
    """Transforms the readings of an IMU to the origin of the base, through the joints in between.

    The joints give the motion of the IMU relative to the rotating base: position r, orientation R_BI,
    velocity v, acceleration a, angular velocity w and its derivative w'. The rest of the IMU's readings is
    caused by the motion of the base:

        w_B = R_BI w_I - w,   w'_B = R_BI w'_I - w' - w_B x w,
        f_B = R_BI f_I - a - 2 w_B x v - w'_B x r - w_B x (w_B x r)
    """

    def __init__(self, robot: RobotModel, imu: ImuMount) -> None:
        """Prepare the kinematics."""
        self._robot, self._imu, self._data = robot, imu, robot.model.createData()
        self._v, self._a = np.zeros(robot.model.nv), np.zeros(robot.model.nv)  # of a base that rests

    def base_motion(
        self, joints: tuple[Array, Array, Array], f_I: Array, w_I: Array, wd_I: Array
    ) -> tuple[Array, Array, Array]:
        """Return proper acceleration, angular velocity and angular acceleration of the base.

        Args:
            joints: Positions, velocities and accelerations of the joints, shape (n_joints,) each.
            f_I: Specific force at the IMU, its axes [m/s^2], shape (3,).
            w_I: Angular rate of the IMU, its axes [rad/s], shape (3,).
            wd_I: Angular acceleration of the IMU, its axes [rad/s^2], shape (3,).

        Returns:
            f_B [m/s^2], w_B [rad/s], wd_B [rad/s^2] in base axes, shape (3,) each.
        """
        if self._imu.joint_id == BASE_JOINT:
            T_BI, velocity, acceleration = self._imu.T_JI, pin.Motion.Zero(), pin.Motion.Zero()
        else:
            model, data, frame = self._robot.model, self._data, self._imu.frame_id
            q, self._v[self._robot.n_base :], self._a[self._robot.n_base :] = joints
            pin.forwardKinematics(model, data, self._robot.configuration(q), self._v, self._a)
            T_BI = pin.updateFramePlacement(model, data, frame)
            velocity = pin.getFrameVelocity(model, data, frame, pin.LOCAL_WORLD_ALIGNED)
            acceleration = pin.getFrameClassicalAcceleration(model, data, frame, pin.LOCAL_WORLD_ALIGNED)
        R_BI, r = T_BI.rotation, T_BI.translation
        w_B: Array = R_BI @ w_I - velocity.angular
        turn = pin.skew(w_B)
        wd_B: Array = R_BI @ wd_I - acceleration.angular - turn @ velocity.angular
        moved = acceleration.linear + turn @ (2.0 * velocity.linear + turn @ r) + pin.skew(wd_B) @ r
        f_B: Array = R_BI @ f_I - moved
        return f_B, w_B, wd_B
