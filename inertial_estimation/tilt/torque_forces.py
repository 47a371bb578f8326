"""Forces at the contacts of a robot without force sensors, from joint torques and the IMU.

The momentum observer gives the torques of the environment, those of a limb the force at its contact. Neither
tilt nor velocity nor acceleration of the base enters, nor the inertia of the trunk and of what it carries.
Friction of the joints is neglected: where the forces only show which contacts carry how much of the weight,
it hardly changes the tilt.
"""

import numpy as np

from inertial_estimation.models.contacts import ContactForces, ContactView, MomentumObserver
from inertial_estimation.models.robot_config import RobotSetup
from inertial_estimation.signals import Array

GAIN = 100.0  # of the momentum observer: a force is followed to 63 % within its inverse [1/s]


class TorqueForces:
    """Estimates the force at each contact, joint state by joint state."""

    def __init__(self, setup: RobotSetup, longest: float) -> None:
        """Prepare the model of the limbs.

        Args:
            setup: Robot and contacts.
            longest: Time between joint states beyond which the observer begins anew [s].

        Raises:
            ~inertial_estimation.errors.ConfigurationError: If the force at a contact does not follow from
            torques.
        """
        robot = setup.robot
        self._joints = np.array(robot.joints_to(*(contact.frame for contact in setup.contacts)), dtype=int)
        names = robot.joint_names
        limbs = robot.without([name for j, name in enumerate(names) if j not in self._joints])
        self._observer = MomentumObserver(limbs, gain=GAIN)
        self._forces = ContactForces(limbs, setup.contacts)
        self._longest = longest
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
        if h > self._longest:
            self._observer.reset()
        j, base = self._joints, (view.R_BI @ reading[:3], view.R_BI @ reading[3:], view.p_BI)
        residual = self._observer.update(q[j], v[j], tau[j], h, base)
        vertical = self._forces.along(q[j], residual, view.R_BI @ up_I)
        self._known = np.where(np.isfinite(vertical), vertical, self._known)
        return self._known
