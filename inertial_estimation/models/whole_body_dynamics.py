"""Dynamics and kinematics for a whole-body controller, with replaceable link inertias.

M(q) a + h(q, v) = S' tau + sum_i J_i' f_i, the base at the origin of the world: nothing here depends on
where the base is, only on its orientation. Frames are given with their axes parallel to the world's
(Jacobian, velocity, drift J'v), so that velocity = J v and acceleration = J a + J'v.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from inertial_estimation.models.joint_limits import urdf_limits
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array, LinkInertia


@dataclass(frozen=True, slots=True, eq=False)
class FrameMotion:
    """Motion of one frame, world axes, position relative to the base origin."""

    R_WF: Array  # orientation of the frame, shape (3, 3)
    p_BF_W: Array  # position of its origin relative to the base origin, world axes [m], shape (3,)
    velocity: Array  # linear and angular velocity [m/s, rad/s], shape (6,)
    jacobian: Array  # J with velocity = J v, shape (6, nv)
    drift: Array  # J'v, the acceleration at a = 0, shape (6,)


@dataclass(frozen=True, slots=True, eq=False)
class MotionRows:
    """Coordinates of motions, one below the other, with velocity = J v and acceleration = J a + J'v."""

    jacobian: Array  # J, shape (r, nv)
    velocity: Array  # J v [m/s or rad/s], shape (r,)
    drift: Array  # J'v [m/s^2 or rad/s^2], shape (r,)


@dataclass(frozen=True, slots=True, eq=False)
class BaseMotion:
    """Orientation and twist of the base; its position does not matter."""

    quaternion_xyzw: Array  # orientation of the base in the world, shape (4,)
    v_WB_B: Array  # velocity of the base origin, base frame [m/s], shape (3,)
    w_WB_B: Array  # angular velocity of the base, base frame [rad/s], shape (3,)


@dataclass(frozen=True, slots=True, eq=False)
class DynamicsState:
    """Dynamics and kinematics of the robot at one instant, as the controller uses them."""

    q: Array  # joint positions [rad], shape (n_joints,)
    v: Array  # velocities (base linear and angular in the base frame, joints), shape (nv,)
    M: Array  # mass matrix, shape (nv, nv)
    h: Array  # Coriolis, centrifugal and gravity forces, and errors of the joint torques, shape (nv,)
    frames: tuple[FrameMotion, ...]  # motion of the requested frames, in their order
    base: FrameMotion  # the frame of the base; the world for a fixed base
    com: Array  # centre of mass relative to the base origin, world axes [m], shape (3,)
    com_motion: MotionRows  # its motion, three rows
    mass: float  # total mass of the model [kg]


class WholeBodyDynamics:
    """Computes a `DynamicsState` from joints and base motion.

    Attributes:
        robot: The robot as described; its inertias stay nominal.
        limits: Limits of its joints in the URDF.
    """

    def __init__(self, robot: RobotModel, frames: Sequence[str], *, armature: Array | float = 0.0) -> None:
        """Copy the model and find the frames.

        Args:
            robot: The robot.
            frames: Frames whose motion is computed.
            armature: Rotor inertia seen at the joints, shape (n_joints,) or one for all [kg m^2].

        Raises:
            ModelError: If a frame does not exist.
        """
        self.robot, self.limits = robot, urdf_limits(robot)
        self._model = robot.model.copy()
        rotors = np.zeros(self._model.nv)
        rotors[robot.n_base :] = armature
        self._model.armature = rotors
        self._data = self._model.createData()
        self._frame_ids = [robot.frame_id(name) for name in (*frames, robot.base_link)]
        self._no_acceleration = np.zeros(self._model.nv)
        self._mass = robot.total_mass
        self._torque_errors: Array = np.zeros(self._model.nv)

    @property
    def nv(self) -> int:
        """Number of velocity coordinates, base included."""
        return int(self._model.nv)

    def set_inertias(self, inertias: Mapping[str, LinkInertia]) -> None:
        """Replace the inertias of bodies; those not named keep theirs.

        Args:
            inertias: By link: inertia of the whole body the link belongs to, in the link's frame. They
                are taken as given: the intake has checked them.

        Raises:
            ModelError: If a link does not exist.
        """
        model = self._model
        for link, inertia in inertias.items():
            body = self.robot.link_body(link)
            moved = body.T_JL.act(pin.Inertia(float(inertia.mass), inertia.com_L, inertia.inertia_Lcm))
            model.inertias[body.joint_id] = moved
        self._mass = float(sum(one.mass for one in model.inertias))

    def set_torque_errors(self, errors: Array) -> None:
        """Add constants to the forces that a motion takes: a row needs what its model says and this.

        Args:
            errors: Generalised force as read less that of the model [N, Nm], shape (nv,).
        """
        self._torque_errors = errors

    def reset_inertias(self) -> None:
        """Return to the inertias of the URDF."""
        for j, inertia in enumerate(self.robot.model.inertias):
            self._model.inertias[j] = inertia
        self._mass = self.robot.total_mass

    def compute(self, base: BaseMotion | None, q: Array, v: Array) -> DynamicsState:
        """Compute all terms.

        Args:
            base: Motion of a floating base; None for a fixed one.
            q: Joint positions in the model's order [rad], shape (n_joints,).
            v: Joint velocities [rad/s], shape (n_joints,).
        """
        model, data = self._model, self._data
        configuration, velocity = self.robot.configuration(q), v
        if base is not None:
            configuration[3:7] = base.quaternion_xyzw
            velocity = np.concatenate((base.v_WB_B, base.w_WB_B, v))
        h = pin.nonLinearEffects(model, data, configuration, velocity)  # a copy, as those below
        h += self._torque_errors
        M = pin.crba(model, data, configuration)
        pin.centerOfMass(model, data, configuration, velocity, self._no_acceleration, False)
        pin.computeJointJacobians(model, data)  # of the kinematics just computed
        pin.jacobianCenterOfMass(model, data, False)
        com = MotionRows(data.Jcom.copy(), data.vcom[0].copy(), data.acom[0].copy())
        *frames, base_frame = map(self._motion, self._frame_ids)
        return DynamicsState(
            q, velocity, M, h, tuple(frames), base_frame, data.com[0].copy(), com, self._mass
        )

    def _motion(self, frame: int) -> FrameMotion:
        """Return the motion of a frame."""
        model, data, axes = self._model, self._data, pin.LOCAL_WORLD_ALIGNED
        pose = pin.updateFramePlacement(model, data, frame)
        return FrameMotion(
            pose.rotation.copy(),
            pose.translation.copy(),
            pin.getFrameVelocity(model, data, frame, axes).vector.copy(),
            pin.getFrameJacobian(model, data, frame, axes),
            pin.getFrameClassicalAcceleration(model, data, frame, axes).vector.copy(),
        )

    def at_rest(self, q: Array) -> DynamicsState:
        """Compute all terms at rest, a floating base upright.

        Args:
            q: Joint positions in the model's order [rad], shape (n_joints,).
        """
        base = None
        if self.robot.floating_base:
            base = BaseMotion(np.array([0.0, 0.0, 0.0, 1.0]), np.zeros(3), np.zeros(3))
        return self.compute(base, q, np.zeros_like(q))
