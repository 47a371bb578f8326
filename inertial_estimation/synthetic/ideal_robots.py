"""Known robots for synthetic recordings: readings of ideal sensors, and motions over fixed feet."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from inertial_estimation.errors import ModelError, counted
from inertial_estimation.models.imu import ImuMount
from inertial_estimation.models.measurement_rows import CONTACT_LEVER
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array, LinkInertia
from inertial_estimation.simulation.disturbances import Push
from inertial_estimation.spatial import linear_algebra


@dataclass(frozen=True, eq=False)
class MotionState:
    """One instant of a robot's motion in Pinocchio's coordinates."""

    q: Array  # configuration (base position, quaternion xyzw, joints), shape (nq,)
    v: Array  # velocity (base linear and angular in the base frame, joints), shape (nv,)
    a: Array  # its derivative, shape (nv,)


@dataclass(frozen=True, eq=False)
class IdealReadings:
    """Readings of ideal sensors at one instant."""

    tau: Array  # joint torques [Nm], shape (n_joints,)
    specific_force_I: Array  # specific force at the IMU [m/s^2], shape (3,); zero without IMU
    angular_rate_I: Array  # angular rate of the IMU [rad/s], shape (3,)
    wrenches_C: Array  # wrench of the ground on each contact, in its frame [N, Nm], shape (n_contacts, 6)


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
            point_contacts: The contact frames that transmit no torque.
            payloads: Bodies rigidly attached to their links.

        Raises:
            ~inertial_estimation.errors.ModelError: If a frame does not exist, or a floating base has no
                contact.
        """
        if robot.floating_base and not contact_frames:
            raise ModelError("a floating base needs at least one contact to stand on")
        self.robot, self._model = robot, robot.model.copy()
        for payload in payloads:
            body = robot.link_body(payload.link)
            inertia = pin.Inertia(payload.mass, np.array(payload.com_L), np.array(payload.inertia_Lcm))
            self._model.appendBodyToJoint(body.joint_id, inertia, body.T_JL)
        self._data = self._model.createData()
        self._imu = imu.frame_id if imu is not None else None
        self._contacts = [robot.frame_id(frame) for frame in contact_frames]
        levers = [0.0 if frame in point_contacts else CONTACT_LEVER for frame in contact_frames]
        self._scale = np.array([[1.0, 1.0, 1.0, lever, lever, lever] for lever in levers]).ravel()

    def read(self, state: MotionState, pushes: Sequence[Push] = ()) -> IdealReadings:
        """Return the readings of ideal sensors.

        Joints and contacts together produce the generalised force M a + c. Its base rows determine the sum
        of the contact wrenches, which is distributed over the contacts with the least squared norm (moments
        are divided by `CONTACT_LEVER`). The joint torques are the joint rows minus J' of the wrenches.

        Args:
            state: Configuration, velocity and acceleration.
            pushes: Forces of the environment, axes of the world, in addition to those of the contacts.

        Raises:
            ~inertial_estimation.errors.ModelError: If the contacts cannot carry the motion (two points).
        """
        model, data, n_base = self._model, self._data, self.robot.n_base
        force = np.array(pin.rnea(model, data, state.q, state.v, state.a))
        for push in pushes:
            frame = self.robot.frame_id(push.link)
            J = pin.computeFrameJacobian(model, data, state.q, frame, pin.LOCAL_WORLD_ALIGNED)
            arm = data.oMf[frame].rotation @ push.point_L
            force -= J.T @ np.concatenate((push.force, np.cross(arm, push.force)))
        wrenches = np.zeros((len(self._contacts), 6))
        if self._contacts:
            J = _frame_jacobians(model, data, state.q, self._contacts)
            A = J[:, :n_base].T * self._scale
            scaled = linear_algebra.pinv(A) @ force[:n_base]
            if np.abs(A @ scaled - force[:n_base]).max() > 1e-6 * max(1.0, np.abs(force[:n_base]).max()):
                feet = counted(len(wrenches), "point contact")
                raise ModelError(f"{feet} cannot carry this motion, expected three or more")
            wrenches = (self._scale * scaled).reshape(-1, 6)
            force -= J.T @ wrenches.ravel()
        f_I, w_I = np.zeros(3), np.zeros(3)
        if self._imu is not None:
            pin.forwardKinematics(model, data, state.q, state.v, state.a)
            R_WI = pin.updateFramePlacement(model, data, self._imu).rotation
            a_WI_I = pin.getFrameClassicalAcceleration(model, data, self._imu, pin.LOCAL).linear
            f_I = a_WI_I - R_WI.T @ model.gravity.linear
            w_I = np.array(pin.getFrameVelocity(model, data, self._imu, pin.LOCAL).angular)
        return IdealReadings(force[n_base:], f_I, w_I, wrenches)


def _frame_jacobians(model: pin.Model, data: pin.Data, q: Array, frames: Sequence[int]) -> Array:
    """Return the Jacobians of frames in their axes, one below the other, shape (6 n, nv)."""
    pin.computeJointJacobians(model, data, q)
    pin.updateFramePlacements(model, data)
    return np.vstack([pin.getFrameJacobian(model, data, frame, pin.LOCAL) for frame in frames])


CLOSURE_TOLERANCE = 1e-13  # error of the feet at which Newton's method ends; 1e-9 is accepted [m, rad]
MAX_ITERATIONS = 30


class ClosedStance:
    """Closes the legs' kinematic loops: computes the leg joints from given base and free joints.

    Each leg is the chain of joints from the base to its contact frame. With six or more joints the whole pose
    of the foot is held in place, with fewer only its position (a point foot). Positions are found by Newton's
    method; velocities and accelerations from the differentiated constraint, J v = 0 and J a + J' v = 0, so
    all three agree exactly.

    Attributes:
        robot: The model.
        posture: Joint positions at the start [rad], shape (n_joints,).
        point_frames: Contact frames of which only the position is held.
        leg_joints: Indices (in the model's joint order) of the joints of the legs.
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
        self.posture = np.zeros(robot.n_joints)
        for name, angle in posture.items():
            self.posture[robot.joint_index(name)] = angle
        legs = [robot.joints_to(frame) for frame in contact_frames]
        self.leg_joints = tuple(j for leg in legs for j in leg)
        if len(self.leg_joints) != len(set(self.leg_joints)):
            raise ModelError(f"the legs of {', '.join(contact_frames)} share joints")
        points = [len(leg) < 6 for leg in legs]
        self.point_frames = tuple(frame for frame, point in zip(contact_frames, points, strict=True) if point)
        self._held = np.concatenate([np.arange(6) < (3 if point else 6) for point in points])
        self._columns = robot.n_base + np.array(self.leg_joints)
        pin.framesForwardKinematics(self._model, self._data, robot.configuration(self.posture))
        self.base_height = -float(np.mean([self._data.oMf[f].translation[2] for f in self._frames]))
        self._targets = [self._data.oMf[f].copy() for f in self._frames]
        for target in self._targets:
            target.translation = target.translation + np.array([0.0, 0.0, self.base_height])
        self._leg_guess = self.posture[list(self.leg_joints)]

    def close(
        self, pose: tuple[Array, Array], twist: tuple[Array, Array], joints: Sequence[Array]
    ) -> MotionState:
        """Return the full motion for a given motion of the base and of the free joints.

        Args:
            pose: Position of the base relative to its position in the posture [m], shape (3,), and quaternion
                x y z w of its orientation, shape (4,).
            twist: Velocity of the base (linear and angular, base frame), shape (6,), and its
                derivative, shape (6,).
            joints: Position, velocity and acceleration of all joints; the values of leg joints are replaced.

        Raises:
            ~inertial_estimation.errors.ModelError: If the feet cannot reach.
        """
        q_joints, columns = np.array(joints[0]), self._columns
        q_joints[list(self.leg_joints)] = self._leg_guess
        q = self.robot.configuration(q_joints)
        q[:3], q[3:7] = pose[0] + np.array([0.0, 0.0, self.base_height]), pose[1]
        q = self._solve_position(q)
        self._leg_guess = self.robot.joint_positions(q)[list(self.leg_joints)]
        v, a = np.concatenate([twist[0], joints[1]]), np.concatenate([twist[1], joints[2]])
        v[columns], a[columns] = 0.0, 0.0
        J = self._jacobian(q)
        v[columns] = -linear_algebra.lstsq(J[:, columns], J @ v)
        pin.forwardKinematics(self._model, self._data, q, v, a)
        drifts = [
            pin.getFrameAcceleration(self._model, self._data, frame, pin.LOCAL).vector
            for frame in self._frames
        ]
        a[columns] = -linear_algebra.lstsq(J[:, columns], np.concatenate(drifts)[self._held])
        return MotionState(q, v, a)

    def _solve_position(self, q: Array) -> Array:
        for _ in range(MAX_ITERATIONS):
            J = self._jacobian(q)
            pairs = zip(self._frames, self._targets, strict=True)
            errors = [pin.log6(self._data.oMf[frame].actInv(target)).vector for frame, target in pairs]
            error = np.concatenate(errors)[self._held]
            worst = float(np.abs(error).max())
            if worst < CLOSURE_TOLERANCE:
                return q
            step = np.zeros(self._model.nv)
            step[self._columns] = linear_algebra.lstsq(J[:, self._columns], error)
            q = pin.integrate(self._model, q, step)
        if worst > 1e-9:
            raise ModelError(f"the feet cannot be held in place in this motion (off by {worst:.1e})")
        return q

    def _jacobian(self, q: Array) -> Array:
        """Compute the kinematics; return the Jacobian of the coordinates of the feet that are held."""
        J: Array = _frame_jacobians(self._model, self._data, q, self._frames)[self._held]
        return J
