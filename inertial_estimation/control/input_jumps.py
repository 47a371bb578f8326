"""Inputs of the controller that change from one state to the next by more than they can."""

import math
from collections.abc import Sequence

from inertial_estimation.compilation import Column, compiled, warm_up
from inertial_estimation.models.drop_reasons import REPORTED_NS
from inertial_estimation.models.joint_checks import LARGEST_ACCELERATION
from inertial_estimation.models.whole_body_dynamics import BaseMotion
from inertial_estimation.signals import NANOSECONDS, Array, JointSample

LEAST_JUMP = 0.02  # of a position beyond its largest speed, several counts of a coarse encoder [rad]
JOINTS, TWIST, ORIENTATION = "joint_states", "base_state", "base_orientation"


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
        warm_up()
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
        if base is not None and base_before is not None:
            self._compare_bases(base_before, base, h, stamp_ns)

    def _compare_joints(self, before: JointSample, now: JointSample, h: float) -> None:
        i, j = largest_changes(now.q, now.v, before.q, before.v, self._speed, h)
        v, q = float(now.v[i]) - float(before.v[i]), float(now.q[j]) - float(before.q[j])
        if abs(v) > LARGEST_ACCELERATION * h:
            what = f"velocity of '{self._names[i]}' changed by {v:.3g} rad/s in {h:.3g} s"
        elif abs(q) > self._speed[j] * h + LEAST_JUMP:
            what = f"position of '{self._names[j]}' changed by {q:.3g} rad in {h:.3g} s"
        else:
            return
        self._first[JOINTS] = now.stamp_ns, what

    def _compare_bases(self, before: BaseMotion, now: BaseMotion, h: float, stamp_ns: int) -> None:
        v, w, turned = base_changes(
            *(now.quaternion_xyzw, now.v_WB_B, now.w_WB_B),
            *(before.quaternion_xyzw, before.v_WB_B, before.w_WB_B),
        )
        if w > LARGEST_ACCELERATION * h:
            what = f"angular velocity of the base changed by {w:.3g} rad/s in {h:.3g} s"
            self._first.setdefault(TWIST, (stamp_ns, what))
        elif v > LARGEST_ACCELERATION * h:
            what = f"velocity of the base changed by {v:.3g} m/s in {h:.3g} s"
            self._first.setdefault(TWIST, (stamp_ns, what))
        if turned > self._base_rate * h + LEAST_JUMP:
            what = f"orientation of the base changed by {turned:.3g} rad in {h:.3g} s"
            self._first.setdefault(ORIENTATION, (stamp_ns, what))


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
        change = abs(float(v[k]) - float(v_before[k]))
        travel = abs(float(q[k]) - float(q_before[k])) - float(speed[k]) * h
        if fastest == fastest and (change > fastest or math.isnan(change)):
            i, fastest = k, change
        if farthest == farthest and (travel > farthest or math.isnan(travel)):
            j, farthest = k, travel
    return i, j


@compiled
def base_changes(
    x: Column, v: Column, w: Column, x_before: Column, v_before: Column, w_before: Column
) -> tuple[float, float, float]:
    """Return by how much the motion of the base has changed.

    The angle theta between two unit quaternions, of which x and -x are the same rotation, follows from their
    distance |x -+ x_before| = 2 sin(theta / 4).

    Args:
        x: Orientation now, a quaternion, shape (4,).
        v: Velocity now, base frame [m/s], shape (3,).
        w: Angular velocity now, base frame [rad/s], shape (3,).
        x_before: Orientation before.
        v_before: Velocity before.
        w_before: Angular velocity before.

    Returns:
        |v - v_before| [m/s], |w - w_before| [rad/s], angle between the orientations [rad]; NaN, which exceeds
        no limit, of numbers that are.
    """
    moved, turned, same, opposite = 0.0, 0.0, 0.0, 0.0
    for k in range(3):
        dv, dw = float(v[k]) - float(v_before[k]), float(w[k]) - float(w_before[k])
        moved += dv * dv
        turned += dw * dw
    for k in range(4):
        difference, total = float(x[k]) - float(x_before[k]), float(x[k]) + float(x_before[k])
        same += difference * difference
        opposite += total * total
    distance = math.sqrt(same if same <= opposite else opposite)
    angle = 4.0 * math.asin(0.5 * distance) if distance < 2.0 else math.pi * distance
    return math.sqrt(moved), math.sqrt(turned), angle
