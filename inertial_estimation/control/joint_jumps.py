"""Joints that change from one state to the next by more than they can."""

from collections.abc import Sequence

import numpy as np

from inertial_estimation.models.drop_reasons import REPORTED_NS
from inertial_estimation.models.position_jump import LARGEST_ACCELERATION
from inertial_estimation.signals import NANOSECONDS, Array, JointSample

__all__ = ["JointJumps"]

LEAST_JUMP = 0.02  # of a position beyond its largest speed, several counts of a coarse encoder [rad]


class JointJumps:
    """Keeps the first jump of the last seconds, to name the input when a computation fails.

    A state after a jump may be plausible and its tasks solvable, and those after it not; a later jump may be
    the way back.

    Attributes:
        text: The jump, for people; empty: there was none.
    """

    def __init__(self, names: Sequence[str], speed: Array) -> None:
        """Begin without a state.

        Args:
            names: Names of the joints.
            speed: Largest plausible speed of each [rad/s], shape (n_joints,).
        """
        self._names, self._speed = names, speed
        self.reset()

    def reset(self) -> None:
        """Begin without a state."""
        self.text = ""
        self._stamp_ns = 0
        self._before: JointSample | None = None

    def update(self, joints: JointSample) -> None:
        """Take the next state."""
        before, self._before = self._before, joints
        if self.text and joints.stamp_ns - self._stamp_ns > REPORTED_NS:
            self.text = ""
        if before is None or self.text:
            return
        h = (joints.stamp_ns - before.stamp_ns) / NANOSECONDS
        with np.errstate(over="ignore"):  # numbers of any size arrive here
            v, q = joints.v - before.v, joints.q - before.q
        i, j = int(np.argmax(np.abs(v))), int(np.argmax(np.abs(q) - self._speed * h))
        if abs(v[i]) > LARGEST_ACCELERATION * h:
            what = f"velocity of '{self._names[i]}' changed by {v[i]:.3g} rad/s"
        elif abs(q[j]) > self._speed[j] * h + LEAST_JUMP:
            what = f"position of '{self._names[j]}' changed by {q[j]:.3g} rad"
        else:
            return
        self.text, self._stamp_ns = f"joint_states: the {what} in {h:.3g} s", joints.stamp_ns
