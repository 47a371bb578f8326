"""Steps that are ready: rows of the driver up to whose time all inputs have arrived; arithmetic."""

from inertial_estimation.compilation import Integers, MutableColumn, compiled, inlined
from inertial_estimation.estimators.inputs.aligner_memory import (
    APPENDED,
    AWAITED,
    BUFFER,
    CHANGED,
    COMPLETE,
    CONTESTED,
    FOUND,
    HALF_WINDOW_NS,
    INPUTS,
    KNOWN,
    LAST_NS,
    MAX_GAP_NS,
    MAX_WAIT_NS,
    NUMBERS,
    PENDING,
    RECEIVED,
    REQUIRED,
    SEEN,
    STAMPS,
    STEP_STAMP_NS,
    STEP_TIME_NS,
    WATCH_NS,
    WIDTH,
    buffer_rows,
    stream_of,
)
from inertial_estimation.estimators.inputs.stamped_buffer import BEGIN, CAPACITY, END, FIRST, row_at
from inertial_estimation.estimators.inputs.thinned_mean import take_into_mean
from inertial_estimation.signals import NANOSECONDS

# What has been found: no row of the driver up to whose time all inputs have arrived; a step; a row of the
# driver that has been overwritten in its buffer while it was waiting.
WAITING, STEP, OVERRUN = range(3)
MISSING = 6  # the time between two readings over the longest that may be missing at the end of a window


@compiled
def next_step(n: Integers, x: MutableColumn, out: MutableColumn) -> int:
    """Take rows of the driver into the mean until a step is due; return what has been found.

    Args:
        n: Integers of the aligner; those of the step are changed.
        x: Numbers of the aligner; changed.
        out: The mean of the driver, and the interpolated rows of the inputs that steps need, one after the
            other; empty where steps carry no numbers; changed.
    """
    m = stream_of(0, n)
    rows, width = buffer_rows(m, x), m[WIDTH] if n[NUMBERS] != 0 else 0
    while True:
        found = _pending(n)
        if found == WAITING:
            return WAITING
        place, stamp = m[BUFFER + END] - n[PENDING], n[STAMPS + (n[APPENDED] - n[PENDING]) % CAPACITY]
        n[PENDING] -= 1
        if found == OVERRUN:
            return OVERRUN
        time, row = m[BUFFER + FIRST + place], rows[place * m[WIDTH] : place * m[WIDTH] + width]
        if take_into_mean(time, row, n, x[:width], out[:width]):
            _complete(stamp, time, width, n, x, out)
            return STEP


@inlined
def tick_is_idle(n: Integers) -> bool:
    """Do what a tick does if it finds no row of the driver to take; return false where there is one.

    Args:
        n: Integers of the aligner; changed.
    """
    if n[CHANGED] != 0:
        if _pending(n) != WAITING:
            return False
        n[CHANGED] = 0
    n[SEEN] = stream_of(0, n)[RECEIVED]
    return True


@inlined
def _pending(n: Integers) -> int:
    """Return what the first row of the driver without a step is: part of a STEP, WAITING or OVERRUN."""
    if n[PENDING] == 0:
        return WAITING
    m = stream_of(0, n)
    if n[PENDING] > m[BUFFER + END] - m[BUFFER + BEGIN]:
        return OVERRUN
    return STEP if _arrived(m[BUFFER + FIRST + m[BUFFER + END] - n[PENDING]], n) else WAITING


@inlined
def _complete(stamp: int, time: int, begin: int, n: Integers, x: MutableColumn, out: MutableColumn) -> None:
    """Write the rows of the inputs that a step needs, from a place on; note which of them there are."""
    n[STEP_STAMP_NS], n[STEP_TIME_NS], n[COMPLETE] = stamp, time, 1
    for k in range(1, n[INPUTS]):
        m = stream_of(k, n)
        if m[REQUIRED] != 0:
            rows, end = buffer_rows(m, x), begin + m[WIDTH] if n[NUMBERS] != 0 else begin
            m[FOUND] = 1 if row_at(time, n[MAX_GAP_NS], m[BUFFER:], rows, out[begin:end]) else 0
            n[COMPLETE] = n[COMPLETE] * m[FOUND]
            begin = end
    if n[COMPLETE] != 0:
        n[WATCH_NS] = stamp


@inlined
def _arrived(time: int, n: Integers) -> bool:
    """Return whether no input is waited for any longer by a step; note the one that is."""
    half = n[HALF_WINDOW_NS]
    horizon = time + half
    driver = stream_of(0, n)[BUFFER:]
    if not _reaches(horizon, half, driver):
        return False
    if driver[FIRST + driver[END] - 1] - horizon >= n[MAX_WAIT_NS]:
        return True
    for k in range(n[INPUTS] - 1, 0, -1):  # the last to come completes a step
        m = stream_of(k, n)
        if m[REQUIRED] != 0 and not _reaches(horizon, half, m[BUFFER:]):
            n[AWAITED] = k
            return False
    return True


@inlined
def _reaches(horizon: int, half: int, times: Integers) -> bool:
    """Return whether the rows of an input reach up to the end of the window of a step.

    A regular reading often falls on the end, in one window just before it and in the next one just behind it
    by the jitter of its stamp. Were it waited for with every window, every other step would be late by one
    reading. A window holds the rows between its ends and needs none behind, so that a share of the time
    between two readings may be missing.

    Args:
        horizon: End of the window [ns].
        half: Half of its width [ns]; 0: steps take interpolated rows, which must reach it.
        times: Times of the buffer of the input.
    """
    rows, newest = times[END] - times[BEGIN], FIRST + times[END] - 1
    if rows < 1:
        return False
    missing = horizon - times[newest]
    if missing <= 0 or half == 0 or rows < 3:
        return bool(missing <= 0)
    between = min(times[newest] - times[newest - 1], times[newest - 1] - times[newest - 2])
    return bool(missing * MISSING <= between)


@inlined
def held_from(usual_wait: int, timeout: float) -> int:
    """Return the time without a complete step from which the output counts as held [ns].

    Args:
        usual_wait: What a step usually waits for [ns].
        timeout: Time beyond that [s].
    """
    return usual_wait + round(timeout * NANOSECONDS)


@compiled
def all_present(now: int, timeout: float, usual_wait: int, n: Integers) -> bool:
    """Return whether all inputs that steps need are fresh, on one clock, and steps are completed.

    Args:
        now: The caller's time [ns], on the clock of the stamps.
        timeout: Age from which an input counts as lost [s].
        usual_wait: As for `held_from`.
        n: Integers of the aligner.
    """
    for k in range(n[INPUTS]):
        m = stream_of(k, n)
        fresh = m[KNOWN] != 0 and m[CONTESTED] == 0 and (now - m[LAST_NS]) * 1e-9 <= timeout
        if (k == 0 or m[REQUIRED] != 0) and not fresh:
            return False
    return bool(stream_of(0, n)[LAST_NS] - n[WATCH_NS] <= held_from(usual_wait, timeout))
