"""Which contacts are closed, from joint torques alone: no force sensor, no acceleration.

The momentum observer gives the torques of the environment, those of a limb the force at its contact, and a
Schmitt trigger on its vertical part whether the contact is closed. The delay is that of the observer, 1/K,
and of the force's rise to the threshold. All else that the torques contain (friction of the drives, errors of
the model, the acceleration of a base that is taken for fixed) counts as a force: the threshold has to be
above it, and known friction is to be subtracted before.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.models.contact_force import ContactForces
from inertial_estimation.models.contacts import trigger
from inertial_estimation.models.momentum_observer import BaseFrameMotion, MomentumObserver
from inertial_estimation.models.robot_config import ContactFrames
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array


@dataclass(frozen=True, slots=True, eq=False)
class DetectedContact:
    """One contact at one time.

    Attributes:
        force_B: Force of the environment, axes of the base [N], shape (3,).
        vertical_force: Its vertical part [N]; NaN where the torques do not determine it (a stretched limb).
        closed: Whether the contact is closed; as before where the vertical force is not determined.
    """

    force_B: Array
    vertical_force: float
    closed: bool


class ContactDetector:
    """Detects the contacts of a robot's limbs with the ground."""

    def __init__(
        self,
        robot: RobotModel,
        frames: Sequence[str],
        *,
        force_on: float,
        force_off: float,
        gain: float = 100.0,
        armature: Array | None = None,
    ) -> None:
        """Prepare observer, limbs and triggers.

        Args:
            robot: The robot.
            frames: Frame of each point contact, on limbs that share no joint.
            force_on: Vertical force above which a contact closes [N].
            force_off: Vertical force below which it opens [N]; at most `force_on`.
            gain: That of the momentum observer [1/s].
            armature: Rotor inertia seen at each joint [kg m^2], shape (n_joints,); None: zero.

        Raises:
            ConfigurationError: If the thresholds are not 0 < force_off <= force_on, or observer or limbs
                cannot be made.
            ~inertial_estimation.errors.ModelError: If a frame does not exist.
        """
        if not 0.0 < force_off <= force_on < np.inf:
            raise ConfigurationError(
                f"force_on is {force_on:g} N, force_off {force_off:g} N, expected 0 < force_off <= force_on"
            )
        self._observer = MomentumObserver(robot, gain=gain, armature=armature)
        self._forces = ContactForces(robot, [ContactFrames(frame, frame, frame) for frame in frames])
        self._on, self._off = force_on, force_off
        self._closed = [False] * len(frames)
        self._thresholds = [force_on] * len(frames)

    def reset(self) -> None:
        """Begin anew, with all contacts open."""
        self._observer.reset()
        self._closed = [False] * len(self._closed)

    def update(
        self,
        q: Array,
        v: Array,
        tau: Array,
        dt: float,
        up_B: Array,
        base: BaseFrameMotion | None = None,
    ) -> list[DetectedContact]:
        """Take the readings at the end of one step.

        Args:
            q: Joint positions in the model's order [rad], shape (n_joints,).
            v: Joint velocities [rad/s], shape (n_joints,).
            tau: Torques that act on the bodies: measured ones less friction [Nm], shape (n_joints,).
            dt: Time since the last update [s]; of the first update it is not used.
            up_B: Vertical unit vector, axes of the base, shape (3,).
            base: Motion of a floating base; None for a fixed one.

        Returns:
            The contacts, in the order of the frames.

        Raises:
            ~inertial_estimation.errors.MeasurementError: If a value does not fit (`MomentumObserver.update`).
        """
        residual = self._observer.update(q, v, tau, dt, base)
        forces = self._forces.estimate(q, residual)
        forces_B = np.einsum("nij,nj->ni", forces.R_BF, forces.wrenches_F[:, :3])
        found = []
        for i, vertical in enumerate(forces.along(up_B).tolist()):
            if not math.isnan(vertical):
                _weight, self._closed[i], self._thresholds[i] = trigger(
                    vertical, self._on, self._off, self._closed[i], self._thresholds[i]
                )
            found.append(DetectedContact(forces_B[i], vertical, self._closed[i]))
        return found
