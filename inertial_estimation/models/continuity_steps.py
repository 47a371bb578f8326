"""What a usual joint state changes of what is known of those before it (`JointContinuity`); arithmetic."""

import math

import numpy as np

from inertial_estimation.compilation import Column, Integers, MutableTable, compiled, inlined
from inertial_estimation.models.input_ranges import FREE_POSITION
from inertial_estimation.models.joint_tracks import (
    BEGIN,
    BEGUN,
    BLOCKS,
    DIFFERENCES,
    ELAPSED,
    FIGURES,
    KNOWN_BLOCKS,
    LONGEST,
    LONGEST_NS,
    MEMORY,
    RIGHT,
    RUN,
    SPEEDS,
    STAMP_NS,
    TAKEN,
    TRACK,
    TRAVEL,
    TURNS,
    USUAL,
    Q,
    V,
    track_of,
)
from inertial_estimation.models.joint_turns import FULL_TURN
from inertial_estimation.models.position_jump import JUMP

STILL_TRAVEL = 0.02  # that frozen positions lag behind their velocity [rad or m]
USUAL_SHARE = 0.1  # of a new repetition in the usual one
BLOCK_S = 0.05  # of the blocks of time over which travel and velocity are compared
FORGETTING = 0.97  # per block, of what a position lags behind its velocity: a memory of 1.6 s
DIFFERENCE = 0.06  # of travel and integrated velocity over that time [rad or m]
VELOCITY_LAG = 0.05  # of measured velocities behind positions, or the reverse [s]

FOLLOWS, NOT_USUAL = -1, -2  # results: taken, positions follow velocities; not taken, and nothing has changed


@compiled
def continue_joints(stamp: int, q: Column, v: Column, n: Integers, x: MutableTable) -> int:
    """Take a joint state if it is usual; see `continued`."""
    return continued(stamp, q, v, n, x)


@inlined
def continued(stamp: int, q: Column, v: Column, n: Integers, x: MutableTable) -> int:
    """Take a joint state if it continues the current track and is usual.

    Usual are changes below the smallest jump at velocities that are finite and not all zero, and joint states
    that repeat for too short a time to be frozen.

    Args:
        stamp: Its stamp [ns].
        q: Positions in the model's order [rad or m], shape (n_joints,).
        v: The velocities it has, which are used [rad/s or m/s], shape (n_joints,).
        n: Integers of the joint states; changed.
        x: Their numbers; changed.

    Returns:
        `NOT_USUAL`, `FOLLOWS`, or the number of a joint whose position does not follow its velocity.
    """
    step = stamp - n[STAMP_NS]
    if not 0 < step <= n[LONGEST_NS] or len(q) == 0:
        return NOT_USUAL
    track = track_of(n[TRACK], x)
    figures, h = track[FIGURES], step * 1e-9
    if figures[BEGUN] == 0.0:
        return NOT_USUAL
    largest = _usual_change(q, v, figures[RUN] + h, track)
    if largest < 0.0:
        return NOT_USUAL
    if largest == 0.0:
        figures[RUN] += h
    else:
        figures[USUAL] += USUAL_SHARE * (figures[RUN] - figures[USUAL])
        figures[RUN] = 0.0
        figures[RIGHT] += h
    track[Q, : len(q)] = q
    track[V, : len(q)] = v
    n[STAMP_NS] = stamp
    n[TAKEN] += 1
    add_travel(h, v, track)
    return _block(q, v, x[TURNS], track) if figures[ELAPSED] >= BLOCK_S else FOLLOWS


@inlined
def _usual_change(q: Column, v: Column, run: float, track: MutableTable) -> float:
    """Return the largest change of a position; -1 where something is not usual."""
    last, v_last = track[Q], track[V]
    largest, fastest, repeats = 0.0, 0.0, True
    for i in range(len(q)):
        change, speed = abs(q[i] - last[i]), abs(v[i])
        if not (change <= JUMP and speed < math.inf):
            return -1.0
        largest, fastest = max(largest, change), max(fastest, speed)
        repeats = repeats and v[i] == v_last[i]
    if fastest == 0.0 or (largest == 0.0 and not (repeats and run * fastest < STILL_TRAVEL)):
        return -1.0
    return largest


@inlined
def add_travel(h: float, v: Column, track: MutableTable) -> None:
    """Add the travel at velocities over a step [s] to the block."""
    figures, travel = track[FIGURES], track[TRAVEL, : len(v)]
    travel += h * v
    figures[ELAPSED] += h
    figures[LONGEST] = max(figures[LONGEST], h)


@inlined
def begin_travel(track: MutableTable) -> None:
    """Begin with the next joint state."""
    figures = track[FIGURES]
    track[MEMORY, :] = 0.0
    track[TRAVEL, :] = 0.0
    figures[KNOWN_BLOCKS] = figures[BEGUN] = figures[ELAPSED] = figures[LONGEST] = 0.0


@compiled
def take_block(q: Column, v: Column, turns: Column, track: MutableTable) -> int:
    """Compare travel and velocity at the end of a block; see `_block`."""
    return _block(q, v, turns, track)


@inlined
def _block(q: Column, v: Column, turns: Column, track: MutableTable) -> int:
    """Compare travel and velocity at the end of a block of time.

    Returns:
        Number of a joint whose position does not follow its velocity; `FOLLOWS` where all do.
    """
    m, figures = len(q), track[FIGURES]
    if not np.abs(track[TRAVEL, :m]).max() < FREE_POSITION:
        begin_travel(track)  # velocities that no joint has
        return FOLLOWS
    off = q - track[BEGIN, :m] - track[TRAVEL, :m]
    off -= turns[:m] * (FULL_TURN * np.rint(off / FULL_TURN))
    track[MEMORY, :m] = FORGETTING * track[MEMORY, :m] + off
    track[BEGIN, :m] = q
    track[TRAVEL, :] = 0.0
    figures[ELAPSED] = 0.0
    figures[KNOWN_BLOCKS] = min(figures[KNOWN_BLOCKS] + 1.0, float(BLOCKS))
    return _worst(off, v, track)


@inlined
def _worst(off: Column, v: Column, track: MutableTable) -> int:
    """Take a block into the history; return which position does not follow its velocity."""
    m, first = len(v), BLOCKS - int(track[FIGURES][KNOWN_BLOCKS])
    for k in range(first, BLOCKS - 1):
        track[DIFFERENCES + k] = track[DIFFERENCES + k + 1]
        track[SPEEDS + k] = track[SPEEDS + k + 1]
    track[DIFFERENCES + BLOCKS - 1, :m] = off
    track[SPEEDS + BLOCKS - 1, :m] = np.abs(v)
    total, speed = np.zeros(m), np.zeros(m)
    for k in range(first, BLOCKS):
        total += track[DIFFERENCES + k, :m]
        speed = np.maximum(speed, track[SPEEDS + k, :m])
    lag = VELOCITY_LAG + 2.0 * track[FIGURES][LONGEST]
    excess = np.abs(total) - DIFFERENCE - lag * speed
    worst = int(np.argmax(excess))
    return worst if excess[worst] > 0.0 else FOLLOWS


@compiled
def largest_change(before: Column, after: Column) -> float:
    """Return the largest difference of two rows, NaN where there is one; 0 where they are empty."""
    return float(np.abs(after - before).max()) if len(after) > 0 else 0.0
