"""The gait: standing for now."""

from collections.abc import Sequence

import numpy as np

from inertial_estimation.control.contact_forces import Contact
from inertial_estimation.control.references import WalkCommand
from inertial_estimation.control.support_target import SupportTarget
from inertial_estimation.control.walking.feet import heading, sole_centre
from inertial_estimation.models.whole_body_dynamics import DynamicsState
from inertial_estimation.signals import Array

__all__ = ["Gait"]


class Gait:
    """Decides which feet stand and where the centre of pressure goes."""

    def __init__(self, contacts: Sequence[Contact]) -> None:
        self._contacts = tuple(contacts)
        self._home: list[Array] = []
        self._command: WalkCommand | None = None

    def start(self, state: DynamicsState) -> None:
        """Take the feet as they stand.

        Args:
            state: Dynamics now.
        """
        yaw = float(np.arctan2(state.base.R_WF[1, 0], state.base.R_WF[0, 0]))
        R = np.array([[np.cos(yaw), np.sin(yaw)], [-np.sin(yaw), np.cos(yaw)]])
        self._home = [R @ motion.p_BF_W[:2] for motion in state.frames]

    def target(self, state: DynamicsState, omega: float, h: float) -> SupportTarget:
        """Return what is wanted of the feet now.

        Args:
            state: Dynamics now.
            omega: Frequency of the pendulum [1/s].
            h: Time since the last call [s].
        """
        centres = [sole_centre(c, m) for c, m in zip(self._contacts, state.frames, strict=True)]
        middle = np.mean(centres, axis=0)
        yaw = heading(self._contacts, state.frames, self._home)
        n = len(self._contacts)
        return SupportTarget("standing", (1.0,) * n, middle[:2], middle[:2], float(middle[2]), yaw)

    def command(self, command: WalkCommand) -> None:
        """Take steps to walk."""
        self._command = command
