"""Angular velocity of the IMU by the feet that stand, in the place of a gyroscope that contradicts them.

A sole does not turn: w + w_IC = 0. Two points at rest keep their distance: d' + w x d = 0 for their relative
position d and velocity d' in the IMU frame, which leaves the rotation about d unknown; three determine w.
"""

import math

from inertial_estimation.compilation import (
    Column,
    MutableColumn,
    MutableTable,
    Table,
    cells,
    inlined,
    zeros,
)
from inertial_estimation.estimators.tilt.points_at_rest import LEAST_SHARE, rate_of_points
from inertial_estimation.signals import Array
from inertial_estimation.spatial.vectors import (
    ZERO,
    Vector,
    combine,
    distance,
    dot,
    matrix_of,
    norm,
    store,
    vector_of,
)

SHORT, LONG = 0.1, 0.5  # time constants of the integrated differences [s]
WRONG = math.radians(3.5)  # integrated difference beyond which the gyroscope is wrong; iCub's walk: 3 deg
ON_A_LINE = 2.0  # times that where two points stand: a slip by a seventh of their distance turns them so
RIGHT = math.radians(0.6)  # that below which it is right again
LARGEST = math.radians(9.0)  # to which the short integral is limited, so that it vanishes soon
EXPLAINED = 0.5  # share of a turned vertical that the long integral explains where the gyroscope is wrong
LEAST_LONG = math.radians(3.0)  # long integral across the vertical below which it explains nothing
DOUBTED = 0.3  # difference from which joint velocities are compared with differences of positions [rad/s]
LONGEST_BLAME = 1.0  # time without feet after which nothing speaks against the gyroscope any more [s]
STEP = math.radians(1.0)  # that of one step to which it is limited: joints jump

# Numbers of the state: whether the rate of the feet is used; whether neither gyroscope nor feet give the
# whole rate, whether the gyroscope was found wrong in the last step; whether the feet told anything, whether
# they determined the rate, and the rate that they allow [rad/s]; whether the motions at the begin of the step
# are known, time without feet [s], integrated differences, short and long [rad], angle that was missed when
# the gyroscope was found wrong [rad].
REPLACING, LOST, FOUND, KNOWN, COMPLETE, RATE, BEGIN_KNOWN, WITHOUT_FEET = *range(6), 8, 9
SHORT_SUM, LONG_SUM, MISSED, SIZE = 10, 13, 16, 19


class FootRotation:
    """State of the comparison of the gyroscope with the feet, which replace it while it is wrong.

    Attributes:
        row: Numbers of the state, for `check_rate`.
    """

    def __init__(self, row: Array | None = None) -> None:
        """Begin with a sound gyroscope.

        Args:
            row: Memory for at least `SIZE` numbers; None: its own.
        """
        self.row = zeros(SIZE) if row is None else row
        self._cells = cells(self.row)
        self._cells[REPLACING] = 0.0
        self.reset()

    def reset(self) -> None:
        """Forget the differences; a wrong gyroscope stays wrong."""
        for k in range(LOST, SIZE):
            self._cells[k] = 0.0

    @property
    def replacing(self) -> bool:
        """Whether the rate of the feet is used."""
        return bool(self._cells[REPLACING])

    @property
    def lost(self) -> bool:
        """Whether neither gyroscope nor feet give the whole rate, so that the vertical is lost."""
        return bool(self._cells[LOST])

    @property
    def known(self) -> bool:
        """Whether the feet told anything about the rotation at the last step."""
        return bool(self._cells[KNOWN])

    @property
    def missed(self) -> Vector | None:
        """Angle by which the frame was turned too little [rad]; None unless that has just been found."""
        return vector_of(self._cells, MISSED) if self._cells[FOUND] else None

    @property
    def mean_rate(self) -> float:
        """Mean difference between feet and gyroscope over the last 0.1 s [rad/s]."""
        return norm(vector_of(self._cells, SHORT_SUM)) / SHORT

    def replace(self) -> Vector:
        """Use the rate of the feet from now on; return the angle missed by the gyroscope [rad]."""
        missed = vector_of(self._cells, LONG_SUM)
        self._cells[REPLACING] = 1.0
        store(self._cells, LONG_SUM, ZERO)
        return missed


@inlined
def is_unusual(state: MutableColumn) -> bool:
    """Return whether the last step needs more than the gyroscope, by the numbers of `FootRotation`."""
    return bool(state[REPLACING] > 0.0 or state[LOST] > 0.0 or state[FOUND] > 0.0)


@inlined
def explains_turn(turn: Vector, x2: Vector, state: MutableColumn) -> bool:
    """Return whether an error of the gyroscope in the last half second explains a turned vertical.

    Args:
        turn: Rotation from the observer's vertical to that of accelerometer and contact velocity [rad].
        x2: The vertical; a rotation about it does not move it.
        state: Numbers of `FootRotation`.
    """
    long = vector_of(state, LONG_SUM)
    across = combine(long, -dot(long, x2), x2)
    return norm(across) > LEAST_LONG and -dot(turn, across) > EXPLAINED * dot(turn, turn)


@inlined
def check_rate(
    h: float,
    w: Vector,
    known: bool,
    motions: tuple[Table, Table],
    weights: Column,
    soles: Column,
    moved: MutableTable,
    state: MutableColumn,
) -> Vector:
    """Compare the rate of one step with the feet; return the angular velocity to use [rad/s].

    Args:
        h: Duration of the step [s].
        w: Angular velocity by the gyroscope, bias removed, mean over the step [rad/s].
        known: Whether the motions of the contacts at the end of the step are known.
        motions: Rows of `KinematicState.motions` at the end of the step and at the last update.
        weights: Weights of the contacts, as `ContactVelocity.weights`; zero: not in use.
        soles: 1 for a contact that cannot turn while loaded, 0 for the others.
        moved: Memory for the motions by differences of positions.
        state: Numbers of `FootRotation`; updated.
    """
    begin_known = state[BEGIN_KNOWN] > 0.0
    state[BEGIN_KNOWN], state[FOUND] = 1.0 if known else 0.0, 0.0
    if not known:
        return _without_feet(h, w, state)
    spans, replacing = (motions[0], motions[1] if begin_known else motions[0]), state[REPLACING] > 0.0
    found, complete, rate = _rate(h, w, spans, begin_known, weights, soles, moved, replacing)
    if not found:
        return _without_feet(h, w, state)
    missed = _integrate(h, combine(rate, -1.0, w), state)
    state[KNOWN], state[COMPLETE], state[WITHOUT_FEET] = 1.0, 1.0 if complete else 0.0, 0.0
    store(state, RATE, rate)
    state[LOST] = 1.0 if replacing and not complete else 0.0
    size = norm(vector_of(state, SHORT_SUM))
    if replacing:
        state[REPLACING] = 1.0 if size > RIGHT else 0.0
        return rate
    if size <= WRONG * (1.0 if complete else ON_A_LINE):
        return w
    state[REPLACING], state[FOUND] = 1.0, 1.0
    store(state, MISSED, missed)
    store(state, LONG_SUM, ZERO)
    return rate


@inlined
def _without_feet(h: float, w: Vector, state: MutableColumn) -> Vector:
    """Continue where the feet tell nothing: a robot that has fallen has none that clear the gyroscope."""
    state[KNOWN], state[COMPLETE] = 0.0, 0.0
    state[WITHOUT_FEET] += h
    if state[WITHOUT_FEET] > LONGEST_BLAME:
        state[REPLACING] = 0.0
    _forget(h, state)
    state[LOST] = state[REPLACING]
    return ZERO if state[REPLACING] > 0.0 else w


@inlined
def _integrate(h: float, d: Vector, state: MutableColumn) -> Vector:
    """Add the difference between feet and gyroscope in one step; return the long integral before it [rad]."""
    _forget(h, state)
    missed = vector_of(state, LONG_SUM)
    store(state, LONG_SUM, combine(missed, h, d))
    step = h * norm(d)
    if step > STEP and state[REPLACING] == 0.0:
        d = (STEP / step * d[0], STEP / step * d[1], STEP / step * d[2])
    store(state, SHORT_SUM, _limited(combine(vector_of(state, SHORT_SUM), h, d), LARGEST))
    return missed


@inlined
def _forget(h: float, state: MutableColumn) -> None:
    """Let the integrated differences decay over a step."""
    s, g = vector_of(state, SHORT_SUM), vector_of(state, LONG_SUM)
    keep, keep_long = 1.0 - h / (h + SHORT), 1.0 - h / (h + LONG)
    store(state, SHORT_SUM, (keep * s[0], keep * s[1], keep * s[2]))
    store(state, LONG_SUM, (keep_long * g[0], keep_long * g[1], keep_long * g[2]))


@inlined
def _rate(
    h: float,
    w: Vector,
    motions: tuple[Table, Table],
    begin_known: bool,
    weights: Column,
    soles: Column,
    moved: MutableTable,
    replacing: bool,
) -> tuple[bool, bool, Vector]:
    """Rate that the feet allow, nearest to the gyroscope: whether there is one, is determined by them, is.

    A rate far from the gyroscope's is checked by differences of joint positions, of which a fault of the
    velocities leaves no trace; the nearer one is used. Joints that are exactly constant tell nothing.
    """
    now, before = motions
    found, complete, rate = _allowed(now, weights, soles, w, replacing)
    if not found or distance(rate, w) < DOUBTED or not begin_known:
        return found, complete, rate
    last = len(now) - 1
    first_still = vector_of(now[0], 9) == vector_of(before[0], 9)
    if first_still and vector_of(now[last], 9) == vector_of(before[last], 9):
        return False, False, rate
    for i in range(len(now)):
        _move(before[i], now[i], h, moved[i])
    other_found, _complete, other = _allowed(moved, weights, soles, w, replacing)
    if other_found and distance(other, w) < distance(rate, w):
        rate = other
    return found, complete, rate


@inlined
def _allowed(
    motions: Table, weights: Column, soles: Column, w: Vector, replacing: bool
) -> tuple[bool, bool, Vector]:
    """Whether the feet give a rate, whether they determine it, and the rate [rad/s]."""
    best, least = ZERO, math.inf
    for i in range(len(weights)):
        if soles[i] == 0.0 or weights[i] <= 0.0:
            continue
        c = vector_of(motions[i], 15)
        x, y, z = w[0] + c[0], w[1] + c[1], w[2] + c[2]
        square = x * x + y * y + z * z
        if square < least:
            best, least = c, square
    if least < math.inf:
        return True, True, (-best[0], -best[1], -best[2])
    used = 0
    for i in range(len(weights)):
        used += 1 if weights[i] >= LEAST_SHARE else 0
    if used < 2:
        return False, False, ZERO
    rate, complete = rate_of_points(motions, weights, ZERO if replacing else w)
    return True, complete, rate


@inlined
def _move(before: Column, now: Column, h: float, moved: MutableColumn) -> None:
    """Write the motion of a contact with the velocities by which it came from one pose to the next."""
    a, b = matrix_of(now, 0), matrix_of(before, 0)
    half = 0.5 / h
    for k in range(12):
        moved[k] = now[k]
    for k in range(3):
        moved[12 + k] = (now[9 + k] - before[9 + k]) / h
    moved[15] = half * (dot(a[2], b[1]) - dot(a[1], b[2]))
    moved[16] = half * (dot(a[0], b[2]) - dot(a[2], b[0]))
    moved[17] = half * (dot(a[1], b[0]) - dot(a[0], b[1]))


@inlined
def _limited(turn: Vector, largest: float) -> Vector:
    size = norm(turn)
    if size <= largest:
        return turn
    return (largest / size * turn[0], largest / size * turn[1], largest / size * turn[2])
