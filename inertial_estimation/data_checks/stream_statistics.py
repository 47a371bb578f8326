"""Counts of the stamps of one input."""

from typing import Any

from inertial_estimation.compilation import Integers, MutableColumn, inlined, integers, zeros
from inertial_estimation.signals import NANOSECONDS

BURST_SHARE = 0.2  # of the mean step; a shorter step belongs to a burst

# Integers of the counts: readings, stamps before and equal to their predecessor, gaps, bursts, readings in
# batches, sum of the usual steps [ns], last stamp [ns] and whether there is one, longest step that is no gap
# [ns].
COUNT, BACKWARD, REPEATED, GAPS, BURSTS, BATCHED, SPAN_NS, LAST_NS, KNOWN, MAX_GAP_NS, SIZE = range(11)
LONGEST_S, LOST_S, FIGURES = range(3)  # figures: longest gap and sum of the gaps [s]


class StreamStatistics:
    """Running counts of the stamps of one input, in constant memory.

    Attributes:
        name: The input.
    """

    def __init__(self, name: str, max_gap_s: float, memory: tuple[Any, Any, Any] | None = None) -> None:
        """Begin without a reading.

        Args:
            name: The input.
            max_gap_s: Longest step that is no gap [s].
            memory: Where the counts are kept: integers, as `integers` returns them, and figures; None: in
                memory of their own.
        """
        own = (*integers(SIZE), zeros(FIGURES)) if memory is None else memory
        self.name, self._n = name, own[1]
        self._x: Any = own[2]
        self._n[MAX_GAP_NS] = round(max_gap_s * NANOSECONDS)

    def push(self, stamp_ns: int) -> None:
        """Count a stamp."""
        note_stamp(stamp_ns, self._n, self._x)

    @property
    def count(self) -> int:
        """Readings."""
        return int(self._n[COUNT])

    @property
    def backward(self) -> int:
        """Stamps before their predecessor."""
        return int(self._n[BACKWARD])

    @property
    def repeated(self) -> int:
        """Stamps equal to their predecessor."""
        return int(self._n[REPEATED])

    @property
    def gaps(self) -> int:
        """Steps longer than the longest gap that is interpolated over."""
        return int(self._n[GAPS])

    @property
    def bursts(self) -> int:
        """Steps much shorter than the mean of those before them."""
        return int(self._n[BURSTS])

    @property
    def batched(self) -> int:
        """Steps much shorter than that mean with gaps: readings of a batch that took longer than a gap."""
        return int(self._n[BATCHED])

    @property
    def span_ns(self) -> int:
        """Sum of the steps that are neither backward nor gaps [ns]."""
        return int(self._n[SPAN_NS])

    @property
    def longest_s(self) -> float:
        """Longest gap [s]."""
        return float(self._x[LONGEST_S])

    @property
    def lost_s(self) -> float:
        """Sum of the gaps [s]."""
        return float(self._x[LOST_S])

    @property
    def rate(self) -> float:
        """Mean rate, gaps left out [Hz]; zero while unknown."""
        return 1e9 * (self.count - 1 - self.gaps - self.backward) / self.span_ns if self.span_ns else 0.0


@inlined
def note_stamp(stamp: int, n: Integers, x: MutableColumn) -> None:
    """Count a stamp.

    Args:
        stamp: The stamp [ns].
        n: Integers of the counts; changed.
        x: Figures of the counts; changed.
    """
    step, known = stamp - n[LAST_NS], n[KNOWN] != 0
    n[LAST_NS], n[KNOWN] = stamp, 1
    n[COUNT] += 1
    if not known:
        return
    if 0 < step <= n[MAX_GAP_NS]:
        n[SPAN_NS] += step
        step_of_all = float(step) * n[COUNT]
        if step_of_all < BURST_SHARE * (n[SPAN_NS] + 1e9 * x[LOST_S]):
            n[BATCHED] += 1
        if step_of_all < BURST_SHARE * n[SPAN_NS]:
            n[BURSTS] += 1
    elif step > 0:
        n[GAPS] += 1
        x[LONGEST_S] = max(x[LONGEST_S], step * 1e-9)
        x[LOST_S] += step * 1e-9
    elif step == 0:
        n[REPEATED] += 1
    else:
        n[BACKWARD] += 1
