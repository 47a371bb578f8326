"""Mean of the rows from one step to the next, at most at a given rate; arithmetic."""

from inertial_estimation.compilation import Column, Integers, MutableColumn, inlined
from inertial_estimation.estimators.inputs.aligner_memory import AVERAGED, DUE_KNOWN, DUE_NS, PERIOD_NS

THINNING_TOLERANCE = 0.9  # share of the period after which a step is due, against jitter of the stamps


@inlined
def take_into_mean(time: int, row: Column, n: Integers, total: MutableColumn, mean: MutableColumn) -> bool:
    """Take a row; where a step is due now, write the mean of the rows since the last one.

    Args:
        time: Its time [ns].
        row: Its numbers, shape (width,).
        n: Integers of the aligner; changed.
        total: Sum of the rows since the last step, shape (width,); changed.
        mean: The mean, shape (width,); changed.

    Returns:
        Whether a step is due.
    """
    due = bool(n[DUE_KNOWN] == 0 or time - n[DUE_NS] >= THINNING_TOLERANCE * n[PERIOD_NS])
    if due and n[AVERAGED] == 0:
        mean[:] = row + 0.0
    else:
        total += row
        n[AVERAGED] += 1
        if due:
            mean[:] = total / n[AVERAGED]
            total[:] = 0.0
            n[AVERAGED] = 0
    if due:
        n[DUE_NS], n[DUE_KNOWN] = time, 1
    return due
