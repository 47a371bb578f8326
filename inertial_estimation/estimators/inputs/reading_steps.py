"""What every reading of a sensor changes, and whether it has to be looked at: arithmetic of its checks."""

import math
from collections.abc import Sequence

import numpy as np

from inertial_estimation.compilation import (
    Column,
    MutableColumn,
    MutableTable,
    compiled,
    inlined,
    numbers,
)
from inertial_estimation.signals import Array

READINGS_STUCK = 8  # equal readings from which a noisy sensor is stuck
READINGS_OF_NOISE = 100  # readings over which noise is recognised, before it can be missed
NOISE_SHARE = 0.3  # of the steps, that turn back: two thirds for white noise, next to none for smooth motion
NOISE_MEMORY = 0.98  # weight of the earlier readings in that share
LOOK_MEMORY = 0.9  # weight of the earlier looks in the share of turns of a single number
LOOKS_OF_NOISE = 16  # looks without a repeated value, after which one can be missed
SUDDEN = 6.0  # squared norm over the one before, beyond which a change is looked at
USUAL_EVERY = 8  # readings between two that are averaged into the usual one
USUAL_SHARE = 1.0 / 16.0  # of such a reading in the average

# Columns of the states of the quantities of a row. Those of the quantity: where its numbers begin and end in
# the row, the square of the norm of its floor, and whether faults of its sign, by being stuck, by being zero
# are known and it has one direction; 0 or 1.
FIRST, STOP, FLOOR_SQUARE, SIGN, STUCK, ZERO, ONE_WAY = range(7)
# Those that readings change: squared norm of the last reading and of the one before it, their product; last
# change of the squared norm, share of changes that turn back, number of readings that changed, number of
# readings equal to the one before, whether the last change was from below the floor, whether there has been
# a reading, whether the last one has to be looked at, whether a fault, a change of unit or sign is followed;
# whether there is a usual size, the average logarithm of the squared norm, whether there is a usual reading.
SQUARE, BEFORE, PRODUCT, STEP, TURNS, READINGS, EQUAL, UNLOADED, BEGUN, LOOK, ACTIVE = range(7, 18)
LOG_KNOWN, LOG_SQUARE, USUAL_KNOWN, STATE_SIZE = range(18, 22)


def new_states(quantities: Sequence[Sequence[float]]) -> Array:
    """Return the states of n quantities without a reading, shape (n, STATE_SIZE).

    Args:
        quantities: The constants of each, `FIRST` to `ONE_WAY`, and possibly more of its state.
    """
    return numbers(np.array([[*row, *(0.0,) * (STATE_SIZE - len(row))] for row in quantities]))


def begin_anew(state: Array) -> None:
    """Forget the readings of a quantity, by its row of the states."""
    for column in range(SQUARE, STATE_SIZE):
        state[column] = 0.0


@inlined
def is_noisy(state: MutableColumn) -> bool:
    """Return whether the readings of a quantity have noise, so that they never repeat."""
    return bool(state[READINGS] >= READINGS_OF_NOISE and state[TURNS] > NOISE_SHARE)


@inlined
def follow(
    row: Column, last: Column, first: int, count: int, states: MutableTable, usual: MutableColumn
) -> bool:
    """Take a row into the states of its quantities.

    Args:
        row: The row, shape (width,).
        last: The row before, shape (width,).
        first: First of the rows of the states that are those of the quantities.
        count: Number of the quantities.
        states: Changed, shape (., STATE_SIZE).
        usual: Usual readings of the quantities, at the columns of their numbers; changed, shape (width,).

    Returns:
        Whether a quantity has to be looked at: it may be at fault, its change was sudden or from below the
        floor, or it was at fault. One of some readings that need not is taken into the averages.
    """
    looked = False
    for k in range(first, first + count):
        look = _take(row, last, states[k], usual)
        states[k][LOOK] = 1.0 if look else 0.0
        looked = looked or look
    return looked


@inlined
def take_usual(row: Column, square: float, state: MutableColumn, usual: MutableColumn) -> None:
    """Take a reading into the slow averages: of the logarithm of its squared norm and, if large, of itself.

    Args:
        row: The row it is in, shape (width,).
        square: Its squared norm, positive.
        state: State of the quantity; changed.
        usual: As for `follow`; changed.
    """
    size = math.log(square)
    if state[LOG_KNOWN] > 0.0:
        size = state[LOG_SQUARE] + USUAL_SHARE * (size - state[LOG_SQUARE])
    state[LOG_KNOWN], state[LOG_SQUARE] = 1.0, size
    if not square >= state[FLOOR_SQUARE] > 0.0:
        return
    x, average = row[int(state[FIRST]) : int(state[STOP])], usual[int(state[FIRST]) : int(state[STOP])]
    if state[USUAL_KNOWN] > 0.0:
        average += USUAL_SHARE * (x - average)
    else:
        average[:] = x
    state[USUAL_KNOWN] = 1.0


@inlined
def _take(row: Column, last: Column, state: MutableColumn, usual: MutableColumn) -> bool:
    """Take a row into the state of one quantity; return whether it has to be looked at."""
    first, stop = int(state[FIRST]), int(state[STOP])
    product = 0.0
    if stop - first == 3:
        a, b, c = row[first], row[first + 1], row[first + 2]
        square = a * a + b * b + c * c
        if state[SIGN] > 0.0:
            product = a * last[first] + b * last[first + 1] + c * last[first + 2]
    else:
        x = row[first:stop]
        square = float(np.dot(x, x))
        if state[SIGN] > 0.0:
            product = float(np.dot(x, last[first:stop]))
    before = state[SQUARE]
    state[BEFORE], state[SQUARE], state[PRODUCT] = before, square, product
    if state[BEGUN] == 0.0:
        state[BEGUN] = 1.0
        return False
    step = square - before
    if step == 0.0:
        state[EQUAL] += 1.0
        return state[ACTIVE] > 0.0 or _may_be_stuck(state)
    if _takes_change(state, step):
        return True
    if state[READINGS] % USUAL_EVERY == 0.0 and square > 0.0:
        take_usual(row, square, state, usual)
    return False


@inlined
def _takes_change(state: MutableColumn, step: float) -> bool:
    """Take a reading whose squared norm has changed; return whether it has to be looked at."""
    before, square, floor = state[BEFORE], state[SQUARE], state[FLOOR_SQUARE]
    state[EQUAL] = 0.0
    state[UNLOADED] = 1.0 if before < floor else 0.0
    state[TURNS] *= NOISE_MEMORY
    if step * state[STEP] < 0.0:
        state[TURNS] += 1.0 - NOISE_MEMORY
    state[STEP] = step
    state[READINGS] += 1.0
    steady = before < SUDDEN * square < SUDDEN * SUDDEN * before and state[PRODUCT] >= 0.0
    loaded = state[ONE_WAY] > 0.0 and before < floor <= square
    return not steady or loaded or state[ACTIVE] > 0.0


@inlined
def _may_be_stuck(state: MutableColumn) -> bool:
    """Return whether equal norms mean a fault, if the readings are equal as well."""
    if state[EQUAL] < READINGS_STUCK:
        return False
    if state[ONE_WAY] > 0.0 and state[SQUARE] == 0.0 and state[UNLOADED] > 0.0:
        return False  # a foot in the air, whose driver sends zero for small forces
    zero = state[SQUARE] == 0.0 and state[ZERO] > 0.0 and state[READINGS] > 0.0
    return bool(zero or (state[STUCK] > 0.0 and is_noisy(state)))


@inlined
def suspicious(x: Column, last: Column, looks: float, turns: Column, repeated_at: Column) -> bool:
    """Return whether a number that had noise repeats while others change.

    Args:
        x: The numbers, shape (n,).
        last: Those of the reading before, shape (n,).
        looks: Number of looks before this one.
        turns: Share of changes that turn back, shape (n,).
        repeated_at: Number of the look at which each number has repeated last, shape (n,).
    """
    suspect, changed = False, False
    for i in range(len(x)):
        if x[i] != last[i]:
            changed = True
        elif turns[i] > NOISE_SHARE and looks - repeated_at[i] >= LOOKS_OF_NOISE:
            suspect = True
    return suspect and changed


@compiled
def look_for_noise(
    x: Column, last: Column, before: Column, looks: float, turns: MutableColumn, repeated_at: MutableColumn
) -> bool:
    """Note which numbers of a reading have noise, unless one is `suspicious`; return whether one is."""
    suspect = suspicious(x, last, looks, turns, repeated_at)
    if not suspect:
        note_noise(x, last, before, looks, turns, repeated_at)
    return suspect


@inlined
def note_noise(
    x: Column, last: Column, before: Column, looks: float, turns: MutableColumn, repeated_at: MutableColumn
) -> None:
    """Note which numbers of a reading have noise.

    Args:
        x: The numbers, shape (n,).
        last: Those of the reading before, shape (n,).
        before: Those of the one before that, shape (n,).
        looks: Number of looks before this one.
        turns: Share of changes that turn back, shape (n,); changed.
        repeated_at: Number of the look at which each number has repeated last, shape (n,); changed.
    """
    for i in range(len(x)):
        step = x[i] - last[i]
        if step == 0.0:
            repeated_at[i] = looks + 1.0
        turns[i] *= LOOK_MEMORY
        if step * (last[i] - before[i]) < 0.0:
            turns[i] += 1.0 - LOOK_MEMORY
