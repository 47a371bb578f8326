"""Joint positions against the velocities of the same joint states: jumps, and readings that are frozen."""

import numpy as np

from inertial_estimation.inputs.config import InputConfig
from inertial_estimation.inputs.possible import DropReason, Fault
from inertial_estimation.signals import NANOSECONDS, Array, seconds

JUMP = 0.1  # least jump of a position for which a joint state is dropped [rad or m]
JUMP_LAG = 0.05  # by which a position and its velocity may be apart [s]
RETURN_LAG = 0.1  # the same over the time since a jump, when a position is back [s]
LARGEST_ACCELERATION = 200.0  # of a joint between two joint states [rad/s^2 or m/s^2]
HELD_S = 0.8  # for which joint states are refused after a jump, and no longer than they were right before
QUICK, MANY_RETURNS = 3, 5  # joint states after which a position is back, and how often, of two publishers
STILL_TRAVEL = 0.02  # that frozen positions lag behind their velocity [rad or m]
USUAL_RUNS, SHARE = (
    3.0,
    0.1,
)  # times the usual repetition, from which they are frozen; of a new one in the usual


class JointChecks:
    """Refuses joint states that contradict those before: |dq - h v| <= d + t |v| + a h^2 / 2 for each joint.

    After a jump (two joints exchanged, an encoder that slips) joint states are refused until the positions are back
    where their velocities may have brought them; after `HELD_S` they are believed, since the data do not tell which
    position is right, and `remark` says so. Readings that repeat exactly although their velocities are not zero are
    refused, too.

    Attributes:
        remark: What is odd about positions although they are used, for people; empty where nothing is.
    """

    def __init__(self, names: tuple[str, ...], config: InputConfig) -> None:
        """Begin without a joint state of the joints of these names."""
        self._names, self._gap_ns = names, round(NANOSECONDS * config.max_gap)
        self._q, self._v = np.zeros(len(names)), np.zeros(len(names))  # of the last one that was right
        self.reset()

    def reset(self) -> None:
        """Forget all joint states."""
        self._time_ns: int | None = None  # of the last one that was right
        self._right_ns = self._jump_ns = 0  # since when they are right; of the last one that was not, 0: none
        self._refused = self._returns = 0  # joint states since the last jump; quick returns
        self._run = self._usual_run = 0.0  # time for which they repeat, and usually repeat [s]
        self.remark = ""

    def fault(self, time_ns: int, q: Array, v: Array) -> Fault | None:
        """Take a joint state; return why it must not be used.

        Args:
            time_ns: Its time [ns].
            q: Positions [rad or m], angles without whole turns, shape (m,).
            v: Velocities, NaN where they are not measured [rad/s or m/s], shape (m,).
        """
        fault = None
        if self._time_ns is None or not 0 < time_ns - (self._jump_ns or self._time_ns) <= self._gap_ns:
            self._right_ns = time_ns
        elif self._jump_ns:
            fault = self._still_away(time_ns, seconds(time_ns - self._time_ns), q - self._q, np.nan_to_num(v))
        else:
            h, change = seconds(time_ns - self._time_ns), q - self._q
            off = np.abs(change - h * self._v) - JUMP_LAG * np.abs(self._v)
            if off.max(initial=0.0) > JUMP + 0.5 * LARGEST_ACCELERATION * h * h:
                self._refused, fault = 0, self._jump(change)
            elif self._frozen(h, change, v):
                fastest = int(np.abs(v).argmax())
                what = f"position of {self._names[fastest]} is frozen at a velocity of {v[fastest]:.3g} rad/s"
                return DropReason.CONTRADICTION, what
        if fault is not None:
            self._jump_ns, self._refused = time_ns, self._refused + 1
            return fault
        self._time_ns, self._jump_ns = time_ns, 0
        self._q[:], self._v[:] = q, v
        return None

    def follow(self, v: Array) -> None:
        """Take the velocities that are used with the last joint state [rad/s or m/s], shape (m,)."""
        self._v[:] = v

    def _still_away(self, time_ns: int, age: float, change: Array, v: Array) -> Fault | None:
        """Return the fault of a joint state after a jump, some time after the last right one [s].

        There is none where it is back, or is believed.
        """
        reach = JUMP + RETURN_LAG * (np.abs(self._v) + np.abs(v))
        fault = self._jump(change)
        if (np.abs(change - 0.5 * age * (self._v + v)) < reach).all():
            self._returns += self._refused <= QUICK
            if self._returns >= MANY_RETURNS:
                self.remark = f"{fault[1]} or less and back, again and again: do two publishers send it?"
            return None
        if self._time_ns is not None and age > min(HELD_S, seconds(self._time_ns - self._right_ns)):
            self.remark = f"{fault[1]} and is not back; call ~/reset if it is right"
            self._right_ns = time_ns
            return None
        return fault

    def _jump(self, change: Array) -> Fault:
        worst = int(np.abs(change).argmax())
        return DropReason.CONTRADICTION, f"position of {self._names[worst]} jumped by {change[worst]:.3g} rad"

    def _frozen(self, h: float, change: Array, v: Array) -> bool:
        """Return whether a joint state repeats the one before although it says that joints move."""
        if change.any() or (v != self._v).any():
            if self._run:
                self._usual_run += SHARE * (self._run - self._usual_run)
                self._run = 0.0
            return False
        self._run += h
        travel = self._run * float(np.abs(v).max(initial=0.0))
        return travel >= STILL_TRAVEL and self._run >= USUAL_RUNS * self._usual_run
