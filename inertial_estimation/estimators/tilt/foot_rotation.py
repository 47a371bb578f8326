"""Angular velocity of the IMU by the feet that stand, in the place of a gyroscope that contradicts them.

A sole does not turn: w + w_IC = 0. Two points at rest keep their distance: d' + w x d = 0 for their relative
position d and velocity d' in the IMU frame, which leaves the rotation about d unknown; three determine w.
"""

import math

import numpy as np

from inertial_estimation.compilation import (
    Column,
    MutableColumn,
    MutableTable,
    Table,
    compiled,
    inlined,
    numbers,
    warm_up,
    zeros,
)
from inertial_estimation.estimators.tilt.usual_size import UsualSize
from inertial_estimation.models.contact_motions import KinematicState
from inertial_estimation.signals import Array
from inertial_estimation.spatial.vectors import (
    ZERO,
    Vector,
    add,
    combine,
    cross,
    distance,
    dot,
    matrix_of,
    norm,
    vector_of,
)

__all__ = ["FootRotation", "rate_of_points"]

SHORT, LONG = 0.1, 0.5  # time constants of the integrated differences [s]
WRONG = math.radians(3.5)  # integrated difference beyond which the gyroscope is wrong; iCub's walk: 3 deg
USUAL, HIGHEST = 8.0, 3.0  # the limit follows this many times the usual size, up to this many times `WRONG`
ON_A_LINE = 2.0  # times that where two points stand: a slip by a seventh of their distance turns them so
RIGHT = math.radians(0.6)  # that below which it is right again
LARGEST = math.radians(9.0)  # to which the short integral is limited, so that it vanishes soon
EXPLAINED = 0.5  # share of a turned vertical that the long integral explains where the gyroscope is wrong
LEAST_LONG = math.radians(3.0)  # long integral across the vertical below which it explains nothing
DOUBTED = 0.3  # difference from which joint velocities are compared with differences of positions [rad/s]
LONGEST_JUMP = 0.1  # time after a jump of the gyroscope in which no difference is limited [s]
LONGEST_BLAME = 1.0  # time without feet after which nothing speaks against the gyroscope any more [s]
STEP = math.radians(1.0)  # of one step, unless the gyroscope itself has jumped: joints jump, too
LEAST_SHARE = 0.15  # of the load, below which a point foot may skid, or seem to stand while it swings
SINGULAR = 1e-3  # determinant over the cube of the trace, below which points lie on a line


class FootRotation:
    """Compares the gyroscope with the feet at every step, and replaces it while it is wrong.

    Attributes:
        replacing: Whether the rate of the feet is used.
        lost: Whether neither gyroscope nor feet give the whole rate, so that the vertical is lost.
        known: Whether the feet told anything about the rotation at the last step.
        rate: Angular velocity of the IMU by the feet at the last step [rad/s]; None where they did not
            determine it.
    """

    def __init__(self, soles: tuple[bool, ...]) -> None:
        """Begin with a sound gyroscope.

        Args:
            soles: Whether each contact is a sole that cannot turn while loaded.
        """
        self._soles = numbers(np.array(soles, dtype=float))
        self._moved = zeros(len(soles), 18)  # memory for motions by differences of positions
        self._doubts = 0
        self._usual = UsualSize(WRONG, USUAL, HIGHEST * WRONG)
        self.replacing = False
        warm_up()
        self.reset()

    def reset(self) -> None:
        """Forget the differences; a wrong gyroscope stays wrong."""
        self._without_feet = 0.0  # time since the feet last gave a rotation [s]
        self.lost = False
        self.known = False
        self.rate: Vector | None = None
        self._before: KinematicState | None = None
        self._since_jump = math.inf
        self._integrals: tuple[Vector, Vector] = (ZERO, ZERO)  # of the differences, short and long [rad]

    @property
    def mean_rate(self) -> float:
        """Mean difference between feet and gyroscope over the last 0.1 s [rad/s]."""
        return norm(self._integrals[0]) / SHORT

    def explains(self, turn: Vector, x2: Vector) -> bool:
        """Return whether an error of the gyroscope in the last half second explains a turned vertical.

        Args:
            turn: Rotation from the observer's vertical to that of accelerometer and contact velocity [rad].
            x2: The vertical; a rotation about it does not move it.
        """
        long = self._integrals[1]
        across = combine(long, -dot(long, x2), x2)
        return norm(across) > self._usual.scale * LEAST_LONG and -dot(turn, across) > EXPLAINED * dot(
            turn, turn
        )

    def replace(self) -> Vector:
        """Use the rate of the feet from now on; return the angle missed by the gyroscope [rad]."""
        self.replacing = True
        short, missed = self._integrals
        self._integrals = short, ZERO
        return missed

    def check(
        self, h: float, w: Vector, state: KinematicState | None, weights: Array, doubts: int
    ) -> tuple[Vector, Vector | None]:
        """Compare the rate of one step with the feet.

        Args:
            h: Duration of the step [s].
            w: Angular velocity by the gyroscope, bias removed, mean over the step [rad/s].
            state: Kinematics of the contacts; None where missing.
            weights: Weights of the contacts, as `ContactVelocity.weights`; zero: not in use.
            doubts: Number of jumps of the gyroscope until now.

        Returns:
            The angular velocity to use [rad/s], and, where the gyroscope has just been found wrong, the angle
            by which the frame has been turned too little meanwhile [rad].
        """
        self._since_jump = 0.0 if doubts != self._doubts else self._since_jump + h
        self._doubts = doubts
        before, self._before = self._before, state
        if state is None:
            return self._unknown(h, w)
        motions = state.motions, state.motions if before is None else before.motions
        limited = self._since_jump > LONGEST_JUMP and not self.replacing
        found, complete, rate, self._integrals, missed = _compare(
            *(h, w, motions, before is not None, weights, self._soles, self._moved),
            *(self.replacing, limited, self._usual.scale, self._integrals),
        )
        self.known, self.rate = found, rate if complete else None
        if not found:
            return self._unknown(h, w)
        self._without_feet = 0.0
        self.lost = self.replacing and not complete
        size = norm(self._integrals[0])
        if self.replacing:
            self.replacing = size > RIGHT
            return rate, None
        if size <= self._usual.limit * (1.0 if complete else ON_A_LINE):
            self._usual.learn(h, size)
            return w, None
        self.replacing, self._integrals = True, (self._integrals[0], ZERO)
        return rate, missed

    def _unknown(self, h: float, w: Vector) -> tuple[Vector, None]:
        """Continue where the feet tell nothing: a robot that has fallen has none that clear the gyroscope."""
        self.known, self.rate = False, None
        self._without_feet += h
        if self._without_feet > LONGEST_BLAME:
            self.replacing = False
        self._integrals = _forgotten(h, self._integrals)
        self.lost = self.replacing
        return (ZERO if self.replacing else w), None


@compiled
def _compare(
    h: float,
    w: Vector,
    motions: tuple[Table, Table],
    begin_known: bool,
    weights: Column,
    soles: Column,
    moved: MutableTable,
    replacing: bool,
    limited: bool,
    scale: float,
    integrals: tuple[Vector, Vector],
) -> tuple[bool, bool, Vector, tuple[Vector, Vector], Vector]:
    """Integrate the difference between gyroscope and feet over one step.

    Args:
        h: Duration of the step [s].
        w: Angular velocity by the gyroscope [rad/s].
        motions: Rows of `KinematicState.motions` at the end of the step and at its begin.
        begin_known: Whether those at the begin are known.
        weights: Weights of the contacts.
        soles: 1 for a contact that cannot turn while loaded, 0 for the others.
        moved: Memory for the motions by differences of positions.
        replacing: Whether the rate of the feet is used.
        limited: Whether the difference of one step is limited.
        scale: Present limit of the integral over the least one.
        integrals: Short and long one at the begin [rad].

    Returns:
        Whether the feet tell anything, whether they determine the rate, the rate that they allow [rad/s], the
        integrals, and the long one before this step [rad]; unchanged where they tell nothing.
    """
    found, complete, rate = _rate(h, w, motions, begin_known, weights, soles, moved, replacing)
    if not found:
        return False, False, rate, integrals, ZERO
    d = (rate[0] - w[0], rate[1] - w[1], rate[2] - w[2])
    short, missed = _forgotten(h, integrals)
    long = combine(missed, h, d)
    step = h * norm(d)
    if step > STEP and limited:
        d = (STEP / step * d[0], STEP / step * d[1], STEP / step * d[2])
    return True, complete, rate, (_limited(combine(short, h, d), scale * LARGEST), long), missed


@inlined
def _forgotten(h: float, integrals: tuple[Vector, Vector]) -> tuple[Vector, Vector]:
    s, g = integrals
    keep, keep_long = 1.0 - h / (h + SHORT), 1.0 - h / (h + LONG)
    short = (keep * s[0], keep * s[1], keep * s[2])
    return short, (keep_long * g[0], keep_long * g[1], keep_long * g[2])


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
def rate_of_points(motions: Table, weights: Column, w: Vector) -> tuple[Vector, bool]:
    """Return the rate nearest to a given one with which points at rest keep their distances.

    Least squares over the pairs with the first point: (sum |d|^2 1 - d d') delta = -sum d x (d' + w x d).

    Args:
        motions: Rows of `KinematicState.motions`.
        weights: Shares of the contacts; at least two of `LEAST_SHARE`, those that are used.
        w: Angular velocity of the IMU [rad/s].

    Returns:
        Angular velocity [rad/s], and whether the points determine it, which those on a line do not.
    """
    first, xx, yy, zz, xy, xz, yz, right = -1, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, ZERO
    for i in range(len(weights)):
        if weights[i] < LEAST_SHARE:
            continue
        if first < 0:
            first = i
            continue
        d = combine(vector_of(motions[first], 9), -1.0, vector_of(motions[i], 9))
        change = combine(vector_of(motions[first], 12), -1.0, vector_of(motions[i], 12))
        right = combine(right, -1.0, cross(d, add(change, cross(w, d))))
        x, y, z = d
        xx, yy, zz = xx + y * y + z * z, yy + x * x + z * z, zz + x * x + y * y
        xy, xz, yz = xy - x * y, xz - x * z, yz - y * z
    trace = max(xx + yy + zz, 1e-4)
    rows = ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))
    c = (cross(rows[1], rows[2]), cross(rows[2], rows[0]), cross(rows[0], rows[1]))
    determinant = dot(rows[0], c[0])
    if determinant < SINGULAR * trace**3:  # on a line: |d|^2 is half the trace
        return combine(w, 2.0 / trace, right), False
    scale = 1.0 / determinant
    return combine(w, scale, (dot(c[0], right), dot(c[1], right), dot(c[2], right))), True


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
