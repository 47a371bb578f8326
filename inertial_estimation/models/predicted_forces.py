"""Forces that a robot's description predicts at one instant, and how they change with its geometry.

The torques of a fixed base are linear in gravity g of any direction: G g. The slopes are derivatives of the
predicted base wrench and torques, p = M a + c - J' w, by small rotations:

    d p(R(phi) f, R(phi) w, R(phi) w') / d phi      readings of an IMU rotated by phi, in its axes
    d p(q + d) / d d                                a joint whose position is wrong by d

They are the derivatives of the recursive Newton-Euler algorithm with the contact wrenches as external forces
(Carpentier and Mansard, RSS 2018); those of the base's motion by the readings are differences.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from inertial_estimation.models.contacts import ContactFrames
from inertial_estimation.models.imu import STANDARD_GRAVITY, ImuToBase
from inertial_estimation.models.robot_config import RobotSetup
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array
from inertial_estimation.spatial.rotations import exp_so3, skews

STEP = 1e-4  # of the differences [rad]
Motion = tuple[Array, Array, Array]


@dataclass(frozen=True, eq=False)
class PredictedState:
    """Forces and kinematics that the robot's description predicts at one instant."""

    # M a + c: force and moment on the base origin in base axes (floating base only), then the joint torques
    # in the absence of contacts [N, Nm], shape (nv,)
    force: Array
    jacobians: Array  # of the contacts' wrench frames, their own axes, shape (k, 6, nv)
    points_B: Array  # origins of the wrench frames in the base frame [m], shape (k, 3)
    rotations_BF: Array  # orientations of the wrench frames in the base, shape (k, 3, 3)
    com_B: Array  # centre of mass in the base frame [m], shape (3,)


class PredictedForces:
    """Predicts forces from joint states and the motion of the base, by the inertias of the URDF.

    Attributes:
        moved: Mass that each joint moves [kg], shape (n_joints,).
    """

    def __init__(self, robot: RobotModel, contacts: Sequence[ContactFrames] = ()) -> None:
        """Find the wrench frames of a robot's contacts.

        Raises:
            ~inertial_estimation.errors.ModelError: If a frame does not exist.
        """
        self._robot, self._data = robot, robot.model.createData()
        self._has_mass = robot.total_mass > 0.0
        self._frames = [robot.frame_id(contact.wrench_frame) for contact in contacts]
        model, data = robot.model, self._data
        pin.computeSubtreeMasses(model, data)
        pin.computeJointJacobians(model, data, pin.neutral(model))
        self._joints = range(model.njoints - robot.n_joints, model.njoints)
        axes = [
            pin.getJointJacobian(model, data, j, pin.LOCAL).reshape(6, -1)[3:, model.joints[j].idx_v]
            for j in self._joints
        ]
        self.moved = np.array([data.mass[j] for j in self._joints])
        self._across = -self.moved[:, None, None] * skews(np.reshape(axes, (-1, 3)))  # f x axis = -axis x f

    def at(self, q: Array, v: Array, a: Array, base: tuple[Array, Array, Array] | None) -> PredictedState:
        """Predict at one instant.

        Args:
            q: Joint positions [rad], shape (n_joints,).
            v: Joint velocities [rad/s], shape (n_joints,).
            a: Joint accelerations [rad/s^2], shape (n_joints,).
            base: Proper acceleration [m/s^2], angular velocity [rad/s] and angular acceleration [rad/s^2] of
                a floating base, base axes; None for a fixed one, whose gravity is that of the model.

        """
        model, data = self._robot.model, self._data
        configuration = self._robot.configuration(q)
        if base is not None:
            f_B, w_B, wd_B = base
            v = np.concatenate((np.zeros(3), w_B, v))
            a = np.concatenate((f_B + model.gravity.linear, wd_B, a))  # the base is not turned in the world
        force = np.array(pin.rnea(model, data, configuration, v, a))
        pin.computeJointJacobians(model, data, configuration)  # also places the bodies
        k = len(self._frames)
        jacobians, points, rotations = np.zeros((k, 6, model.nv)), np.zeros((k, 3)), np.zeros((k, 3, 3))
        for i, frame in enumerate(self._frames):
            placed = pin.updateFramePlacement(model, data, frame)
            points[i], rotations[i] = placed.translation, placed.rotation
            jacobians[i] = pin.getFrameJacobian(model, data, frame, pin.LOCAL).reshape(6, -1)
        com = np.zeros(3)
        if self._has_mass:
            com = np.array(pin.centerOfMass(model, data, pin.POSITION, False))
        return PredictedState(force, jacobians, points, rotations, com)

    def levers(self) -> Array:
        """Return derivatives of the torques by the centre of mass of all that each joint moves [N].

        They are of a shift d of the centre of mass along the axes of the joint at the last instant, shape
        (n_joints, 3): the torque is a'(d x m f), with f the specific force of the joint.
        """
        moving = self._data.a_gf
        forces = np.array([moving[j].linear for j in self._joints]).reshape(-1, 3)
        levers: Array = (self._across @ forces[:, :, None])[:, :, 0]
        return levers

    def frame_motion(self, frame_id: int, w_B: Array) -> tuple[Array, Array]:
        """Return the orientation of a frame in the base and its rate relative to it at the last instant.

        The rate [rad/s] is in axes of the frame; w_B is the rate of the base in base axes [rad/s].
        """
        model, data = self._robot.model, self._data
        R_BF = np.array(pin.updateFramePlacement(model, data, frame_id).rotation)
        w_F = pin.getFrameVelocity(model, data, frame_id, pin.LOCAL).angular
        return R_BF, w_F - R_BF.T @ w_B


def gravity_columns(robot: RobotModel, q: Array) -> Array:
    """Return the joint torques of gravity of 1 m/s^2 along each axis of a fixed base, shape (n_joints, 3).

    The centre of mass moves with J q', so that gravity g takes the torques -m J'g.

    Args:
        robot: A robot with a fixed base.
        q: Joint positions [rad], shape (n_joints,).
    """
    data = robot.model.createData()
    J = pin.jacobianCenterOfMass(robot.model, data, robot.configuration(q)).reshape(3, -1)
    columns: Array = -data.mass[0] * J.T
    return columns


def weight_torque(robot: RobotModel) -> float:
    """Return the largest torque of the weight on a revolute joint with the robot stretched out [Nm].

    It is the largest sum_k m_k g d_k over all bodies behind a joint, with d_k the length of the chain from
    the joint to the centre of mass, for any mounting of the robot: efforts that accelerate a joint with an
    upright axis are about as large as those that hold its weight on a wall.
    """
    model, moments = robot.model, np.zeros(robot.model.njoints)
    for k in range(1, model.njoints):
        joint, length = k, float(np.linalg.norm(model.inertias[k].lever))
        while joint > 0:
            moments[joint] += model.inertias[k].mass * length
            length += float(np.linalg.norm(model.jointPlacements[joint].translation))
            joint = model.parents[joint]
    turning = moments[1:][robot.turning_joints]
    return STANDARD_GRAVITY * float(turning.max(initial=0.0))


class GeometrySlopes:
    """Slopes of the base wrench and the torques that are predicted at one instant."""

    def __init__(self, setup: RobotSetup) -> None:
        robot, imu = setup.robot, setup.imu
        self._robot, self._data = robot, robot.model.createData()
        self._to_base = ImuToBase(robot, imu) if robot.floating_base and imu is not None else None
        self._between = robot.joints_to(imu.frame) if imu is not None and robot.floating_base else []
        self._turning = robot.turning_joints
        frames = [robot.model.frames[robot.frame_id(contact.wrench_frame)] for contact in setup.contacts]
        self._contacts = [(frame.parentJoint, frame.placement) for frame in frames]

    @property
    def turning(self) -> tuple[str, ...]:
        """Names of the t revolute joints."""
        return tuple(self._robot.joint_names[j] for j in self._turning.tolist())

    def at(self, motion: Motion, readings: Motion, wrenches: Array) -> Array:
        """Return slopes by an IMU's rotation (floating base, 3), then by t joints' offsets, (nv, 3 + t).

        Args:
            motion: Positions, velocities and accelerations of the joints, shape (n_joints,) each.
            readings: Specific force [m/s^2], angular rate [rad/s] and angular acceleration [rad/s^2] of the
                IMU, its axes, shape (3,) each; of no account for a fixed base.
            wrenches: Force and moment of the ground on each contact, in its wrench frame, shape (k, 6).
        """
        model = self._robot.model
        v, a = self._velocities(motion, readings)
        forces = pin.StdVec_Force([pin.Force.Zero() for _ in range(model.njoints)])
        for (joint, placement), wrench in zip(self._contacts, wrenches, strict=True):
            forces[joint] += placement.act(pin.Force(wrench))
        q = self._robot.configuration(motion[0])
        by_q, by_v, by_a = pin.computeRNEADerivatives(model, self._data, q, v, a, forces)
        offsets = np.array(by_q[:, self._robot.n_base :])
        if self._to_base is None:
            return offsets[:, self._turning]

        def slope(changed_motion: Motion, changed_readings: Motion) -> Array:
            changed_v, changed_a = self._velocities(changed_motion, changed_readings)
            slopes: Array = np.array(by_v @ (changed_v - v) + by_a @ (changed_a - a)) / STEP
            return slopes

        turns = [exp_so3(STEP * axis) for axis in np.eye(3)]
        f_I, w_I, wd_I = readings
        turned = [slope(motion, (R @ f_I, R @ w_I, R @ wd_I)) for R in turns]
        for j in self._between:
            step = STEP * np.eye(len(motion[0]))[j]
            offsets[:, j] += slope((motion[0] + step, motion[1], motion[2]), readings)
        return np.column_stack([*turned, offsets[:, self._turning]])

    def _velocities(self, motion: Motion, readings: Motion) -> tuple[Array, Array]:
        """Return velocity and proper acceleration of base and joints, shape (nv,) each."""
        if self._to_base is None:
            return motion[1], motion[2]
        f_B, w_B, wd_B = self._to_base.base_motion(motion, *readings)
        g = self._robot.model.gravity.linear  # the base is not turned in the world
        return np.concatenate((np.zeros(3), w_B, motion[1])), np.concatenate((f_B + g, wd_B, motion[2]))
