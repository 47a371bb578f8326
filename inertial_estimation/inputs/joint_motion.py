"""Joint positions against velocities: impossible jumps, and velocities that are not measured."""

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.errors import listing
from inertial_estimation.inputs.config import InputConfig
from inertial_estimation.inputs.possible import DropReason, Fault
from inertial_estimation.inputs.stream import Ring
from inertial_estimation.models.differentiation import end_slope_weights
from inertial_estimation.signals import NANOSECONDS, Array, seconds

JUMP = 0.1  # least jump of a position for which a joint state is refused [rad or m]
JUMP_LAG = 0.05  # by which a position and its velocity may be apart [s]
RETURN_LAG = 0.1  # the same over the time since a jump, when a position is back [s]
LARGEST_ACCELERATION = 200.0  # of a joint between two joint states [rad/s^2 or m/s^2]
HELD_S = 0.8  # for which joint states are refused after a jump, and no longer than they were right before
QUICK, MANY_RETURNS = 3, 5  # joint states after which a position is back, and how often, of two publishers
FEWEST_SAMPLES = 5  # of a derivative: at an equal rate three leave 2.3 times the noise
TRAVEL_AT_ZERO_VELOCITY = 0.01  # [rad or m]; a velocity sensor notices more


class JointChecks:
    """Refuses joint states that contradict those before: |dq - h v| <= d + t |v| + a h^2 / 2 for each joint.

    After a jump (two joints exchanged, an encoder that slips) joint states are refused until the positions
    are back where their velocities may have brought them; after `HELD_S` they are believed, since the data do
    not tell which position is right, and `remark` says so.
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
        self.remark = self._jump = ""  # and the last jump

    def fault(self, time_ns: int, q: Array, v: Array) -> Fault | None:
        """Take a joint state at a time [ns]; return why it must not be used.

        Angles are without whole turns [rad, m], velocities NaN where not measured [rad/s, m/s], shape (m,).
        """
        last, change = self._time_ns, q - self._q
        if last is None or not 0 < time_ns - (self._jump_ns or last) <= self._gap_ns:
            self._right_ns = time_ns
        elif self._jump_ns:
            if self._still_away(time_ns, seconds(time_ns - last), change, np.nan_to_num(v)):
                self._jump_ns, self._refused = time_ns, self._refused + 1
                return DropReason.CONTRADICTION, self._jump
        else:
            h = seconds(time_ns - last)
            off = change - h * self._v
            jumped = off.dot(off) > JUMP * JUMP  # else no joint is off by more
            if jumped:
                off = np.abs(off) - JUMP_LAG * np.abs(self._v) - 0.5 * LARGEST_ACCELERATION * h * h
            if jumped and off.max() > JUMP:
                worst = int(off.argmax())
                self._jump = f"position of {self._names[worst]} jumped by {change[worst]:.3g} rad"
                self._jump_ns, self._refused = time_ns, 1
                return DropReason.CONTRADICTION, self._jump
        self._time_ns, self._jump_ns = time_ns, 0
        self._q[:], self._v[:] = q, v
        return None

    def follow(self, v: Array) -> None:
        """Take the velocities that are used with the last joint state [rad/s or m/s], shape (m,)."""
        self._v[:] = v

    def _still_away(self, time_ns: int, age: float, change: Array, v: Array) -> bool:
        """Return whether a joint state after a jump is refused, some time after the last right one [s]."""
        reach = JUMP + RETURN_LAG * (np.abs(self._v) + np.abs(v))
        if (np.abs(change - 0.5 * age * (self._v + v)) < reach).all():
            self._returns += self._refused <= QUICK
            if self._returns >= MANY_RETURNS:
                self.remark = "positions jump and return again and again: do two publishers send them?"
            return False
        if age <= min(HELD_S, seconds((self._time_ns or 0) - self._right_ns)):
            return True
        self.remark = f"{self._jump} and is not back; call ~/reset if it is right"
        self._right_ns = time_ns
        return False


class JointVelocity:
    """Gives the velocities of joint states that have none, from the positions of the last `velocity_window`.

    It is the slope, at the newest sample, of a least-squares parabola: exact for constant velocity and
    acceleration, without lag; -0.1 j W^2 for a jerk j; noise sigma_q of n positions becomes about 13.9
    sigma_q / (W sqrt(n)). There is none before the samples span the window (a shorter one is far noisier, as
    W^-1.5, and a zero would mean rest); it begins anew after `inputs.max_gap`. By `inputs.joint_velocity`,
    "measured" takes what is sent, "derived" derives all, "auto" those that are not sent or NaN, and all once
    every one was exactly zero while a joint moved.
    """

    def __init__(self, names: tuple[str, ...], config: InputConfig) -> None:
        """Begin without a joint state of the joints of these names."""
        self._names, self._policy = names, config.joint_velocity
        self._window_ns = round(NANOSECONDS * config.velocity_window)
        self._gap_ns = round(NANOSECONDS * config.max_gap)
        self._ring = Ring(len(names), 512)
        self._all, self._none = np.ones(len(names), dtype=bool), np.zeros(len(names), dtype=bool)
        self.reset()

    def reset(self) -> None:
        """Forget all joint states."""
        self._ring.clear()
        self._derived: NDArray[np.bool_] = self._none  # joints whose velocity was derived last
        self._still: Array | None = None  # positions where velocities began to be all zero
        self._fake = False  # whether zeros are sent for velocities that are not measured

    def complete(self, time_ns: int, q: Array, v: Array) -> Fault | None:
        """Replace velocities that are not measured, or return why there are none; see `JointChecks.fault`."""
        self._derived = derived = self._absent(q, v)
        if derived is self._none and self._still is None and not len(self._ring):
            return None
        newest = self._ring.newest_ns
        if newest is not None and not 0 < time_ns - newest <= self._gap_ns:
            self._ring.clear()
        self._ring.append(time_ns, time_ns, q)
        if derived is self._none:
            return None
        times, rows = self._ring.window(time_ns - self._window_ns, time_ns)
        if len(times) < FEWEST_SAMPLES:
            times, rows = self._ring.newest(FEWEST_SAMPLES)
        spanned = len(times) < len(self._ring) or time_ns - times[0] >= self._window_ns
        if len(times) < FEWEST_SAMPLES or not spanned:
            return DropReason.NO_VELOCITY, f"it is derived from {seconds(self._window_ns):g} s of positions"
        v[derived] = (end_slope_weights(seconds(times - times[-1])) @ rows)[derived]
        return None

    def _absent(self, q: Array, v: Array) -> NDArray[np.bool_]:
        """Return which joints have no measured velocity."""
        if self._policy != "auto":
            return self._all if self._policy == "derived" else self._none
        square = v.dot(v)  # NaN if one of them is
        if square != 0.0:
            self._still, self._fake = None, False
            return self._none if square > 0.0 else np.isnan(v)
        if self._still is None:
            self._still = q.copy()
        self._fake = self._fake or bool((np.abs(q - self._still) > TRAVEL_AT_ZERO_VELOCITY).any())
        return self._all if self._fake else self._none

    @property
    def source(self) -> str:
        """Where the velocities of the last joint state come from, for people."""
        if not self._derived.any() or self._derived.all():
            fake = ": those sent are all zero" if self._fake else ""
            return f"derived from positions{fake}" if self._derived.any() else "measured"
        names = [self._names[j] for j in np.flatnonzero(self._derived)]
        return f"derived from positions for {listing(names, limit=6)}, otherwise measured"
