"""Smooth references of base and joints that converge to the requested ones."""

import numpy as np

from inertial_estimation.control.controller_config import ReferenceConfig
from inertial_estimation.control.smooth_reference import SmoothReference
from inertial_estimation.signals import Array, BaseReference

HEIGHT_TOLERANCE = 0.05  # of the height of a robot in its home posture, on a slope perhaps [m]


class ReferenceTracker:
    """Smooth references: height, roll and pitch of the base, positions of the joints.

    They start where the robot is, so that nothing jumps when the controller takes over; the joints go to
    the home posture and the base upright from there, unless asked otherwise.

    Attributes:
        started: Whether a start has been given.
        home_height: Height of the base above the support in the home posture [m].
    """

    def __init__(self, config: ReferenceConfig, home: Array, home_height: float) -> None:
        """Begin without a request.

        Args:
            config: How fast references may move.
            home: Joint positions of the home posture [rad], shape (n_joints,).
            home_height: Height of the base above the support in the home posture [m].
        """
        self._config = config
        self._home = home
        self.home_height = home_height
        self.reset()

    def reset(self) -> None:
        """Discard all requests."""
        self.started = False
        self._base: BaseReference | None = None
        self._first_height: float | None = None
        self._joint_target = self._home.copy()
        self._joint_target_rate = np.zeros_like(self._home)

    def restart(self, q: Array, height: float, roll: float, pitch: float) -> None:
        """Let the references start from where the robot is; what was asked stays asked.

        Unless a height is asked for, it stays that of the first start; where that was not the home posture
        (a robot found crouched or stretched), it is the height of the home posture.

        Args:
            q: Joint positions [rad], shape (n_joints,).
            height: Height of the base above the support [m].
            roll: Roll of the base [rad].
            pitch: Pitch of the base [rad].
        """
        c = self._config
        self.joints = SmoothReference(q, c.joint_rate, c.joint_acceleration)
        self.height = SmoothReference(np.array([height]), c.height_rate, c.height_acceleration)
        self.tilt = SmoothReference(np.array([roll, pitch]), c.angle_rate, c.angle_acceleration)
        self.tilt.set_target(np.zeros(2))
        if self._first_height is None:
            at_home = abs(height - self.home_height) <= HEIGHT_TOLERANCE
            self._first_height = height if at_home else self.home_height
        self.height.set_target(np.array([self._first_height]))
        self._set_targets()
        self.started = True

    def set_base(self, reference: BaseReference) -> None:
        """Set the target of the base."""
        self._base = reference
        if self.started:
            self._set_targets()

    def set_joints(self, indices: Array, positions: Array, rates: Array | None) -> None:
        """Set the targets of some joints.

        Args:
            indices: Their places in the model's order, shape (k,).
            positions: Shape (k,) [rad].
            rates: Rates of the targets, shape (k,) [rad/s]; None: zero.
        """
        self._joint_target[indices] = positions
        self._joint_target_rate[indices] = 0.0 if rates is None else rates
        if self.started:
            self._set_targets()

    def step(self, h: float) -> None:
        """Advance by a time step [s]."""
        for reference in (self.joints, self.height, self.tilt):
            reference.step(h)

    def _set_targets(self) -> None:
        self.joints.set_target(self._joint_target, self._joint_target_rate)
        base = self._base
        if base is not None:
            self.height.set_target(np.array([base.height]), np.array([base.height_rate]))
            self.tilt.set_target(
                np.array([base.roll, base.pitch]), np.array([base.roll_rate, base.pitch_rate])
            )
