"""Mean IMU reading over a step, with a gyroscope reading that no neighbour confirms left out."""

from inertial_estimation.compilation import MutableColumn, cells, inlined, zeros
from inertial_estimation.signals import Array
from inertial_estimation.spatial.vectors import Vector, combine, distance, store, vector_of

RATE_STEP = 0.0105  # largest change of the rate between two readings, times the step [rad]: 0.6 deg
LEAST_RATE_CHANGE = 1.0  # a change below this is never doubted, however long the step [rad/s]
LONGEST_DOUBT = 0.03  # readings that disagree with one another are believed after this long [s]

# Numbers of the state: whether wrong rates are held back at all, whether there was a reading, the last
# specific force [m/s^2], the last rate that was used [rad/s]; whether a rate is held back, that rate, the
# step that it ended [s], and for how long rates have been held back [s].
DOUBTING, KNOWN, FORCE, RATE, DOUBTED, DOUBTED_RATE, DOUBTED_STEP, DOUBTED_FOR, SIZE = (
    *(0, 1, 2, 5, 8, 9),
    *(12, 13, 14),
)


class ImuReadings:
    """Means over the step by the trapezoidal rule; a single wrong rate is held back.

    A rate that differs from the one before by more than `RATE_STEP` over the step is held back for one
    reading, and the rate before is used in its place. If the next reading is nearer to the doubted one than
    to the one before it, the motion was real (a push, an impact), and the angle that was held back is added
    to that step. Otherwise the doubted reading was an outlier and is never used. No reading is delayed.

    Attributes:
        row: Numbers of the state, for `mean_readings`.
    """

    def __init__(self, row: Array | None = None, *, doubting: bool = True) -> None:
        """Begin without a reading.

        Args:
            row: Memory for at least `SIZE` numbers; None: its own.
            doubting: Whether wrong rates are held back; otherwise every reading is used.
        """
        self.row = zeros(SIZE) if row is None else row
        self._cells = cells(self.row)
        self._cells[DOUBTING] = 1.0 if doubting else 0.0
        self.reset()

    def reset(self) -> None:
        """Begin before the first reading."""
        for k in range(KNOWN, SIZE):
            self._cells[k] = 0.0


@inlined
def mean_readings(h: float, force: Vector, rate: Vector, state: MutableColumn) -> tuple[Vector, Vector]:
    """Process one reading.

    Args:
        h: Duration of the step that it ends [s].
        force: Specific force [m/s^2].
        rate: Angular rate [rad/s].
        state: Numbers of `ImuReadings`; `RATE` is the rate at the end of the step afterwards.

    Returns:
        Specific force and rate, mean over the step.
    """
    known, f0, w0 = state[KNOWN] > 0.0, vector_of(state, FORCE), vector_of(state, RATE)
    state[KNOWN] = 1.0
    store(state, FORCE, force)
    store(state, RATE, rate)
    if not known:
        return force, rate
    mean_force = (0.5 * (f0[0] + force[0]), 0.5 * (f0[1] + force[1]), 0.5 * (f0[2] + force[2]))
    mean_rate = (0.5 * (w0[0] + rate[0]), 0.5 * (w0[1] + rate[1]), 0.5 * (w0[2] + rate[2]))
    if state[DOUBTING] > 0.0 and (state[DOUBTED] > 0.0 or _doubtful(h, w0, rate)):
        mean_rate = _judged(h, w0, rate, mean_rate, state)
    return mean_force, mean_rate


@inlined
def _doubtful(h: float, before: Vector, rate: Vector) -> bool:
    x, y, z = rate[0] - before[0], rate[1] - before[1], rate[2] - before[2]
    change = x * x + y * y + z * z
    return change > LEAST_RATE_CHANGE * LEAST_RATE_CHANGE and change * h * h > RATE_STEP * RATE_STEP


@inlined
def _judged(h: float, held: Vector, rate: Vector, mean: Vector, state: MutableColumn) -> Vector:
    """Confirm or discard the doubted rate by the present one; return the mean rate over the step.

    Args:
        h: Duration of the step [s].
        held: The last rate that was used.
        rate: The present rate.
        mean: Mean of the two.
        state: Numbers of `ImuReadings`.
    """
    doubted, known = vector_of(state, DOUBTED_RATE), state[DOUBTED] > 0.0
    state[DOUBTED] = 0.0
    if not known:
        return _doubt(h, held, rate, state)
    if distance(rate, doubted) < distance(rate, held) or state[DOUBTED_FOR] >= LONGEST_DOUBT:
        # Real: trapezoids from `held` to `doubted` to `rate`, less what was used of the first.
        share = 0.5 * state[DOUBTED_STEP] / h
        state[DOUBTED_FOR] = 0.0
        middle = (0.5 * (doubted[0] + rate[0]), 0.5 * (doubted[1] + rate[1]), 0.5 * (doubted[2] + rate[2]))
        return combine(middle, share, combine(doubted, -1.0, held))
    if _doubtful(h, held, rate):
        return _doubt(h, held, rate, state)
    state[DOUBTED_FOR] = 0.0
    return mean


@inlined
def _doubt(h: float, held: Vector, rate: Vector, state: MutableColumn) -> Vector:
    state[DOUBTED], state[DOUBTED_STEP] = 1.0, h
    store(state, DOUBTED_RATE, rate)
    state[DOUBTED_FOR] += h
    store(state, RATE, held)
    return held
