"""The base's proper acceleration and rotation from an IMU on any link."""

from collections.abc import Sequence

import numpy as np
import pinocchio as pin

from inertial_estimation.compilation import Column, MutableTable, Table, compiled, warm_up
from inertial_estimation.models.imu_mount import ImuMount
from inertial_estimation.models.robot_model import BASE_JOINT, RobotModel, reduced_model
from inertial_estimation.signals import Array
from inertial_estimation.spatial.rotations import skew
from inertial_estimation.spatial.vectors import Vector, add, cross, vector, vector_of

__all__ = ["ImuToBase"]


class ImuToBase:
    """Transforms the readings of an IMU to the origin of the base, through the joints in between.

    Forward kinematics with the measured angular velocity and zero acceleration of the base gives the part
    of the IMU's acceleration that is caused by the joints and the centripetal terms: a_I0 and w'_I0. The
    remainder is caused by the acceleration of the base:

        w'_B = R_BI (w'_I - w'_I0),   f_B = R_BI (f_I - a_I0) - w'_B x r_BI

    For an IMU fixed to the base this is f_B = R_BI f_I - w' x r_BI - w x (w x r_BI), no kinematics needed.
    """

    def __init__(self, robot: RobotModel, imu: ImuMount) -> None:
        """Prepare the kinematics.

        Args:
            robot: A robot with a floating base.
            imu: Where the IMU is.
        """
        self._robot = robot
        self._fixed = imu.on_base
        joints = [j for j in robot.model.supports[imu.joint_id] if j > BASE_JOINT]
        if len({frame.name for frame in robot.model.frames}) < robot.model.nframes:
            joints = list(range(BASE_JOINT + 1, robot.model.njoints))  # Pinocchio finds frames by name
        self._chain = _chain(robot.model, joints)
        self._data = self._chain.createData()
        frame, whole = robot.model.frames[imu.frame_id], self._chain is robot.model
        self._frame_id = imu.frame_id if whole else self._chain.getFrameId(frame.name, frame.type)
        self._idx_q = np.concatenate(
            [np.arange(7), *(robot.model.idx_qs[j] + np.arange(robot.model.nqs[j]) for j in joints)]
        )
        self._joints = np.array([robot.model.idx_vs[j] - robot.n_base for j in joints], dtype=np.int64)
        self._zero = np.zeros(self._chain.nv)
        self._R_BI, self._r_BI = imu.T_JI.rotation.copy(), vector(imu.T_JI.translation)
        warm_up()

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
        if self._fixed:
            return self._rigid_motion(f_I, w_I, wd_I)
        model, data, frame = self._chain, self._data, self._frame_id
        q, v, a = self._robot.configuration(joints[0])[self._idx_q], self._zero.copy(), self._zero.copy()
        v[6:], a[6:] = joints[1][self._joints], joints[2][self._joints]
        pin.forwardKinematics(model, data, q, v)
        pose = pin.updateFramePlacement(model, data, frame)
        R_BI, r_BI = pose.rotation, pose.translation
        w_B = R_BI @ (w_I - pin.getFrameVelocity(model, data, frame, pin.LOCAL).angular)
        v[3:6] = w_B
        pin.forwardKinematics(model, data, q, v, a)
        without = pin.getFrameClassicalAcceleration(model, data, frame, pin.LOCAL)
        wd_B = R_BI @ (wd_I - without.angular)
        f_B: Array = R_BI @ (f_I - without.linear) - skew(wd_B) @ r_BI
        return f_B, w_B, wd_B

    def _rigid_motion(self, f_I: Array, w_I: Array, wd_I: Array) -> tuple[Array, Array, Array]:
        motion = np.empty((3, 3))
        _rigid_motion(self._R_BI, self._r_BI, f_I, w_I, wd_I, motion)
        return motion[0], motion[1], motion[2]


def _chain(model: pin.Model, joints: Sequence[int]) -> pin.Model:
    """Return the model of the base and some joints, all others locked."""
    others = [j for j in range(BASE_JOINT + 1, model.njoints) if j not in joints]
    return reduced_model(model, others)


@compiled
def _rigid_motion(
    R_BI: Table, r_BI: Vector, f_I: Column, w_I: Column, wd_I: Column, motion: MutableTable
) -> None:
    """Write proper acceleration, angular velocity and angular acceleration of the base."""
    motion[0] = R_BI @ f_I
    motion[1] = R_BI @ w_I
    motion[2] = R_BI @ wd_I
    w, wd = vector_of(motion[1], 0), vector_of(motion[2], 0)
    lever = add(cross(wd, r_BI), cross(w, cross(w, r_BI)))
    for i in range(3):
        motion[0, i] -= lever[i]
