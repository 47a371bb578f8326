"""The phases of a driven simulation: on the hoist, in lockstep or free running.

A phase decides with which torques the next tick runs, or that it has to wait for a command.
"""

from enum import Enum
from typing import Protocol

from inertial_estimation.signals import seconds
from inertial_estimation.simulation.command_inbox import CommandInbox


class TorqueChoice(Enum):
    """Source of the torques of the next tick."""

    AWAITED = "awaited"  # the tick waits for a command
    UNCHANGED = "unchanged"
    COMMANDED = "commanded"  # those of the newest command
    BRAKED = "braked"  # no command came in time: the drives brake the joints


class DrivingPhase(Protocol):
    """Selects the torques of the next tick."""

    @property
    def unattended(self) -> bool:
        """Whether time runs without a controller; it then runs no faster than the wall clock."""
        ...

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

    @property
    def unattended(self) -> bool:
        """Whether time runs without a controller: always."""
        return True

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
        self._braked = False

    @property
    def unattended(self) -> bool:
        """Whether the last command is too old."""
        return self._braked

    def choose(self, commands: CommandInbox, now_ns: int, wall: float) -> TorqueChoice:
        """Return the torques of the next tick; see `DrivingPhase`."""
        self._braked = not _is_fresh(commands, now_ns, self._timeout_s)
        return TorqueChoice.BRAKED if self._braked else TorqueChoice.COMMANDED

    def advanced(self, before_ns: int, *, complete: bool) -> None:
        """Do nothing; this phase does not depend on the last tick."""

    def suspend(self) -> None:
        """Do nothing; this phase has no time-out on the wall clock."""


class Lockstep:
    """A tick waits for the command that answers the readings of the tick before.

    When none comes in time the controller counts as lost: the joints are braked and time goes on, so that the
    sensors show a restarted controller where the robot is. The first fresh command ends this.
    """

    def __init__(self, timeout_s: float, age_s: float) -> None:
        """Set the time-outs.

        Args:
            timeout_s: Longest wait of a tick on the wall clock [s].
            age_s: Largest age of the command that ends a loss, in simulated time [s].
        """
        self._timeout_s, self._age_s = timeout_s, age_s
        self._before_ns = 0
        self._answerable = False
        self._deadline: float | None = None
        self._lost_ns: int | None = None

    @property
    def unattended(self) -> bool:
        """Whether the controller is lost."""
        return self._lost_ns is not None

    def choose(self, commands: CommandInbox, now_ns: int, wall: float) -> TorqueChoice:
        """Return the torques of the next tick; see `DrivingPhase`."""
        if self._lost_ns is not None:
            newest_ns = commands.newest_ns
            answers = newest_ns is not None and newest_ns >= self._lost_ns
            if not (answers and _is_fresh(commands, now_ns, self._age_s)):
                return TorqueChoice.BRAKED
            self._lost_ns = None
            return TorqueChoice.COMMANDED
        if not self._answerable:
            return TorqueChoice.UNCHANGED
        if self._deadline is None:
            self._deadline = wall + self._timeout_s
        if commands.newest_ns is not None and commands.newest_ns > self._before_ns:
            return TorqueChoice.COMMANDED
        if wall < self._deadline:
            return TorqueChoice.AWAITED
        self._lost_ns = now_ns
        return TorqueChoice.BRAKED

    def advanced(self, before_ns: int, *, complete: bool) -> None:
        """Start waiting for the command that answers the last tick; see `DrivingPhase`."""
        self._before_ns, self._answerable, self._deadline = before_ns, complete, None

    def suspend(self) -> None:
        """Stop the time-out; it begins again when the tick is next waited for."""
        self._deadline = None


def _is_fresh(commands: CommandInbox, now_ns: int, age_s: float) -> bool:
    """Whether the newest command is at most so old in simulated time."""
    newest_ns = commands.newest_ns
    return newest_ns is not None and seconds(now_ns - newest_ns) <= age_s
