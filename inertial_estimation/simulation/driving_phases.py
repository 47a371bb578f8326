"""The phases of a driven simulation: on the hoist, in lockstep or free running.

A phase decides with which torques the next tick runs, or that it has to wait for a command.
"""

from enum import Enum
from typing import Protocol

from inertial_estimation.signals import seconds
from inertial_estimation.simulation.command_inbox import CommandInbox

__all__ = ["DrivingPhase", "FreeRunning", "Lockstep", "OnHoist", "TorqueChoice"]


class TorqueChoice(Enum):
    """Source of the torques of the next tick."""

    AWAITED = "awaited"  # the tick waits for a command
    UNCHANGED = "unchanged"
    COMMANDED = "commanded"  # those of the newest command
    ZERO = "zero"  # no command came in time


class DrivingPhase(Protocol):
    """Selects the torques of the next tick."""

    def choose(self, commands: CommandInbox, now_ns: int, wall: float) -> TorqueChoice:
        """Return the torques of the next tick.

        Args:
            commands: The newest command.
            now_ns: Time of the simulation [ns].
            wall: Time of a steady clock [s].
        """
        ...

    def advanced(self, before_ns: int, *, complete: bool) -> None:
        """Record the end of a tick.

        Args:
            before_ns: Time of the simulation before it [ns].
            complete: Whether all sensors of a stamp delivered, so that a command follows from them.
        """
        ...

    def suspend(self) -> None:
        """Stop every time-out on the wall clock."""
        ...


class OnHoist:
    """The robot hangs on the hoist; the first command after a minimum time releases it."""

    def __init__(self, start_ns: int, duration_s: float) -> None:
        """Set time of the beginning [ns] and shortest time on the hoist [s]."""
        self._start_ns, self._duration_s = start_ns, duration_s

    def choose(self, commands: CommandInbox, now_ns: int, wall: float) -> TorqueChoice:
        """Return the torques of the next tick; see `DrivingPhase`."""
        over = seconds(now_ns - self._start_ns) >= self._duration_s
        has_command = commands.newest_ns is not None
        return TorqueChoice.COMMANDED if over and has_command else TorqueChoice.UNCHANGED

    def advanced(self, before_ns: int, *, complete: bool) -> None:
        """Do nothing; this phase does not depend on the last tick."""

    def suspend(self) -> None:
        """Do nothing; this phase has no time-out."""


class FreeRunning:
    """Ticks use the newest command, up to a maximum age in simulated time."""

    def __init__(self, timeout_s: float) -> None:
        """Set the largest age of a command [s]."""
        self._timeout_s = timeout_s

    def choose(self, commands: CommandInbox, now_ns: int, wall: float) -> TorqueChoice:
        """Return the torques of the next tick; see `DrivingPhase`."""
        newest_ns = commands.newest_ns
        fresh = newest_ns is not None and seconds(now_ns - newest_ns) <= self._timeout_s
        return TorqueChoice.COMMANDED if fresh else TorqueChoice.ZERO

    def advanced(self, before_ns: int, *, complete: bool) -> None:
        """Do nothing; this phase does not depend on the last tick."""

    def suspend(self) -> None:
        """Do nothing; this phase has no time-out on the wall clock."""


class Lockstep:
    """A tick waits for the command that answers the readings of the tick before."""

    def __init__(self, timeout_s: float) -> None:
        """Set the longest wait of a tick on the wall clock [s]."""
        self._timeout_s = timeout_s
        self._before_ns = 0
        self._answerable = False
        self._deadline: float | None = None

    def choose(self, commands: CommandInbox, now_ns: int, wall: float) -> TorqueChoice:
        """Return the torques of the next tick; see `DrivingPhase`."""
        if not self._answerable:
            return TorqueChoice.UNCHANGED
        if self._deadline is None:
            self._deadline = wall + self._timeout_s
        if commands.newest_ns is not None and commands.newest_ns > self._before_ns:
            return TorqueChoice.COMMANDED
        return TorqueChoice.AWAITED if wall < self._deadline else TorqueChoice.ZERO

    def advanced(self, before_ns: int, *, complete: bool) -> None:
        """Start waiting for the command that answers the last tick; see `DrivingPhase`."""
        self._before_ns, self._answerable, self._deadline = before_ns, complete, None

    def suspend(self) -> None:
        """Stop the time-out; it begins again when the tick is next waited for."""
        self._deadline = None
