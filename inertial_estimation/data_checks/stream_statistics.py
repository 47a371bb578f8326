"""Counts of the stamps of one input."""

from inertial_estimation.signals import NANOSECONDS, seconds

BURST_SHARE = 0.2  # of the mean step; a shorter step belongs to a burst


class StreamStatistics:
    """Running counts of the stamps of one input, in constant memory.

    Attributes:
        name: The input.
        count: Readings.
        backward: Stamps before their predecessor.
        repeated: Stamps equal to their predecessor.
        gaps: Steps longer than the longest gap that is interpolated over.
        bursts: Steps much shorter than the mean of those before them.
        batched: Steps much shorter than that mean with gaps: readings of a batch that took longer than a gap.
        span_ns: Sum of the steps that are neither backward nor gaps [ns].
        longest_s: Longest gap [s].
        lost_s: Sum of the gaps [s].
    """

    def __init__(self, name: str, max_gap_s: float) -> None:
        """Begin without a reading.

        Args:
            name: The input.
            max_gap_s: Longest step that is no gap [s].
        """
        self.name, self._max_gap_ns = name, round(max_gap_s * NANOSECONDS)
        self.count = self.backward = self.repeated = self.gaps = self.bursts = self.batched = 0
        self.span_ns, self.longest_s, self.lost_s = 0, 0.0, 0.0
        self._last_ns: int | None = None

    def push(self, stamp_ns: int) -> None:
        """Count a stamp."""
        last, self._last_ns = self._last_ns, stamp_ns
        self.count += 1
        if last is None:
            return
        step = stamp_ns - last
        if 0 < step <= self._max_gap_ns:
            self.span_ns += step
            of_all = step * self.count
            self.batched += of_all < BURST_SHARE * (self.span_ns + NANOSECONDS * self.lost_s)
            self.bursts += of_all < BURST_SHARE * self.span_ns
        elif step > 0:
            self.gaps += 1
            self.longest_s = max(self.longest_s, seconds(step))
            self.lost_s += seconds(step)
        elif step == 0:
            self.repeated += 1
        else:
            self.backward += 1

    @property
    def rate(self) -> float:
        """Mean rate, gaps left out [Hz]; zero while unknown."""
        steps = self.count - 1 - self.gaps - self.backward
        return NANOSECONDS * steps / self.span_ns if self.span_ns else 0.0
