"""How long messages wait until a node reads them: a node that gets too little processor time says so."""

import math
import time

from inertial_estimation.signals import NANOSECONDS, Health, HealthLevel, seconds

LONGEST_S = 0.1  # that the newest message may wait, in addition to two periods of the node
PATIENCE_S = 0.5  # for which a node may read a backlog of stale messages, to catch up after a stall
CALM_S = 10.0  # without a dropped backlog, after which more messages are read again
FIRST_SPACING_NS = 4_000_000  # between messages of an input that an overloaded node reads
LARGEST_SPACING = 0.25  # of these messages, as a share of the timeout
REMEDY = "the node gets too little processor time: lower 'rate', the rates of its inputs or what it estimates"


class ReadingDelay:
    """The shortest wait of the newest message at the end of a reading, since the last report.

    A stall makes messages wait for a moment. Where even the shortest wait of a second is long, the node reads
    more slowly than messages arrive: its queues are full, and all that it computes is late. Such a node drops
    what waits when it is stale, and reads fewer messages from then on, so that it goes on with fresh readings
    of every input; after a stall it catches up.

    Attributes:
        period: Time between two readings, by which a message may wait [s].
        timeout: Wait beyond which a message is stale, in addition to two periods [s]; infinite: never.
        spacing_ns: Time between the messages of an input that are read, where more arrive [ns]; 0: all.
        dropped: Messages that have not been read.
    """

    def __init__(self) -> None:
        """Begin without a reading."""
        self.period, self.timeout = 0.0, math.inf
        self.spacing_ns = self.dropped = 0
        self._reported = 0  # dropped messages
        self._shortest_ns: int | None = None
        self._was_long = False
        self._stale_since_ns: int | None = None
        self._calm_ns = 0  # when a backlog is one of a stall again

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
        return bool(self.spacing_ns) or seconds(now_ns - self._stale_since_ns) >= PATIENCE_S

    def shorten(self) -> None:
        """Read fewer messages from now on: a backlog is dropped."""
        self._stale_since_ns = None
        self._calm_ns = time.time_ns() + round(CALM_S * NANOSECONDS)
        longest_ns = round(LARGEST_SPACING * self.timeout * NANOSECONDS)
        self.spacing_ns = min(max(2 * self.spacing_ns, FIRST_SPACING_NS), longest_ns)

    def note(self, received_ns: int) -> None:
        """Note that all messages have been read.

        Args:
            received_ns: When the newest one arrived, on the machine's wall clock [ns]; 0 where the middleware
                does not report it.
        """
        now_ns = time.time_ns()
        if self.spacing_ns and now_ns >= self._calm_ns:
            self._calm_ns = now_ns + round(CALM_S * NANOSECONDS)
            self.spacing_ns = self.spacing_ns // 2 if self.spacing_ns > FIRST_SPACING_NS else 0
        if received_ns:
            wait_ns = max(now_ns - received_ns, 0)
            self._shortest_ns = wait_ns if self._shortest_ns is None else min(self._shortest_ns, wait_ns)

    def health(self) -> Health:
        """Return the state since the last report; a warning from the second report in a row on.

        Messages that have been dropped since the last report are a warning at once. Where no message has
        arrived the state is OK: that none arrives is reported elsewhere.
        """
        shortest_ns, self._shortest_ns = self._shortest_ns, None
        fresh, self._reported = self.dropped - self._reported, self.dropped
        wait_s = 0.0 if shortest_ns is None else seconds(shortest_ns)
        is_long = wait_s > LONGEST_S + 2.0 * self.period
        overloaded, self._was_long = is_long and self._was_long, is_long
        values = {"dropped unread": str(self.dropped)}
        level, message = HealthLevel.OK, "no message" if shortest_ns is None else "in time"
        if shortest_ns is not None:
            values["shortest wait [s]"] = f"{wait_s:.4f}"
        if fresh:
            level = HealthLevel.WARN
            message = f"{fresh} message(s) dropped unread, so that the others are not stale: {REMEDY}"
        elif overloaded:
            level = HealthLevel.WARN
            message = f"messages wait for {wait_s:.2f} s and longer before they are read: {REMEDY}"
        return Health("reading", level, message, values)
