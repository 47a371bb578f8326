"""The base's proper acceleration and rotation from an IMU on any link."""

import numpy as np
import pinocchio as pin

from inertial_estimation.compilation import (
    Column,
    Integers,
    MutableTable,
    Table,
    compiled,
    inlined,
    numbers,
    warm_up,
)
from inertial_estimation.models.imu_mount import ImuMount
from inertial_estimation.models.robot_model import BASE_JOINT, RobotModel
from inertial_estimation.signals import Array
from inertial_estimation.spatial.vectors import (
    IDENTITY,
    ZERO,
    Vector,
    add,
    combine,
    cross,
    matrix_of,
    product,
    rotation,
    store,
    times,
    vector_of,
)

POSE, AXIS, TURNS, NUMBERS = 0, 12, 15, 16  # of a joint between the base and the IMU (`ImuToBase.chain`)


class ImuToBase:
    """Transforms the readings of an IMU to the origin of the base, through the joints in between.

    The joints give the motion of the IMU relative to the base, seen from the turning base: position r,
    orientation R_BI, velocity v, acceleration a, angular velocity w and its derivative w'. The remainder of
    what the IMU senses is caused by the motion of the base:

        w_B = R_BI w_I - w,   w'_B = R_BI w'_I - w' - w_B x w,
        f_B = R_BI f_I - a - 2 w_B x v - w'_B x r - w_B x (w_B x r)

    Attributes:
        chain: Of each joint from the base to the IMU the pose of its frame in the one before (orientation by
            rows, position [m]), its axis, and one if it turns or zero if it slides, shape (k, 16); of the IMU
            its pose, in the same way, in the last row, shape (k + 1, 16).
        joints: Positions of these joints among the robot's, shape (k,).
    """

    def __init__(self, robot: RobotModel, imu: ImuMount) -> None:
        """Prepare the kinematics.

        Args:
            robot: A robot with a floating base.
            imu: Where the IMU is.
        """
        joints = [j for j in robot.model.supports[imu.joint_id] if j > BASE_JOINT]
        rows = [_row(robot.model.jointPlacements[j], _axis(robot.model, j)) for j in joints]
        self.chain = numbers(np.array([*rows, _row(imu.T_JI, np.zeros(4))]))
        self.joints = np.array([robot.model.idx_vs[j] - robot.n_base for j in joints], dtype=np.int64)
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
        motion = np.empty((3, 3))
        q, v, a = (np.ascontiguousarray(part) for part in joints)
        _base_motion(self.chain, self.joints, q, v, a, f_I, w_I, wd_I, motion)
        return motion[0], motion[1], motion[2]


def _row(pose: pin.SE3, axis: Array) -> Array:
    row: Array = np.concatenate((pose.rotation.ravel(), pose.translation, axis))
    return row


def _axis(model: pin.Model, joint_id: int) -> Array:
    """Return the axis of a joint in its frame, and whether it turns, shape (4,)."""
    J = pin.computeJointJacobian(model, model.createData(), pin.neutral(model), joint_id)
    motion = J[:, model.idx_vs[joint_id]]  # of the joint alone, in its own frame
    turns = bool(motion[3:].any())
    return np.append(motion[3:] if turns else motion[:3], float(turns))


@inlined
def motion_of_base(
    chain: Table,
    joints: Integers,
    q: Column,
    v: Column,
    a: Column,
    imu: tuple[Vector, Vector, Vector],
) -> tuple[Vector, Vector, Vector]:
    """Return the motion of the base, as `ImuToBase.base_motion`.

    Args:
        chain: The joints between base and IMU, and the IMU, as `ImuToBase.chain`.
        joints: Their positions among all joints.
        q: Positions of all joints.
        v: Their velocities.
        a: Their accelerations.
        imu: Specific force, angular rate and angular acceleration of the IMU, its axes.
    """
    R, r, v_r, a_r, w, wd = IDENTITY, ZERO, ZERO, ZERO, ZERO, ZERO  # of the IMU relative to the base
    last = len(joints)
    for k in range(last + 1):
        row = chain[k]
        d = times(R, vector_of(row, POSE + 9))
        R = product(R, matrix_of(row, POSE))
        axis, speed, change, turns = ZERO, 0.0, 0.0, False
        if k < last:
            j = joints[k]
            axis, speed, change, turns = times(R, vector_of(row, AXIS)), v[j], a[j], row[TURNS] != 0.0
            if turns:
                own = vector_of(row, AXIS)
                R = product(R, rotation((q[j] * own[0], q[j] * own[1], q[j] * own[2])))
            else:
                d = combine(d, q[j], axis)
        r = add(r, d)
        a_r = add(add(a_r, cross(wd, d)), cross(w, cross(w, d)))
        v_r = add(v_r, cross(w, d))
        if turns:
            wd = add(combine(wd, change, axis), cross(w, combine(ZERO, speed, axis)))
            w = combine(w, speed, axis)
        else:
            a_r = add(combine(a_r, change, axis), cross(w, combine(ZERO, 2.0 * speed, axis)))
            v_r = combine(v_r, speed, axis)
    w_B = combine(times(R, imu[1]), -1.0, w)
    wd_B = combine(combine(times(R, imu[2]), -1.0, wd), -1.0, cross(w_B, w))
    caused = add(add(a_r, cross(wd_B, r)), cross(w_B, add(combine(v_r, 1.0, v_r), cross(w_B, r))))
    return combine(times(R, imu[0]), -1.0, caused), w_B, wd_B


@compiled
def _base_motion(
    chain: Table,
    joints: Integers,
    q: Column,
    v: Column,
    a: Column,
    f_I: Column,
    w_I: Column,
    wd_I: Column,
    motion: MutableTable,
) -> None:
    """Write proper acceleration, angular velocity and angular acceleration of the base, shape (3, 3)."""
    imu = vector_of(f_I, 0), vector_of(w_I, 0), vector_of(wd_I, 0)
    f_B, w_B, wd_B = motion_of_base(chain, joints, q, v, a, imu)
    store(motion[0], 0, f_B)
    store(motion[1], 0, w_B)
    store(motion[2], 0, wd_B)
