"""A legged robot that moves its base and arms while its feet stay exactly where they are."""

from collections.abc import Mapping, Sequence

import numpy as np
import pinocchio as pin

from inertial_estimation.errors import ModelError
from inertial_estimation.models.inverse_dynamics import MotionState
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra

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
