"""Kinematics of the contacts relative to the IMU, and of the IMU relative to the base."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from inertial_estimation.compilation import (
    Column,
    MutableColumn,
    MutableTable,
    Table,
    compiled,
    compiling,
    inlined,
    numbers,
    warm_up,
    zeros,
)
from inertial_estimation.models.imu_mount import ImuMount
from inertial_estimation.models.robot_config import ContactFrames
from inertial_estimation.models.robot_model import RobotModel, reduced_model
from inertial_estimation.signals import Array
from inertial_estimation.spatial.vectors import (
    Matrix,
    Vector,
    add,
    combine,
    cross,
    matrix_of,
    product,
    store,
    store_matrix,
    times,
    transposed,
    vector_of,
)

__all__ = ["ContactKinematics", "KinematicState", "RelativeContact", "locked_robot", "supporting_joints"]

SOLE_JOINTS = 6  # joints from which a leg can place its foot in any pose


class RelativeContact(NamedTuple):
    """One contact relative to the IMU, in the IMU frame.

    Attributes:
        R_IC: Orientation of the contact frame.
        r_I: Position of its origin [m].
        v_I: Velocity of its origin relative to the IMU [m/s].
        w_I: Angular velocity relative to the IMU [rad/s].
        R_CF: Orientation of the wrench frame in the contact frame.
        p_CF: Position of the wrench frame in the contact frame [m].
    """

    R_IC: Matrix
    r_I: Vector
    v_I: Vector
    w_I: Vector
    R_CF: Matrix
    p_CF: Vector


class KinematicState(NamedTuple):
    """Contacts and base relative to the IMU at one instant, as numbers for compiled functions.

    Attributes:
        motions: A row for each contact in the configured order: R_IC by rows, r_I, v_I, w_I as in
            `RelativeContact`.
        imu: Motion of the IMU relative to the base: R_BI by rows, p_BI [m], v_BI_B [m/s], w_BI_B [rad/s], the
            last two in base axes.
        wrench_frames: A row for each contact: R_CF by rows, p_CF.
    """

    motions: Array
    imu: Array
    wrench_frames: Array

    @property
    def contacts(self) -> tuple[RelativeContact, ...]:
        """One entry per contact, in the configured order."""
        rows = zip(self.motions, self.wrench_frames, strict=True)
        return tuple(
            RelativeContact(
                matrix_of(m, 0),
                vector_of(m, 9),
                vector_of(m, 12),
                vector_of(m, 15),
                matrix_of(f, 0),
                vector_of(f, 9),
            )
            for m, f in rows
        )

    @property
    def R_BI(self) -> Matrix:
        """Orientation of the IMU in the base."""
        return matrix_of(self.imu, 0)

    @property
    def p_BI(self) -> Vector:
        """Position of the IMU in the base [m]."""
        return vector_of(self.imu, 9)

    @property
    def v_BI_B(self) -> Vector:
        """Velocity of the IMU relative to the base, base frame [m/s]."""
        return vector_of(self.imu, 12)

    @property
    def w_BI_B(self) -> Vector:
        """Angular velocity of the IMU relative to the base, base frame [rad/s]."""
        return vector_of(self.imu, 15)


class _Frame:
    """A frame of the robot: the memory in which Pinocchio keeps the motion of the joint that carries it.

    Orientation (its columns), position [m] and spatial velocity (joint axes) [m/s, rad/s] of that joint
    relative to the base are views that `forwardKinematics` overwrites, of shapes (3, 3), (3,) and (6,). The
    placement of the frame in the joint, orientation by rows and position [m], is constant.
    """

    def __init__(self, robot: RobotModel, data: pin.Data, name: str) -> None:
        """Look up the frame.

        Raises:
            ~inertial_estimation.errors.ModelError: If it does not exist.
        """
        frame = robot.model.frames[robot.frame_id(name)]
        T, V = data.oMi[frame.parentJoint], data.v[frame.parentJoint]
        self._views = T.rotation.T, T.translation, V.vector
        self._placement = numbers(_placement(frame.placement))
        self._fixed = (*self._views, self._placement) if compiling() else None

    def motion(self) -> tuple[Array, Array, Array, Array]:
        """Return motion of the joint and placement, for compiled functions."""
        if self._fixed is not None:
            return self._fixed
        columns, p, V = self._views
        return numbers(columns), numbers(p), numbers(V), self._placement


class ContactKinematics:
    """Forward kinematics of all contacts in one pass, over the joints between base, IMU and contacts.

    Attributes:
        joints: Indices, in the robot's joint order, of the joints that move the IMU or a contact.
        soles: Whether each contact is moved by at least six joints, which can keep it from turning.
        velocities: Velocities of the base, which are zero, and of those joints at the last update.
    """

    def __init__(self, robot: RobotModel, contacts: Sequence[ContactFrames], imu: ImuMount) -> None:
        """Look up all frames and lock the joints that move none of them.

        Raises:
            ~inertial_estimation.errors.ModelError: If a frame does not exist.
        """
        names = [contact.frame for contact in contacts]
        for name in names:
            robot.frame_id(name)
        chain = supporting_joints(robot, (imu.frame, *names))
        self.soles = tuple(len(supporting_joints(robot, (name,))) >= SOLE_JOINTS for name in names)
        locked = [name for name in robot.joint_names if name not in chain]
        self.joints = np.array([i for i, name in enumerate(robot.joint_names) if name in chain], dtype=int)
        self._robot = locked_robot(robot, locked)
        model = self._robot.model
        self._data = model.createData()
        self.velocities = np.zeros(model.nv)
        self._moving = self.velocities[self._robot.n_base :]
        self._imu = _Frame(self._robot, self._data, imu.frame)
        self._contacts = [_Frame(self._robot, self._data, name) for name in names]
        wrench_poses = [robot.fixed_transform(c.frame, c.wrench_frame) for c in contacts]
        self._wrench_frames = numbers(np.array([_placement(T) for T in wrench_poses]).reshape(-1, 12))
        warm_up()
        pin.forwardKinematics(model, self._data, pin.neutral(model), self.velocities)
        imu_fixed = not supporting_joints(robot, (imu.frame,))
        self._fixed_imu = self._imu_motion() if imu_fixed else None

    def update(self, q: Array, v: Array) -> KinematicState:
        """Compute poses and velocities of all contacts relative to the IMU.

        Args:
            q: Joint positions in the robot's order [rad or m], shape (n_joints,).
            v: Joint velocities [rad/s or m/s], shape (n_joints,).

        Returns:
            The kinematic state.
        """
        self._moving[:] = v[self.joints]
        configuration = self._robot.configuration(q[self.joints])
        pin.forwardKinematics(self._robot.model, self._data, configuration, self.velocities)
        imu = self._imu_motion() if self._fixed_imu is None else self._fixed_imu
        motions = zeros(len(self._contacts), 18)
        for i, frame in enumerate(self._contacts):
            _relative_motion(*frame.motion(), imu, i, motions)
        return KinematicState(motions, imu, self._wrench_frames)

    def _imu_motion(self) -> Array:
        motion = zeros(18)
        _motion_in_base(*self._imu.motion(), motion)
        return motion


@inlined
def _in_base(
    columns: Table, p_BJ: Column, V_J: Column, placement: Column
) -> tuple[Matrix, Vector, Vector, Vector]:
    """Orientation, position, velocity and angular velocity of a frame in the base (`_Frame`)."""
    R_BJ = transposed((vector_of(columns[0], 0), vector_of(columns[1], 0), vector_of(columns[2], 0)))
    w_J, p_J = vector_of(V_J, 3), vector_of(placement, 9)
    v = times(R_BJ, add(vector_of(V_J, 0), cross(w_J, p_J)))
    p = add(vector_of(p_BJ, 0), times(R_BJ, p_J))
    return product(R_BJ, matrix_of(placement, 0)), p, v, times(R_BJ, w_J)


@inlined
def _store(out: MutableColumn, R: Matrix, p: Vector, v: Vector, w: Vector) -> None:
    store_matrix(out, 0, R)
    store(out, 9, p)
    store(out, 12, v)
    store(out, 15, w)


@compiled
def _motion_in_base(columns: Table, p_BJ: Column, V_J: Column, placement: Column, out: MutableColumn) -> None:
    """Write the motion of a frame relative to the base, laid out as `KinematicState.imu`."""
    R, p, v, w = _in_base(columns, p_BJ, V_J, placement)
    _store(out, R, p, v, w)


@compiled
def _relative_motion(
    columns: Table, p_BJ: Column, V_J: Column, placement: Column, imu: Column, i: int, out: MutableTable
) -> None:
    """Write the motion of contact i relative to the IMU, seen in the turning IMU frame.

    With d = p_BC - p_BI: r_I = R_BI^T d and v_I = R_BI^T (v_BC - v_BI - w_BI x d), all vectors in the base.
    """
    R_BC, p_BC, v_BC, w_BC = _in_base(columns, p_BJ, V_J, placement)
    R_BI, w_BI = matrix_of(imu, 0), vector_of(imu, 15)
    R_IB = transposed(R_BI)
    d = combine(p_BC, -1.0, vector_of(imu, 9))
    v = combine(combine(v_BC, -1.0, vector_of(imu, 12)), -1.0, cross(w_BI, d))
    w = combine(w_BC, -1.0, w_BI)
    _store(out[i], product(R_IB, R_BC), times(R_IB, d), times(R_IB, v), times(R_IB, w))


def _placement(T: pin.SE3) -> Array:
    """Orientation by rows, and position, shape (12,)."""
    placement: Array = np.concatenate((T.rotation.ravel(), T.translation))
    return placement


def supporting_joints(robot: RobotModel, frames: Sequence[str]) -> set[str]:
    """Return the names of the joints between the base and any of the frames."""
    model = robot.model
    moving = set(robot.joint_names)
    supports: set[str] = set()
    for frame in frames:
        joint = model.frames[robot.frame_id(frame)].parentJoint
        supports |= {model.names[j] for j in model.supports[joint]} & moving
    return supports


def locked_robot(robot: RobotModel, names: Sequence[str]) -> RobotModel:
    """Return a robot without some joints, which are fixed at position zero.

    Raises:
        ~inertial_estimation.errors.ModelError: If a joint has the name of a link.
    """
    if not names:
        return robot
    reduced = reduced_model(robot.model, [robot.model.getJointId(name) for name in names])
    return RobotModel(reduced, floating_base=robot.floating_base, base_link=robot.base_link)
