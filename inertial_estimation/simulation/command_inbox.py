"""Checks, sorts by joint and counts the torque commands received by a simulation."""

from collections import Counter

import numpy as np

from inertial_estimation.errors import listing
from inertial_estimation.signals import Array, Health, HealthLevel, TorqueCommand

MAX_REASONS = 10  # distinct reasons of refusals that are counted; further ones are "other"


class CommandInbox:
    """Holds the newest valid command and counts rejected ones.

    Attributes:
        newest_ns: Stamp of the newest command [ns]; None before the first.
        tau: Its torques in the model's joint order [Nm], shape (n_joints,).
        refused: Commands refused, by reason.
        timeouts: Ticks with braked joints for want of a command, counted by the driver.
    """

    def __init__(self, joint_names: tuple[str, ...]) -> None:
        """Start empty.

        Args:
            joint_names: Names of the model's joints, in its order.
        """
        self.newest_ns: int | None = None
        self.tau: Array = np.zeros(len(joint_names))
        self.refused: Counter[str] = Counter()
        self.timeouts = 0
        self._joint_names = joint_names
        self._order: tuple[tuple[str, ...], list[int]] = ((), [])
        self._outdated = 0
        self._reported = (0, 0)  # time-outs and refusals of the last report

    def clear(self) -> None:
        """Drop the newest command; the counters are kept."""
        self.newest_ns = None
        self.tau = np.zeros(len(self._joint_names))

    def push(self, command: TorqueCommand, now_ns: int) -> None:
        """Take a command; a bad one is refused and counted, one older than the newest is counted.

        Args:
            command: A torque for every joint, in any order.
            now_ns: Time of the simulation [ns].
        """
        reason = self._problem(command, now_ns)
        if reason:
            known = reason in self.refused or len(self.refused) < MAX_REASONS
            self.refused[reason if known else "other"] += 1
        elif self.newest_ns is not None and command.stamp_ns <= self.newest_ns:
            self._outdated += 1
        else:
            self.newest_ns = command.stamp_ns
            self.tau = command.tau[self._order[1]]

    def health(self) -> Health:
        """Return the health of the commands; warnings concern the time since the last report."""
        refusals = self.refused.total()
        new_timeouts, new_refusals = self.timeouts - self._reported[0], refusals - self._reported[1]
        self._reported = (self.timeouts, refusals)
        values = {"time-outs": str(self.timeouts), "outdated": str(self._outdated)}
        values |= {f"refused: {reason}": str(count) for reason, count in sorted(self.refused.items())}
        level, message = HealthLevel.OK, "arriving"
        if new_timeouts:
            level, message = HealthLevel.ERROR, f"no command in time, {new_timeouts} ticks with braked joints"
        elif new_refusals:
            level = HealthLevel.WARN
            message = f"{new_refusals} commands refused: {list(self.refused)[-1]}"
        elif self.newest_ns is None:
            level, message = HealthLevel.STALE, "no command yet"
        return Health("joint_torque_commands", level, message, values)

    def _problem(self, command: TorqueCommand, now_ns: int) -> str:
        """Return why a command cannot be applied, and store its order of joints."""
        if command.names != self._order[0]:
            known = self._joint_names
            unknown = [name for name in command.names if name not in known]
            missing = [name for name in known if name not in command.names]
            if unknown:
                return f"no joint {listing(unknown, limit=3)}"
            if missing or len(command.names) != len(known):
                return f"not one torque for every joint, none for {listing(missing, limit=3)}"
            self._order = (command.names, [command.names.index(name) for name in known])
        if not np.isfinite(command.tau).all():
            return "not finite"
        if command.stamp_ns > now_ns:
            return "stamp in the future"
        return ""
