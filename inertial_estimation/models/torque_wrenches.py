"""Wrenches at the contacts of a robot without force sensors, from joint torques and the IMU.

The momentum observer gives the torques of the environment, those of a limb the wrench at its contact. What
is used: positions, velocities and torques of the joints between base and contacts, specific force and angular
rate of the IMU, the inertias of the limbs. What is not: tilt, velocity and acceleration of the base, angular
acceleration, the inertia of the trunk and of what it carries.
"""

import numpy as np

from inertial_estimation.compilation import numbers
from inertial_estimation.models.contact_force import ContactForces
from inertial_estimation.models.contact_kinematics import locked_robot, supporting_joints
from inertial_estimation.models.contact_motions import KinematicState
from inertial_estimation.models.friction import FrictionTerms, friction_model
from inertial_estimation.models.momentum_observer import BaseFrameMotion, MomentumObserver
from inertial_estimation.models.robot_config import RobotConfig, RobotSetup
from inertial_estimation.signals import Array
from inertial_estimation.spatial.vectors import Vector, add, combine, cross, times


class TorqueWrenches:
    """Estimates the wrench at each contact, step by step."""

    def __init__(self, setup: RobotSetup, config: RobotConfig, gain: float) -> None:
        """Prepare the model of the limbs.

        Args:
            setup: Robot and contacts.
            config: Its parameters, for the friction of its joints that is known.
            gain: That of the momentum observer [1/s].

        Raises:
            ~inertial_estimation.errors.ConfigurationError: If the force at a contact does not follow from
                joint torques.
        """
        robot = setup.robot
        carrying = supporting_joints(robot, [contact.frame for contact in setup.contacts])
        limbs = locked_robot(robot, [name for name in robot.joint_names if name not in carrying])
        self._joints = np.array([robot.joint_index(name) for name in limbs.joint_names], dtype=int)
        self._friction = friction_model(FrictionTerms(), robot, config.nominal_friction)[1]
        armature = np.zeros(robot.n_joints)
        if self._friction is not None:
            armature = armature + self._friction.values["armature"]
        self._observer = MomentumObserver(limbs, gain=gain, armature=armature[self._joints])
        self._forces = ContactForces(limbs, setup.contacts)
        self._max_gap = config.inputs.max_gap
        self._wrenches = np.zeros((len(setup.contacts), 6))

    def reset(self) -> None:
        """Begin anew: the next update takes the motion for steady."""
        self._observer.reset()
        self._wrenches = np.zeros_like(self._wrenches)

    def update(
        self,
        h: float,
        state: KinematicState | None,
        imu: tuple[Vector, Vector],
        joints: tuple[tuple[Array, Array] | None, Array | None],
        up_I: Vector,
    ) -> Array | None:
        """Take the readings at the end of one step.

        Args:
            h: Time since the last step [s].
            state: Kinematics of the IMU at these positions; None where they are missing.
            imu: Specific force [m/s^2] and angular velocity [rad/s] of the IMU, its frame.
            joints: Positions [rad] and velocities [rad/s], and torques [Nm], in the model's order, shape
                (n_joints,) each; None where missing.
            up_I: The vertical in the IMU frame.

        Returns:
            Force then moment about the origin of each wrench frame, in its axes [N, Nm], as
            `compilation.numbers` of shape (n, 6); None where joints or torques are missing. A contact whose
            vertical force the torques do not determine (a stretched limb) keeps its wrench.
        """
        motion, tau = joints
        if motion is None or tau is None or state is None:
            return None
        q, v = motion
        if self._friction is not None:
            tau = tau - self._friction.torques(q, v, np.zeros_like(v), load=tau)
        if h > self._max_gap:
            self._observer.reset()
        j, base = self._joints, _base_motion(state, *imu)
        residual = self._observer.update(q[j], v[j], tau[j], h, base)
        forces = self._forces.estimate(q[j], residual)
        known = np.isfinite(forces.along(np.array(times(state.R_BI, up_I))))
        self._wrenches = np.where(known[:, None], forces.wrenches_F, self._wrenches)
        return numbers(self._wrenches)


def _base_motion(state: KinematicState, f_I: Vector, w_I: Vector) -> BaseFrameMotion:
    """Return the motion of the base by the IMU, which may move relative to it."""
    R_BI, w_BI = state.R_BI, state.w_BI_B
    w_B = combine(times(R_BI, w_I), -1.0, w_BI)
    v = add(state.v_BI_B, cross(w_B, state.p_BI))
    return BaseFrameMotion(np.array(times(R_BI, f_I)), np.array(w_B), -np.array(v))
