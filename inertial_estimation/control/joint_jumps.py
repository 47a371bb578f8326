"""Joints that change from one state to the next by more than they can."""

import math
from collections.abc import Sequence

from inertial_estimation.compilation import Column, compiled, warm_up
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
        warm_up()
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
        i, j = largest_changes(joints.q, joints.v, before.q, before.v, self._speed, h)
        v, q = float(joints.v[i]) - float(before.v[i]), float(joints.q[j]) - float(before.q[j])
        if abs(v) > LARGEST_ACCELERATION * h:
            what = f"velocity of '{self._names[i]}' changed by {v:.3g} rad/s"
        elif abs(q) > self._speed[j] * h + LEAST_JUMP:
            what = f"position of '{self._names[j]}' changed by {q:.3g} rad"
        else:
            return
        self.text, self._stamp_ns = f"joint_states: the {what} in {h:.3g} s", joints.stamp_ns


@compiled
def largest_changes(
    q: Column, v: Column, q_before: Column, v_before: Column, speed: Column, h: float
) -> tuple[int, int]:
    """Return the joints whose velocity, and whose position beyond its largest speed, has changed most.

    Args:
        q: Positions now [rad], shape (n,).
        v: Velocities now [rad/s], shape (n,).
        q_before: Positions before.
        v_before: Velocities before.
        speed: Largest plausible speed of each joint [rad/s], shape (n,).
        h: Time between [s].

    Returns:
        Index of the largest |v - v_before|, and of the largest |q - q_before| - speed h; of the first NaN
        where there is one, which exceeds no limit.
    """
    i, j, fastest, farthest = 0, 0, -math.inf, -math.inf
    for k in range(len(q)):
        change, travel = abs(v[k] - v_before[k]), abs(q[k] - q_before[k]) - speed[k] * h
        if fastest == fastest and (change > fastest or math.isnan(change)):
            i, fastest = k, change
        if farthest == farthest and (travel > farthest or math.isnan(travel)):
            j, farthest = k, travel
    return i, j
