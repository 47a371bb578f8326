"""The window of readings in which rest is detected: quiet IMU, slow joints."""

import numpy as np

from inertial_estimation.compilation import (
    Column,
    MutableColumn,
    MutableTable,
    Table,
    cells,
    inlined,
    numbers,
    zeros,
)
from inertial_estimation.signals import Array
from inertial_estimation.spatial.vectors import ZERO, Vector, combine, norm, store, vector_of

WINDOW = 256  # readings for which a window has memory at first
SETTLING = 3.0  # times the deviation of a rest: a rate by the feet beyond it is motion, below it they err
# A row of the window: duration, rate, specific force, rate by the feet, and whether they determine one.
STEP, RATE, FORCE, BODY, KNOWN, WIDTH = 0, 1, 4, 7, 10, 11
# Numbers of the state. Sums over the window: rates, their squares, forces, their squares, rates by the feet
# and how many of them; then the oldest row, the number of rows and the duration [s]; the length of a whole
# window [s] and whether the low-passed joint velocities are known.
BODY_SUM, KNOWN_COUNT, FIRST, COUNT, DURATION, LENGTH, SPEED_KNOWN, SIZE = *range(12, 13), *range(15, 22)
RestLimits = tuple[float, float, float]  # mean rate [rad/s], deviations of rate [rad/s] and force [m/s^2]


class RestWindow:
    """Readings of the last fraction of a second, and joint velocities low-passed over as long.

    Attributes:
        readings: The window, a ring of rows, which is to be enlarged once it is full (`is_full`).
        sums: Numbers of the state.
    """

    def __init__(self, length: float, row: Array | None = None) -> None:
        """Begin without a reading.

        Args:
            length: Of a whole window [s]; the time constant of the low-pass is half of it.
            row: Memory for at least `SIZE` numbers; None: its own.
        """
        self.sums = zeros(SIZE) if row is None else row
        self._cells = cells(self.sums)
        self._cells[LENGTH] = length
        self.readings = zeros(WINDOW, WIDTH)
        self.reset()

    def reset(self) -> None:
        """Begin without a reading and without velocities."""
        self._cells[SPEED_KNOWN] = 0.0
        self.clear()

    def clear(self) -> None:
        """Discard the readings, for example after a gap; the joint velocities are kept."""
        for k in range(LENGTH):
            self._cells[k] = 0.0

    def enlarge(self) -> None:
        """Double the memory; the oldest reading moves to its begin."""
        first, n = int(self._cells[FIRST]), len(self.readings)
        kept = [self.readings[(first + k) % n] for k in range(n)]
        self.readings = numbers(np.concatenate((np.array(kept), np.zeros((n, WIDTH)))))
        self._cells[FIRST] = 0.0


@inlined
def quiet_after(
    h: float,
    readings: tuple[Vector, Vector, Vector],
    body_known: bool,
    limits: RestLimits,
    window: MutableTable,
    sums: MutableColumn,
) -> bool:
    """Advance the window by a reading; return whether a whole window was quiet.

    Args:
        h: Duration of the step that the reading ends [s].
        readings: Rate [rad/s], specific force [m/s^2] and rate by the feet [rad/s].
        body_known: Whether the feet determine a rate.
        limits: Those of a quiet window.
        window: `RestWindow.readings`, with room for a reading; changed.
        sums: `RestWindow.sums`; changed.
    """
    rest_window, (first, count) = sums[LENGTH], (int(sums[FIRST]), int(sums[COUNT]))
    added = window[(first + count) % len(window)]
    added[STEP], added[KNOWN] = h, 1.0 if body_known else 0.0
    store(added, RATE, readings[0])
    store(added, FORCE, readings[1])
    store(added, BODY, readings[2])
    _accumulate(1.0, added, sums)
    sums[DURATION] += h
    count += 1
    while count > 2 and sums[DURATION] - window[first][STEP] >= rest_window:
        _accumulate(-1.0, window[first], sums)
        sums[DURATION] -= window[first][STEP]
        first, count = (first + 1) % len(window), count - 1
    sums[FIRST], sums[COUNT] = first, count
    return count >= 3 and sums[DURATION] >= 0.99 * rest_window and _quiet(count, limits, sums)


@inlined
def is_full(window: Table, sums: Column) -> bool:
    """Return whether there is no room for another reading.

    Args:
        window: `RestWindow.readings`.
        sums: `RestWindow.sums`.
    """
    full: bool = sums[COUNT] >= len(window)
    return full


@inlined
def _quiet(count: int, limits: RestLimits, sums: MutableColumn) -> bool:
    rest_rate, rate_deviation, force_deviation = limits
    rate_limit, force_limit = rate_deviation * rate_deviation, force_deviation * force_deviation
    for i in range(3):
        mean, mean_force = sums[i] / count, sums[6 + i] / count
        if abs(mean) > rest_rate or sums[3 + i] / count - mean * mean > rate_limit:
            return False
        if sums[9 + i] / count - mean_force * mean_force > force_limit:
            return False
    return True


@inlined
def _accumulate(sign: float, reading: Column, sums: MutableColumn) -> None:
    """Add a reading to the sums of the window, or take it away."""
    sums[KNOWN_COUNT] += sign * reading[KNOWN]
    for i in range(3):
        r, f = reading[RATE + i], reading[FORCE + i]
        signed_r, signed_f = sign * r, sign * f
        sums[i] += signed_r
        sums[3 + i] += signed_r * r
        sums[6 + i] += signed_f
        sums[9 + i] += signed_f * f
        sums[BODY_SUM + i] += sign * reading[BODY + i]


@inlined
def mean_rate_at_rest(rest_sigma: float, b: Vector, sums: MutableColumn) -> Vector:
    """Return the mean rate of the window less a bias, and less the rate by the feet where it exceeds sway.

    Args:
        rest_sigma: Standard deviation of the mean rate over one second of rest [rad/s].
        b: The bias [rad/s].
        sums: `RestWindow.sums`.
    """
    n = sums[COUNT]
    y = (sums[0] / n - b[0], sums[1] / n - b[1], sums[2] / n - b[2])
    settling = combine(ZERO, 1.0 / n, vector_of(sums, BODY_SUM))
    if sums[KNOWN_COUNT] == n and norm(settling) > SETTLING * rest_sigma:
        y = combine(y, -1.0, settling)
    return y


@inlined
def fastest_joint(h: float, velocities: Column, smoothed: MutableColumn, sums: MutableColumn) -> float:
    """Low-pass joint velocities over the window; return the largest speed [rad/s].

    Args:
        h: Duration of the step [s].
        velocities: Of the base, which are zero, and of the joints between IMU and contacts [rad/s].
        smoothed: The low-passed ones; changed.
        sums: `RestWindow.sums`; changed.
    """
    share, fastest = h / (h + 0.5 * sums[LENGTH]), 0.0
    if sums[SPEED_KNOWN] == 0.0:
        sums[SPEED_KNOWN] = 1.0
        for i in range(len(velocities)):
            smoothed[i] = velocities[i]
    for i in range(len(velocities)):
        smoothed[i] += share * (velocities[i] - smoothed[i])
        fastest = max(fastest, abs(smoothed[i]))
    return fastest
