"""The contacts at a step: where joints put them, and what they carry."""

from collections.abc import Mapping

from inertial_estimation.inputs.alignment import AlignedSample
from inertial_estimation.inputs.contacts import ContactSource
from inertial_estimation.inputs.robot_inputs import RobotInputs
from inertial_estimation.models.contact_kinematics import ContactView
from inertial_estimation.models.robot_config import RobotSetup
from inertial_estimation.signals import Array
from inertial_estimation.tilt.config import TiltPipelineConfig
from inertial_estimation.tilt.contact_shares import ContactShares
from inertial_estimation.tilt.contact_velocity import Feet
from inertial_estimation.tilt.torque_forces import TorqueForces

Joints = tuple[Array, Array, Array | None]


class FeetSensing:
    """Kinematics and forces of the contacts.

    Attributes:
        view: Kinematics of the contacts, at the last joint positions that were needed.
        shares: Which contacts carry the robot.
        seen: Whether joint positions have been taken.
        without_contact_s: Time for which no contact has carried the robot [s].
    """

    def __init__(
        self, config: TiltPipelineConfig, setup: RobotSetup, sources: Mapping[str, ContactSource]
    ) -> None:
        """Build the parts.

        Args:
            config: All parameters.
            setup: The robot, its contacts and its IMU.
            sources: Where each contact's force comes from.

        Raises:
            ~inertial_estimation.errors.ConfigurationError: If a force does not follow from joint torques.
        """
        self.view = ContactView(setup)
        self.shares = ContactShares(setup, sources, config.robot.inputs.timeout)
        gain = config.contact.observer_gain
        self._torques = TorqueForces(setup, config.robot, gain) if self.shares.by_torques else None
        self.reset()

    def reset(self) -> None:
        """Forget what has been seen."""
        self.shares.reset()
        if self._torques is not None:
            self._torques.reset()
        self.seen, self.without_contact_s, self._since_joints = False, 0.0, 0.0

    def take(
        self,
        sample: AlignedSample,
        h: float,
        joints: Joints | None,
        inputs: RobotInputs,
        up_I: Array,
        *,
        looks: bool,
    ) -> Feet | None:
        """Take the joints and contact sensors of a step of h seconds.

        Args:
            sample: IMU reading and contact sensors, aligned.
            h: Duration of the step [s].
            joints: Positions, velocities and, where needed, torques, in the model's order; None where
                missing.
            inputs: The inputs, for the axes of wrenches.
            up_I: The vertical in the IMU frame, shape (3,).
            looks: Whether the contacts are needed.

        Returns:
            The contacts; None where they are not needed or not known.
        """
        self._since_joints += h
        if joints is None or not self.shares.use.names:
            self.without_contact_s += h
        looks = looks and bool(self.shares.names)
        if joints is None:
            return None
        if not looks and self._torques is None:
            if self.view.imu_moves:
                self.view.update_imu(joints[0])
                self.seen = True
            return None
        q, v, tau = joints
        self.view.update(q)
        self.seen, forces = True, None
        if self._torques is not None and tau is not None:
            forces = self._torques.update(self._since_joints, self.view, sample.driver, (q, v, tau), up_I)
        self._since_joints = 0.0
        self.shares.update(inputs, sample.rows, sample.time_ns, self.view, up_I, forces)
        if self.shares.use.names:
            self.without_contact_s = 0.0
        view, shares = self.view, self.shares.shares
        return Feet(view.points, view.rotations, shares, view.soles) if looks else None
