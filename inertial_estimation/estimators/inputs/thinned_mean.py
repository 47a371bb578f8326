"""Mean of the rows from one step to the next, at most at a given rate."""

import numpy as np

from inertial_estimation.signals import NANOSECONDS, Array

__all__ = ["THINNING_TOLERANCE", "ThinnedMean"]

THINNING_TOLERANCE = 0.9  # share of the period after which a step is due, against jitter of the stamps


class ThinnedMean:
    """Averages rows until a step is due."""

    def __init__(self, width: int, rate: float) -> None:
        """Begin without a row.

        Args:
            width: Numbers in a row.
            rate: Highest rate of steps [Hz]; 0 makes every row a step.
        """
        self._period_ns = int(NANOSECONDS / rate) if rate > 0.0 else 0
        self._last_step_ns: int | None = None
        self._sum = np.zeros(width)
        self._count = 0

    def clear(self) -> None:
        """Discard the rows; the next row is a step."""
        self._last_step_ns = None
        self._sum[:] = 0.0
        self._count = 0

    def push(self, time_ns: int, row: Array) -> Array | None:
        """Add a row.

        Args:
            time_ns: Its time [ns].
            row: Its numbers, shape (width,).

        Returns:
            The mean of the rows since the last step where a step is due now, shape (width,); else None.
        """
        last = self._last_step_ns
        due = last is None or time_ns - last >= THINNING_TOLERANCE * self._period_ns
        if due and not self._count:
            self._last_step_ns = time_ns
            alone: Array = row + 0.0
            return alone
        self._sum += row
        self._count += 1
        if not due:
            return None
        mean: Array = self._sum / self._count
        self._sum[:] = 0.0
        self._count = 0
        self._last_step_ns = time_ns
        return mean
