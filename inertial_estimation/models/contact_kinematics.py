"""Kinematics of the contacts relative to the IMU, and of the IMU relative to the base."""

from collections.abc import Sequence

import numpy as np
import pinocchio as pin

from inertial_estimation.compilation import (
    Column,
    Integers,
    MutableColumn,
    compiled,
    numbers,
    warm_up,
    zeros,
)
from inertial_estimation.models.contact_motions import (
    BLOCKS,
    CARRIERS,
    IMU,
    IMU_PLACEMENT,
    MOTION_WIDTH,
    MOTIONS,
    PLACEMENTS,
    SINGLE_ROWS,
    VELOCITIES,
    WRENCH_FRAMES,
    Kinematics,
    KinematicState,
    motion_in_base,
    rows_of_contacts,
    update_contacts,
)
from inertial_estimation.models.imu_mount import ImuMount
from inertial_estimation.models.joint_motions import JointMotions
from inertial_estimation.models.robot_config import ContactFrames
from inertial_estimation.models.robot_model import RobotModel, reduced_model
from inertial_estimation.signals import Array

SOLE_JOINTS = 6  # joints from which a leg can place its foot in any pose


class ContactKinematics:
    """Forward kinematics of all contacts in one pass, over the joints between base, IMU and contacts.

    Attributes:
        joints: Indices, in the robot's joint order, of the joints that move the IMU or a contact.
        soles: Whether each contact is moved by at least six joints, which can keep it from turning.
        n_velocities: Number of velocities of the base, which are zero, and of those joints.
        state: What `relative_motions` has written last; the next one changes it.
        kinematics: What it takes.
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
        self._model = model = self._robot.model
        self._data, self.n_velocities = model.createData(), model.nv
        self._configuration, self._velocities = pin.neutral(model), np.zeros(model.nv)
        self._plain = model.nq == model.nv + (1 if self._robot.floating_base else 0)
        warm_up()
        pin.forwardKinematics(model, self._data, self._configuration, self._velocities)
        self._joint_motions = JointMotions(self._data)
        frames = [model.frames[self._robot.frame_id(name)] for name in (imu.frame, *names)]
        wrench_poses = [robot.fixed_transform(c.frame, c.wrench_frame) for c in contacts]
        width = max(MOTION_WIDTH, model.nv, len(frames))
        table = zeros(SINGLE_ROWS + BLOCKS * len(names), width)
        table[IMU_PLACEMENT][:12] = _pose(frames[0].placement)
        for block, poses in ((PLACEMENTS, [f.placement for f in frames[1:]]), (WRENCH_FRAMES, wrench_poses)):
            for row, pose in zip(rows_of_contacts(table, block), poses, strict=True):
                row[:12] = _pose(pose)
        carriers = [float(frame.parentJoint) for frame in frames]
        table[CARRIERS][: len(frames)] = numbers(np.array(carriers))
        self.kinematics: Kinematics = (*self._joint_motions.tables(), table)
        motion_in_base(*self.kinematics[:2], int(carriers[0]), table)
        if not supporting_joints(robot, (imu.frame,)):
            table[CARRIERS][0] = -1.0
        self._lasting = self._joint_motions.lasting
        if self._lasting:  # Pinocchio reads the velocities in the table
            self._velocities = table[VELOCITIES][: model.nv]
        motions, wrench_frames = (rows_of_contacts(table, block) for block in (MOTIONS, WRENCH_FRAMES))
        self.state = KinematicState(motions, table[IMU], wrench_frames)

    def forward(self, q: Array, v: Array) -> Kinematics:
        """Compute the motions of the joints, from which those of the contacts follow (`relative_motions`).

        Args:
            q: Joint positions in the robot's order [rad or m], shape (n_joints,).
            v: Joint velocities [rad/s or m/s], shape (n_joints,).

        Returns:
            What `relative_motions` takes.
        """
        _place(q, v, self.joints, self._configuration, self._velocities)
        if not self._plain:  # a joint that turns without limits has two numbers
            self._configuration[:] = self._robot.configuration(q[self.joints])
        pin.forwardKinematics(self._model, self._data, self._configuration, self._velocities)
        if not self._lasting:
            table = self.kinematics[2]
            table[VELOCITIES][: self.n_velocities] = numbers(self._velocities)
            self.kinematics = *self._joint_motions.tables(), table
        return self.kinematics

    def update(self, q: Array, v: Array) -> KinematicState:
        """Compute poses and velocities of all contacts relative to the IMU.

        Args:
            q: Joint positions in the robot's order [rad or m], shape (n_joints,).
            v: Joint velocities [rad/s or m/s], shape (n_joints,).

        Returns:
            The kinematic state, which later updates do not change.
        """
        update_contacts(self.forward(q, v))
        return KinematicState(*(numbers(np.array(values)) for values in self.state))


@compiled
def _place(
    q: Column, v: Column, joints: Integers, configuration: MutableColumn, velocities: MutableColumn
) -> None:
    """Write positions and velocities of some joints behind those of the base."""
    configuration[len(configuration) - len(joints) :] = q[joints]
    velocities[len(velocities) - len(joints) :] = v[joints]


def _pose(T: pin.SE3) -> Array:
    """Orientation by rows, and position, as compiled functions take them."""
    return numbers(np.concatenate((T.rotation.ravel(), T.translation)))


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
