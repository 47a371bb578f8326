"""How long messages wait until a node reads them: a node that gets too little processor time says so."""

import math
import time

from inertial_estimation.signals import NANOSECONDS, Health, HealthLevel, seconds

LONGEST_S = 0.1  # that the newest message may wait, in addition to two periods of the node
PATIENCE_S = 0.5  # for which a node may read a backlog of stale messages, to catch up after a stall
CALM_S = 10.0  # without a dropped backlog, after which a node counts as no longer overloaded
REMEDY = "the node gets too little processor time: lower 'rate', the rates of its inputs or what it estimates"


class ReadingDelay:
    """The shortest wait of the newest message at the end of a reading, since the last report.

    A stall makes messages wait for a moment, and a node catches up after it. Where even the shortest wait of
    a second is long, the node reads more slowly than messages arrive: its queues are full, and all that it
    computes is late. Such a node drops what waits when it is stale, and goes on with fresh readings.

    Attributes:
        period: Time between two readings, by which a message may wait [s].
        timeout: Wait beyond which a message is stale, in addition to two periods [s]; infinite: never.
        dropped: Messages that have not been read.
    """

    def __init__(self) -> None:
        """Begin without a reading."""
        self.period, self.timeout = 0.0, math.inf
        self.dropped = self._reported = 0
        self._shortest_ns: int | None = None
        self._was_long = False
        self._stale_since_ns: int | None = None
        self._overloaded_until_ns = 0

    def is_backlog(self, received_ns: int) -> bool:
        """Return whether a message that is to be read belongs to a backlog that must be dropped.

        Args:
            received_ns: When it arrived, on the machine's wall clock [ns]; 0 where unknown.
        """
        now_ns = time.time_ns()
        if not received_ns or seconds(now_ns - received_ns) <= self.timeout + 2.0 * self.period:
            self._stale_since_ns = None
            return False
        if self._stale_since_ns is None:
            self._stale_since_ns = now_ns
        overloaded = now_ns < self._overloaded_until_ns
        return overloaded or seconds(now_ns - self._stale_since_ns) >= PATIENCE_S

    def drop(self, count: int) -> None:
        """Count the messages of a backlog that is dropped."""
        self.dropped += count
        self._stale_since_ns = None
        self._overloaded_until_ns = time.time_ns() + round(CALM_S * NANOSECONDS)

    def note(self, received_ns: int) -> None:
        """Note that all messages have been read.

        Args:
            received_ns: When the newest one arrived, on the machine's wall clock [ns]; 0 where unknown.
        """
        if received_ns:
            wait_ns = max(time.time_ns() - received_ns, 0)
            self._shortest_ns = wait_ns if self._shortest_ns is None else min(self._shortest_ns, wait_ns)

    def health(self) -> Health:
        """Return the state since the last report; a warning from the second report in a row on.

        Messages that have been dropped since the last report are a warning at once. Where no message has
        arrived the state is OK: that none arrives is reported elsewhere.
        """
        shortest_ns, self._shortest_ns = self._shortest_ns, None
        fresh, self._reported = self.dropped - self._reported, self.dropped
        wait_s = seconds(shortest_ns or 0)
        is_long = wait_s > LONGEST_S + 2.0 * self.period
        overloaded, self._was_long = is_long and self._was_long, is_long
        values = {"dropped unread": str(self.dropped), "shortest wait [s]": f"{wait_s:.4f}"}
        if fresh:
            message = f"{fresh} message(s) dropped unread, so that the others are not stale: {REMEDY}"
            return Health("reading", HealthLevel.WARN, message, values)
        if overloaded:
            message = f"messages wait for {wait_s:.2f} s and longer before they are read: {REMEDY}"
            return Health("reading", HealthLevel.WARN, message, values)
        return Health("reading", HealthLevel.OK, "in time", values)
