"""Inputs of the controller that change from one state to the next by more than they can."""

import math
from collections.abc import Sequence

import numpy as np

from inertial_estimation.inputs.joint_motion import LARGEST_ACCELERATION
from inertial_estimation.inputs.possible import REPORTED_NS
from inertial_estimation.models.whole_body_dynamics import BaseMotion
from inertial_estimation.signals import NANOSECONDS, Array, JointSample

LEAST_JUMP = 0.02  # of a position beyond its largest speed, several counts of a coarse encoder [rad]
JOINTS, BASE = "joint_states", "base_state"


class InputJumps:
    """Keeps the first jump of each input in the last seconds, to name the input when a computation fails.

    A joint, or the base along or about an axis, is not accelerated by more than `LARGEST_ACCELERATION`, and
    does not move faster than its largest speed. A state after a jump may be plausible and its tasks solvable,
    and those after it not; a later jump may be the way back.
    """

    def __init__(self, names: Sequence[str], speed: Array, base_rate: float) -> None:
        """Begin without a state.

        Args:
            names: Names of the joints.
            speed: Largest plausible speed of each [rad/s], shape (n_joints,).
            base_rate: Largest plausible angular rate of the base [rad/s].
        """
        self._names, self._speed, self._base_rate = names, speed, base_rate
        self.reset()

    def reset(self) -> None:
        """Begin without a state."""
        self._first: dict[str, tuple[int, str]] = {}  # stamp [ns] and text of the jump of an input
        self._before: tuple[BaseMotion | None, JointSample] | None = None

    @property
    def text(self) -> str:
        """The jumps, for people; empty: there were none."""
        return "; ".join(f"{name}: the {what}" for name, (_stamp_ns, what) in self._first.items())

    def update(self, base: BaseMotion | None, joints: JointSample) -> None:
        """Take the next state.

        Args:
            base: Motion of a floating base; None for a fixed one.
            joints: Joint state in the model's order.
        """
        before, self._before = self._before, (base, joints)
        stamp_ns = joints.stamp_ns
        if self._first:
            kept = {name: jump for name, jump in self._first.items() if stamp_ns - jump[0] <= REPORTED_NS}
            self._first = kept
        if before is None:
            return
        base_before, joints_before = before
        h = (stamp_ns - joints_before.stamp_ns) / NANOSECONDS
        if JOINTS not in self._first:
            self._compare_joints(joints_before, joints, h)
        if base is not None and base_before is not None and BASE not in self._first:
            self._compare_bases(base_before, base, h, stamp_ns)

    def _compare_joints(self, before: JointSample, now: JointSample, h: float) -> None:
        changes, travel = now.v - before.v, now.q - before.q
        i, j = int(np.abs(changes).argmax()), int((np.abs(travel) - h * self._speed).argmax())
        v, q = float(changes[i]), float(travel[j])
        if abs(v) > LARGEST_ACCELERATION * h:
            what = f"velocity of '{self._names[i]}' changed by {v:.3g} rad/s in {h:.3g} s"
        elif abs(q) > self._speed[j] * h + LEAST_JUMP:
            what = f"position of '{self._names[j]}' changed by {q:.3g} rad in {h:.3g} s"
        else:
            return
        self._first[JOINTS] = now.stamp_ns, what

    def _compare_bases(self, before: BaseMotion, now: BaseMotion, h: float, stamp_ns: int) -> None:
        v, w = math.dist(now.v_WB_B, before.v_WB_B), math.dist(now.w_WB_B, before.w_WB_B)
        cosine = abs(float(now.quaternion_xyzw @ before.quaternion_xyzw))  # q and -q are the same rotation
        turned = 2.0 * math.acos(min(1.0, cosine))
        if w > LARGEST_ACCELERATION * h:
            what = f"angular velocity of the base changed by {w:.3g} rad/s in {h:.3g} s"
        elif v > LARGEST_ACCELERATION * h:
            what = f"velocity of the base changed by {v:.3g} m/s in {h:.3g} s"
        elif turned > self._base_rate * h + LEAST_JUMP:
            what = f"orientation of the base changed by {turned:.3g} rad in {h:.3g} s"
        else:
            return
        self._first[BASE] = stamp_ns, what
