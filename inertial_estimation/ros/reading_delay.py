"""How long messages wait until a node reads them: a node that gets too little processor time says so."""

import time

from inertial_estimation.signals import Health, HealthLevel, seconds

__all__ = ["ReadingDelay"]

LONGEST_S = 0.1  # that the newest message may wait, in addition to two periods of the node
REMEDY = "the node gets too little processor time: lower 'rate', the rates of its inputs or what it estimates"


class ReadingDelay:
    """The shortest wait of the newest message at the end of a reading, since the last report.

    A stall makes messages wait for a moment. Where even the shortest wait of a second is long, the node reads
    more slowly than messages arrive: its queues are full, and all that it computes is late.

    Attributes:
        period: Time between two readings, by which a message may wait [s].
    """

    def __init__(self) -> None:
        """Begin without a reading."""
        self.period = 0.0
        self._shortest_ns: int | None = None
        self._was_long = False

    def note(self, received_ns: int) -> None:
        """Note that all messages have been read.

        Args:
            received_ns: When the newest one arrived, on the machine's wall clock [ns]; 0 where the middleware
                does not report it.
        """
        if received_ns:
            wait_ns = max(time.time_ns() - received_ns, 0)
            self._shortest_ns = wait_ns if self._shortest_ns is None else min(self._shortest_ns, wait_ns)

    def health(self) -> Health:
        """Return the state since the last report; a warning from the second report in a row on.

        Where no message has arrived the state is OK: that none arrives is reported elsewhere.
        """
        shortest_ns, self._shortest_ns = self._shortest_ns, None
        if shortest_ns is None:
            self._was_long = False
            return Health("reading", HealthLevel.OK, "no message")
        wait_s = seconds(shortest_ns)
        is_long = wait_s > LONGEST_S + 2.0 * self.period
        overloaded, self._was_long = is_long and self._was_long, is_long
        values = {"shortest wait [s]": f"{wait_s:.4f}"}
        if overloaded:
            message = f"messages wait for {wait_s:.2f} s and longer before they are read: {REMEDY}"
            return Health("reading", HealthLevel.WARN, message, values)
        return Health("reading", HealthLevel.OK, "in time", values)
