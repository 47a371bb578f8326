"""Forces at the contacts of a robot without force sensors, from joint torques and the IMU.

The momentum observer gives the torques of the environment, those of a limb the force at its contact. Neither
tilt nor velocity nor acceleration of the base enters, nor the inertia of the trunk and of what it carries.
"""

import numpy as np

from inertial_estimation.models.contact_force import ContactForces
from inertial_estimation.models.contact_kinematics import ContactView, locked_robot, supporting_joints
from inertial_estimation.models.friction import FrictionTerms, friction_model
from inertial_estimation.models.momentum_observer import BaseFrameMotion, MomentumObserver
from inertial_estimation.models.robot_config import RobotConfig, RobotSetup
from inertial_estimation.signals import Array
from inertial_estimation.spatial.rotations import skew


class TorqueForces:
    """Estimates the force at each contact, joint state by joint state."""

    def __init__(self, setup: RobotSetup, config: RobotConfig, gain: float) -> None:
        """Prepare the model of the limbs.

        Args:
            setup: Robot and contacts.
            config: Its parameters, for the friction of its joints that is known.
            gain: Of the momentum observer [1/s].

        Raises:
            ~inertial_estimation.errors.ConfigurationError: If the force at a contact does not follow from
            torques.
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
        self._longest = config.inputs.max_gap
        self._known = np.zeros(len(setup.contacts))

    def reset(self) -> None:
        """Begin anew: the next joint state is taken for one of a steady motion."""
        self._observer.reset()
        self._known[:] = 0.0

    def update(
        self, h: float, view: ContactView, reading: Array, joints: tuple[Array, Array, Array], up_I: Array
    ) -> Array:
        """Return the vertical force at each contact [N], shape (n,).

        A contact whose vertical force the torques do not determine (a stretched limb) keeps its force.

        Args:
            h: Time since the last joint state [s].
            view: Kinematics at this one.
            reading: Specific force and angular rate of the IMU [m/s^2, rad/s], shape (6,).
            joints: Positions [rad], velocities [rad/s], torques [Nm] in the model's order, shape (n_joints,)
                each.
            up_I: The vertical in the IMU frame, shape (3,).
        """
        q, v, tau = joints
        if self._friction is not None:
            tau = tau - self._friction.torques(q, v, np.zeros_like(v), load=tau)
        if h > self._longest:
            self._observer.reset()
        w_B = view.R_BI @ reading[3:]
        motion = BaseFrameMotion(view.R_BI @ reading[:3], w_B, skew(view.p_BI) @ w_B)
        j = self._joints
        forces = self._forces.estimate(q[j], self._observer.update(q[j], v[j], tau[j], h, motion))
        vertical = forces.along(view.R_BI @ up_I)
        self._known = np.where(np.isfinite(vertical), vertical, self._known)
        return self._known
