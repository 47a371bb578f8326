"""Joint states against those before: positions that jump, stand still, or do not follow their velocities.

One rule: over the time h between two joint states a position changes by h times the mean of their velocities.
What it differs by is followed joint by joint. Values that no joint has are dropped by `joint_range`.
"""

import math

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.compilation import (
    Column,
    Integers,
    MutableTable,
    compiled,
    inlined,
    integers,
    warm_up,
)
from inertial_estimation.inputs.config import InputConfig
from inertial_estimation.models.drop_reasons import REPORTED_NS
from inertial_estimation.models.input_ranges import FREE_POSITION
from inertial_estimation.models.joint_turns import FULL_TURN
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import NANOSECONDS, Array

JUMP = 0.1  # least jump of a position for which a joint state is dropped [rad or m]
JUMP_LAG = 0.05  # by which a position and its velocity may be apart [s]
RETURN_LAG = 0.1  # the same over the time since a jump, when a position is back [s]
LARGEST_ACCELERATION = 200.0  # of a joint between two joint states [rad/s^2 or m/s^2]
CATCH_UP = 1.2  # factor on what a position lags behind its velocity, up to which a jump makes up for it
HELD_S = 0.8  # for which joint states are refused after a jump; a longer gap is a jump of the clock
START_S = 0.3  # joint states before a jump that are too few to doubt those after it for good
MEMORY_S = 1.0  # over which it is forgotten what a position lags behind its velocity
DIFFERENCE = 0.06  # such a lag that is reported [rad or m]
VELOCITY_LAG = 0.05  # of filtered velocities behind positions, or the reverse, which is none [s]
STILL_TRAVEL = 0.02  # that joint states which stand still lag behind their velocity [rad or m]
USUAL_SHARE, USUAL_RUNS = 0.1, 3.0  # of a new repetition in the usual one; factor on it for standing still

# Integers: last stamp [ns], whether there is one, longest step that is compared [ns], what was found last,
# state of a jump, stamp [ns] and joint of the last lag that is reported, first stamp of all [ns].
STAMP_NS, KNOWN, LONGEST_NS, FOUND, STATE, LAG_NS, LAGGING, BEGIN_NS, SIZE = range(9)
# What is found; refused are joint states that have jumped, stand still, or show that the first were wrong.
FOLLOWS, JUMPED, STANDS, BEGINS = range(4)
NONE, HELD, BELIEVED = range(3)  # states of a jump
# Rows of numbers by joint: whether it turns without limits; position, velocity, lag, largest recent speed of
# the last joint state; by how much the position has jumped; position and velocity before. Then figures: time
# for which joint states repeat, the usual one, time for which they have been right, time since a jump [s].
TURNS, Q, V, LAG, SPEED, SHIFT, Q_GOOD, V_GOOD, FIGURES, ROWS = range(10)
RUN, USUAL, RIGHT, AGE, REPORTED, COUNT = range(6)


class JointChecks:
    """Follows the joint states of one robot (`check_joints`).

    - A position jumps (joints exchanged, an encoder that slips): joint states are refused until it is back,
      at most for `HELD_S` and for as long as they had been right; then they are believed, with a remark.
    - Positions and velocities repeat exactly, and these velocities are not zero: refused.
    - A position lags behind its velocity: used, with a remark.

    Attributes:
        n: Integers, as compiled functions change them.
        x: Numbers by joint.
    """

    def __init__(self, robot: RobotModel, config: InputConfig) -> None:
        """Begin without a joint state.

        Args:
            robot: The model.
            config: The widest gap between two joint states that are compared.
        """
        self._names = robot.joint_names
        self.n, self._cells = integers(SIZE)
        self.x: Array = np.zeros((ROWS, max(len(self._names), COUNT)))
        self.x[TURNS, robot.continuous_joints] = 1.0
        self._cells[LONGEST_NS] = round(NANOSECONDS * min(config.max_gap, config.jump))
        self.reset()
        warm_up()

    def reset(self) -> None:
        """Forget all joint states and what was found."""
        for cell in (KNOWN, FOUND, STATE):
            self._cells[cell] = 0
        self.x[V] = 0.0
        self._cells[LAGGING] = -1

    def fault(self, stamp_ns: int, q: Array, v: Array | None) -> str:
        """Take a joint state; return why it must not be used, empty where it may.

        Args:
            stamp_ns: Its stamp [ns].
            q: Positions in the model's order [rad or m], shape (n_joints,).
            v: Measured velocities [rad/s or m/s], shape (n_joints,); None: `note_derived` follows.
        """
        used = self.x[V, : len(q)].copy() if v is None else v
        with np.errstate(over="ignore", invalid="ignore"):  # the ranges have not been checked yet
            _check_joints(stamp_ns, q, used, v is not None, self.n, self.x)
        return self.text

    def note_derived(self, v: Array) -> None:
        """Take velocities that were derived from the positions of the last joint state."""
        if np.isfinite(v).all():
            self.x[V, : len(v)] = v

    @property
    def begins(self) -> bool:
        """Whether the last joint state has shown that the first ones of all were wrong."""
        return bool(self._cells[FOUND] == BEGINS)

    @property
    def text(self) -> str:
        """Why the last joint state must not be used, for people; empty where it may."""
        found, n = self._cells[FOUND], len(self._names)
        if found == FOLLOWS:
            return ""
        if found == BEGINS:
            return "the first positions of all were wrong: all begins anew"
        if found == JUMPED:
            return self._jump
        v = self.x[V, :n]
        fastest = int(np.abs(v).argmax())
        return f"position of {self._names[fastest]} is frozen at a velocity of {v[fastest]:.3g} rad/s"

    @property
    def remark(self) -> str:
        """What is doubtful about positions that are used, for people; empty where nothing is."""
        cells = self._cells
        if cells[STATE] == BELIEVED:
            return f"{self._jump} and is not back; call ~/reset if it is right"
        if cells[LAGGING] < 0 or not 0 <= cells[STAMP_NS] - cells[LAG_NS] < REPORTED_NS:
            return ""
        lag = self.x[FIGURES, REPORTED]
        return f"position of {self._names[cells[LAGGING]]} does not follow its velocity: {lag:+.3g} rad"

    @property
    def _jump(self) -> str:
        shift = self.x[SHIFT, : len(self._names)]
        worst, more = int(np.abs(shift).argmax()), int(np.count_nonzero(shift)) - 1
        more_of = f" (and of {more} more)" if more > 0 else ""
        return f"position of {self._names[worst]}{more_of} jumped by {shift[worst]:.3g} rad"


@compiled
def _check_joints(stamp: int, q: Column, v: Column, measured: bool, n: Integers, x: MutableTable) -> int:
    return check_joints(stamp, q, v, measured, n, x)


@inlined
def check_joints(stamp: int, q: Column, v: Column, measured: bool, n: Integers, x: MutableTable) -> int:
    """Take a joint state; return whether it FOLLOWS those before, or why it must not be used.

    One that is out of every range or late changes nothing; after a gap the comparison begins anew.

    Args:
        stamp: Its stamp [ns].
        q: Positions [rad or m], shape (n_joints,).
        v: Velocities [rad/s or m/s], shape (n_joints,).
        measured: Whether they were; others cannot contradict the positions.
        n: `JointChecks.n`; changed.
        x: `JointChecks.x`; changed.
    """
    m, step, stood = len(q), stamp - n[STAMP_NS], n[FOUND] == STANDS
    n[FOUND] = FOLLOWS
    possible = np.all(np.abs(q) < FREE_POSITION) and np.all(np.abs(v) < FREE_POSITION)
    if m == 0 or not possible or (n[KNOWN] != 0 and -n[LONGEST_NS] <= step <= 0):
        return FOLLOWS
    begins = n[KNOWN] == 0 or not 0 < step <= n[LONGEST_NS]
    n[BEGIN_NS] = stamp if n[KNOWN] == 0 else n[BEGIN_NS]
    n[STAMP_NS], n[KNOWN] = stamp, 1
    if begins:
        n[STATE], x[LAG, :], x[SPEED, :], x[FIGURES, :] = NONE, 0.0, 0.0, 0.0
    else:
        h, change = step * 1e-9, q - x[Q, :m]
        stands = measured and _stands(h, v, bool(np.all(change == 0.0)), x)
        change = change - x[TURNS, :m] * (FULL_TURN * np.rint(change / FULL_TURN))
        off = change - 0.5 * h * (x[V, :m] + v)
        if stood:  # what it has moved meanwhile is unknown
            off[:] = 0.0
        jumped = _follow_jump(h, q, v, off, n, x)
        _follow_lag(h, v, np.where(jumped, 0.0, off) if measured else 0.0 * off, n, x)
        if n[FOUND] == FOLLOWS:
            n[FOUND] = JUMPED if n[STATE] == HELD else STANDS if stands else FOLLOWS
    x[Q, :m] = q
    x[V, :m] = v
    return int(n[FOUND])


@inlined
def _stands(h: float, v: Column, repeats: bool, x: MutableTable) -> bool:
    """Return whether joint states repeat at velocities that are not zero, longer than a slow driver does."""
    figures, fastest = x[FIGURES], np.abs(v).max()
    if not repeats or fastest == 0.0 or np.any(v != x[V, : len(v)]):
        figures[USUAL] += USUAL_SHARE * (figures[RUN] - figures[USUAL])
        figures[RUN] = 0.0
        return False
    figures[RUN] += h
    return bool(figures[RUN] * fastest >= STILL_TRAVEL and figures[RUN] >= USUAL_RUNS * figures[USUAL])


@inlined
def _follow_jump(
    h: float, q: Column, v: Column, off: Column, n: Integers, x: MutableTable
) -> NDArray[np.bool_]:
    """Follow a jump of positions by a step; return which ones jump with this joint state."""
    m, figures = len(q), x[FIGURES]
    lag, shift, before = x[LAG, :m], x[SHIFT, :m], x[V, :m]
    allowed = JUMP + JUMP_LAG * np.abs(before) + 0.5 * LARGEST_ACCELERATION * h * h
    jumped = np.abs(off) > allowed + np.where(off * lag < 0.0, CATCH_UP * np.abs(lag), 0.0)
    if n[STATE] == NONE and not np.any(jumped):
        figures[RIGHT] += h
        return jumped
    first = n[STATE] == NONE
    if first:
        n[STATE], figures[AGE] = HELD, 0.0
        shift[:] = 0.0
        x[Q_GOOD, :m] = x[Q, :m]
        x[V_GOOD, :m] = before
    figures[AGE] += h
    shift += np.where(jumped, off, 0.0)
    shift *= np.abs(shift) >= JUMP + JUMP_LAG * np.abs(before)
    if n[STATE] == HELD and figures[AGE] > min(HELD_S, figures[RIGHT]):
        n[STATE] = BELIEVED if figures[RIGHT] >= START_S else NONE
        if n[STATE] == NONE and 0.0 <= (n[STAMP_NS] - n[BEGIN_NS]) * 1e-9 < 2.0 * START_S:
            n[FOUND] = BEGINS
    elif not np.any(shift) or (not first and np.any(jumped) and _is_back(q, v, x)):
        n[STATE] = NONE
    return jumped


@inlined
def _is_back(q: Column, v: Column, x: MutableTable) -> bool:
    """Return whether positions are where velocities before a jump and now may have brought them."""
    m, age, v_good = len(q), x[FIGURES, AGE], x[V_GOOD, : len(q)]
    moved = q - x[Q_GOOD, :m] - 0.5 * age * (v_good + v)
    moved = moved - x[TURNS, :m] * (FULL_TURN * np.rint(moved / FULL_TURN))
    return bool(np.all(np.abs(moved) < JUMP + RETURN_LAG * (np.abs(v_good) + np.abs(v))))


@inlined
def _follow_lag(h: float, v: Column, off: Column, n: Integers, x: MutableTable) -> None:
    """Follow by how much positions lag behind their velocities, forgotten slowly; note one that does."""
    kept, lag, speed = math.exp(-h / MEMORY_S), x[LAG, : len(v)], x[SPEED, : len(v)]
    lag[:] = kept * lag + off
    speed[:] = np.maximum(kept * speed, np.abs(v))
    excess = np.abs(lag) - DIFFERENCE - (VELOCITY_LAG + h) * speed
    worst = int(np.argmax(excess))
    if excess[worst] > 0.0:
        n[LAG_NS], n[LAGGING], x[FIGURES, REPORTED] = n[STAMP_NS], worst, lag[worst]
