"""Joint velocities derived causally from positions, for robots that do not measure all of them."""

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.errors import listing
from inertial_estimation.inputs.config import InputConfig
from inertial_estimation.inputs.possible import DropReason, Fault
from inertial_estimation.inputs.ring import Ring
from inertial_estimation.models.differentiation import end_slope_weights
from inertial_estimation.signals import NANOSECONDS, Array, seconds

FEWEST_SAMPLES = 5  # in the window: at an equal rate three leave 2.3 times the noise
TRAVEL_AT_ZERO_VELOCITY = 0.01  # [rad or m]; a velocity sensor notices more


class JointVelocity:
    """Gives the velocities of joint states that have none, from the positions of the last `velocity_window`.

    The velocity is the slope, at the newest sample, of a least-squares parabola: exact for constant velocity and
    acceleration, without lag; -0.1 j W^2 for a jerk j; white noise sigma_q of n positions becomes about 13.9 sigma_q /
    (W sqrt(n)). There is none before the samples span the window, since a shorter one is far noisier (as W^-1.5) and a
    zero would mean that the robot is at rest; it begins anew after `inputs.max_gap`.

    By `inputs.joint_velocity`: "measured" takes what is sent, "derived" derives all, "auto" derives those that are not
    sent or NaN, and all of them once every velocity has been exactly zero while a joint moved.
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
        """Replace velocities that are not measured; return why there are none yet.

        Args:
            time_ns: Time of the joint state [ns].
            q: Its positions [rad or m], angles without whole turns, shape (m,).
            v: Its velocities, NaN where it has none [rad/s or m/s], shape (m,); changed.
        """
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
            window = f"{seconds(self._window_ns):g} s of positions without a gap, at least {FEWEST_SAMPLES}"
            return DropReason.NO_VELOCITY, f"it is derived from {window}"
        v[derived] = (end_slope_weights(seconds(times - times[-1])) @ rows)[derived]
        return None

    def _absent(self, q: Array, v: Array) -> NDArray[np.bool_]:
        """Return which joints have no measured velocity."""
        if self._policy != "auto":
            return self._all if self._policy == "derived" else self._none
        if v.any():
            self._still, self._fake = None, False
        elif self._still is None:
            self._still = q.copy()
        elif not self._fake:
            self._fake = bool((np.abs(q - self._still) > TRAVEL_AT_ZERO_VELOCITY).any())
        if self._fake:
            return self._all
        return self._none if v.dot(v) >= 0.0 else np.isnan(v)  # the product is NaN if one of them is

    @property
    def source(self) -> str:
        """Where the velocities of the last joint state come from, for people."""
        if not self._derived.any():
            return "measured"
        if self._derived.all():
            return "derived from positions" + (": those sent are all zero" if self._fake else "")
        names = [self._names[j] for j in np.flatnonzero(self._derived)]
        return f"derived from positions for {listing(names, limit=6)}, otherwise measured"
