"""Schedule of ticks by the wall clock, and the achieved pace."""

from inertial_estimation.signals import seconds

MAX_BACKLOG = 0.25  # delay beyond which a simulation does not catch up with its schedule [s]


class WallClockPace:
    """Schedules ticks at a real-time factor.

    Attributes:
        factor: Simulated over wall time, at most; 0: as fast as possible.
        tick_ns: Simulated time of a tick [ns].
    """

    def __init__(self, factor: float, tick_ns: int) -> None:
        """Set the real-time factor and the simulated time of a tick [ns]."""
        self.factor = factor
        self.tick_ns = tick_ns
        self._due: float | None = None
        self._first: tuple[float, int] | None = None  # wall time [s] and stamp [ns] since the last report
        self._last: tuple[float, int] | None = None

    def period(self, *, unattended: bool) -> float:
        """Return the wall time of a tick [s], zero for as fast as possible.

        Args:
            unattended: Whether no controller commands the robot; time is then not sped up.
        """
        factor = self.factor
        if unattended:  # the nodes start during this time, by the wall clock
            factor = min(factor or 1.0, 1.0)
        return seconds(self.tick_ns) / factor if factor else 0.0

    def is_due(self, wall: float, period: float) -> bool:
        """Return whether a tick is due at a wall time [s]."""
        return self._due is None or wall >= self._due - 0.5 * period

    def ticked(self, wall: float, period: float, stamp_ns: int) -> None:
        """Record a tick that began at a wall time [s] and a stamp [ns]."""
        due = wall if self._due is None else self._due
        self._due = max(due, wall - MAX_BACKLOG) + period
        self._last = (wall, stamp_ns)
        self._first = self._first or self._last

    def restart(self) -> None:
        """Make the next tick due immediately."""
        self._due = self._first = self._last = None

    def reached(self) -> float | None:
        """Return the real-time factor since the last call; None without two ticks."""
        first, last = self._first, self._last
        self._first = last
        if first is None or last is None or last[0] <= first[0]:
            return None
        return seconds(last[1] - first[1]) / (last[0] - first[0])
