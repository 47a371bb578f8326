"""Known robots for synthetic recordings: readings of ideal sensors, and motions over fixed feet."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from inertial_estimation.errors import ModelError
from inertial_estimation.models.imu import ImuMount
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array, LinkInertia
from inertial_estimation.spatial import linear_algebra

TORQUE_ARM = 0.1  # lever at which contact torques weigh as much as forces in their distribution [m]


@dataclass(frozen=True, eq=False)
class MotionState:
    """One instant of a robot's motion in Pinocchio's coordinates.

    Attributes:
        q: Configuration (base position, quaternion xyzw, joints), shape (nq,).
        v: Velocity (base linear and angular in the base frame, joints), shape (nv,).
        a: Its derivative, shape (nv,).
    """

    q: Array
    v: Array
    a: Array


@dataclass(frozen=True, eq=False)
class IdealReadings:
    """Readings of ideal sensors at one instant.

    Attributes:
        tau: Joint torques [Nm], shape (n_joints,).
        specific_force_I: Specific force at the IMU [m/s^2], shape (3,); zero without IMU.
        angular_rate_I: Angular rate of the IMU [rad/s], shape (3,).
        wrenches_C: Wrench of the ground on each contact, in its frame [N, Nm], shape (n_contacts, 6).
    """

    tau: Array
    specific_force_I: Array
    angular_rate_I: Array
    wrenches_C: Array


@dataclass(frozen=True, eq=False)
class PointForce:
    """A force of the environment on a point of a link.

    Attributes:
        link: Name of the link.
        force_W: Force, axes of the world [N], shape (3,).
        point_L: Point of application in the link frame [m], shape (3,).
    """

    link: str
    force_W: Array
    point_L: Array


class IdealSensors:
    """A robot whose inertia is known, with an IMU and contacts.

    Attributes:
        robot: Its model.
    """

    def __init__(
        self,
        robot: RobotModel,
        *,
        imu: ImuMount | None = None,
        contact_frames: Sequence[str] = (),
        point_contacts: Sequence[str] = (),
        payloads: Sequence[LinkInertia] = (),
    ) -> None:
        """Resolve the frames and attach the payloads.

        Args:
            robot: The robot without payload.
            imu: The IMU; None for a robot without one.
            contact_frames: Frames of the contacts that carry a floating base.
            point_contacts: Those of them that transmit no torque.
            payloads: Bodies rigidly attached to their links.

        Raises:
            ~inertial_estimation.errors.ModelError: If a frame does not exist, or a floating base has no
                contact.
        """
        if robot.floating_base and not contact_frames:
            raise ModelError("a floating base needs at least one contact to stand on")
        self.robot = robot
        self._model = _with_payloads(robot, payloads) if payloads else robot.model
        self._data = self._model.createData()
        self._imu = imu.frame_id if imu is not None else None
        self._contacts = [robot.frame_id(frame) for frame in contact_frames]
        levers = [0.0 if frame in point_contacts else TORQUE_ARM for frame in contact_frames]
        self._scale = np.concatenate([[1.0, 1.0, 1.0, lever, lever, lever] for lever in levers] or [[]])

    def read(self, state: MotionState, pushes: Sequence[PointForce] = ()) -> IdealReadings:
        """Return the readings of ideal sensors.

        Joints and contacts together produce the generalised force M a + c. Its base rows determine the sum
        of the contact wrenches, which is distributed over the contacts with the least squared norm (moments
        are divided by the lever `TORQUE_ARM`). The joint torques are the joint rows minus J' of the wrenches.

        Args:
            state: Configuration, velocity and acceleration.
            pushes: Forces of the environment in addition to those of the contacts.

        Raises:
            ~inertial_estimation.errors.ModelError: If the contacts cannot carry the motion (two points).
        """
        model, data = self._model, self._data
        force = np.array(pin.rnea(model, data, state.q, state.v, state.a))
        for push in pushes:
            force -= self._push(state.q, push)
        n_base = self.robot.n_base
        wrenches = np.zeros((len(self._contacts), 6))
        if self._contacts:
            pin.computeJointJacobians(model, data, state.q)
            pin.updateFramePlacements(model, data)
            jacobians = [pin.getFrameJacobian(model, data, f, pin.LOCAL) for f in self._contacts]
            wrenches = _least_norm_wrenches(jacobians, force[:n_base], self._scale)
            for J, wrench in zip(jacobians, wrenches, strict=True):
                force -= J.T @ wrench
        f_I, w_I = self._imu_reading(state)
        return IdealReadings(force[n_base:], f_I, w_I, wrenches)

    def _push(self, q: Array, push: PointForce) -> Array:
        """Return J' f of a force at a point of a link, shape (nv,)."""
        frame = self.robot.frame_id(push.link)
        J = pin.computeFrameJacobian(self._model, self._data, q, frame, pin.LOCAL_WORLD_ALIGNED)
        arm = self._data.oMf[frame].rotation @ push.point_L
        generalized: Array = J.T @ np.concatenate((push.force_W, np.cross(arm, push.force_W)))
        return generalized

    def _imu_reading(self, state: MotionState) -> tuple[Array, Array]:
        if self._imu is None:
            return np.zeros(3), np.zeros(3)
        model, data = self._model, self._data
        pin.forwardKinematics(model, data, state.q, state.v, state.a)
        R_WI = pin.updateFramePlacement(model, data, self._imu).rotation
        a_WI_I = pin.getFrameClassicalAcceleration(model, data, self._imu, pin.LOCAL).linear
        w_I = pin.getFrameVelocity(model, data, self._imu, pin.LOCAL).angular
        return a_WI_I - R_WI.T @ model.gravity.linear, np.array(w_I)


def _with_payloads(robot: RobotModel, payloads: Sequence[LinkInertia]) -> pin.Model:
    model = robot.model.copy()
    for payload in payloads:
        body = robot.link_body(payload.link)
        inertia = pin.Inertia(payload.mass, np.array(payload.com_L), np.array(payload.inertia_Lcm))
        model.appendBodyToJoint(body.joint_id, inertia, body.T_JL)
    return model


def _least_norm_wrenches(jacobians: Sequence[Array], base_force: Array, scale: Array) -> Array:
    """Solve sum_i J_i,base^T wrench_i = base_force with the least norm of wrench / scale."""
    n = len(base_force)
    A = np.hstack([J[:, :n].T for J in jacobians]) * scale
    scaled = linear_algebra.pinv(A) @ base_force
    if np.abs(A @ scaled - base_force).max() > 1e-6 * max(1.0, np.abs(base_force).max()):
        raise ModelError(
            f"{len(jacobians)} point contact(s) cannot carry this motion, expected three or more"
        )
    wrenches: Array = (scale * scaled).reshape(-1, 6)
    return wrenches


CLOSURE_TOLERANCE = 1e-13
MAX_ITERATIONS = 30


class ClosedStance:
    """Closes the legs' kinematic loops: base and free joints are given, the leg joints follow.

    Each leg is the chain of joints from the base to its contact frame. With six or more joints the
    whole pose of the foot is held, with fewer its position only (a point foot). Positions are found by
    Newton's method; velocities and accelerations from the differentiated constraint, J v = 0 and
    J a + J' v = 0, so all three agree exactly.

    Attributes:
        robot: The model.
        leg_joints: Indices (in the model's joint order) of the joints that follow.
        point_frames: Contact frames of which only the position is held.
    """

    def __init__(
        self, robot: RobotModel, contact_frames: Sequence[str], posture: Mapping[str, float]
    ) -> None:
        """Place the robot in a posture with its feet on the ground at z = 0 below a level base.

        Args:
            robot: Model with a floating base.
            contact_frames: Frame of each foot.
            posture: Joint positions by name [rad]; the others are zero.

        Raises:
            ~inertial_estimation.errors.ModelError: If a name does not exist, or two legs share a joint.
        """
        self.robot = robot
        self._model, self._data = robot.model, robot.model.createData()
        self._frames = [robot.frame_id(frame) for frame in contact_frames]
        q_joints = np.zeros(robot.n_joints)
        for name, angle in posture.items():
            q_joints[robot.joint_index(name)] = angle
        self.posture = q_joints
        self._columns = [[robot.n_base + j for j in robot.joints_to(frame)] for frame in contact_frames]
        legs = zip(contact_frames, self._columns, strict=True)
        self.point_frames = tuple(frame for frame, columns in legs if len(columns) < 6)
        used = [column for columns in self._columns for column in columns]
        if len(used) != len(set(used)):
            raise ModelError(f"the legs of {', '.join(contact_frames)} share joints")
        self.leg_joints = tuple(column - robot.n_base for column in used)
        q = robot.configuration(q_joints)
        pin.framesForwardKinematics(self._model, self._data, q)
        height = float(np.mean([self._data.oMf[f].translation[2] for f in self._frames]))
        self.base_height = -height
        self._targets = [_on_ground(self._data.oMf[f], height) for f in self._frames]
        self._leg_guess = q_joints[list(self.leg_joints)]

    def close(
        self, pose: tuple[Array, Array], twist: tuple[Array, Array], joints: Sequence[Array]
    ) -> MotionState:
        """Return the full motion for a given motion of the base and of the free joints.

        Args:
            pose: Position of the base relative to its standing place [m], shape (3,), and quaternion
                x y z w of its orientation, shape (4,).
            twist: Velocity of the base (linear and angular, base frame), shape (6,), and its
                derivative, shape (6,).
            joints: Position, velocity and acceleration of all joints; the values of leg joints are replaced.

        Returns:
            The motion.

        Raises:
            ~inertial_estimation.errors.ModelError: If the feet cannot reach.
        """
        q_joints = np.array(joints[0])
        q_joints[list(self.leg_joints)] = self._leg_guess
        q = self._configuration(pose, q_joints)
        q = self._solve_position(q)
        self._leg_guess = q[7:][[c - 6 for columns in self._columns for c in columns]]
        v, a = np.concatenate([twist[0], joints[1]]), np.concatenate([twist[1], joints[2]])
        for columns in self._columns:
            v[columns] = 0.0
            a[columns] = 0.0
        jacobians = self._jacobians(q)
        for J, columns in zip(jacobians, self._columns, strict=True):
            v[columns] = -linear_algebra.lstsq(J[:, columns], J @ v)
        pin.forwardKinematics(self._model, self._data, q, v, a)
        for J, columns, frame in zip(jacobians, self._columns, self._frames, strict=True):
            drift = pin.getFrameAcceleration(self._model, self._data, frame, pin.LOCAL).vector[: len(J)]
            a[columns] = -linear_algebra.lstsq(J[:, columns], drift)
        return MotionState(q, v, a)

    def _configuration(self, pose: tuple[Array, Array], q_joints: Array) -> Array:
        q = self.robot.configuration(q_joints)
        q[:3] = pose[0]
        q[2] += self.base_height
        q[3:7] = pose[1]
        return q

    def _solve_position(self, q: Array) -> Array:
        for _ in range(MAX_ITERATIONS):
            pin.framesForwardKinematics(self._model, self._data, q)
            worst, step = 0.0, np.zeros(self._model.nv)
            jacobians = self._jacobians(q)
            for J, columns, frame, target in zip(
                jacobians, self._columns, self._frames, self._targets, strict=True
            ):
                error = pin.log6(self._data.oMf[frame].actInv(target)).vector[: len(J)]
                worst = max(worst, float(np.abs(error).max()))
                step[columns] = linear_algebra.lstsq(J[:, columns], error)
            if worst < CLOSURE_TOLERANCE:
                return q
            q = pin.integrate(self._model, q, step)
        if worst > 1e-9:
            raise ModelError(f"the feet cannot be held in place in this motion (off by {worst:.1e})")
        return q

    def _jacobians(self, q: Array) -> list[Array]:
        pin.computeJointJacobians(self._model, self._data, q)
        pin.updateFramePlacements(self._model, self._data)
        jacobians = [pin.getFrameJacobian(self._model, self._data, f, pin.LOCAL) for f in self._frames]
        return [
            J if len(columns) >= 6 else J[:3] for J, columns in zip(jacobians, self._columns, strict=True)
        ]


def _on_ground(placement: pin.SE3, height: float) -> pin.SE3:
    target = placement.copy()
    target.translation = placement.translation - np.array([0.0, 0.0, height])
    return target
