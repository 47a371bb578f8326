"""Means and slopes of the inputs over the window around a step, those of all inputs in one compiled call.

An input is told by the memory of its buffer (`StampedBuffer.times`, `StampedBuffer.rows`). Its mean is moved
along its slope to the time that all inputs of a step share, the centroid of the joint states' weights.
"""

from functools import lru_cache

import numpy as np

from inertial_estimation.compilation import (
    Column,
    Integers,
    MutableColumn,
    MutableTable,
    Table,
    compiled,
    in_place_of,
    inlined,
)
from inertial_estimation.estimators.inputs.aligner_memory import BUFFER, WIDTH, buffer_rows, stream_of
from inertial_estimation.estimators.inputs.rows import WRENCH_WIDTH
from inertial_estimation.estimators.inputs.stamped_buffer import CAPACITY, FIRST, rows_between
from inertial_estimation.models.base_acceleration import motion_of_base
from inertial_estimation.models.coulomb import smooth_sign
from inertial_estimation.models.differentiation import (
    FEWEST_SAMPLES,
    WindowWeights,
    fill_weights,
    window_weights,
)
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.signals import Array, seconds
from inertial_estimation.spatial.vectors import add, combine, cross, store, vector_of

FIXED, BY_IMU, BY_STATE = range(3)  # where the motion of the base comes from
MOTION = 9  # numbers of it
SECOND = 1e-9  # of a nanosecond [s]
Weights = tuple[Integers, MutableColumn, MutableColumn, float]  # of a window: stamps, mean, slope, centroid


def weights_about(centre: int, first: int, last: int, times: Integers) -> tuple[Array, Array, float]:
    """Return the weights of mean and slope of some rows of a buffer, and the centroid of the mean [s].

    Args:
        centre: Time that the centroid is relative to [ns].
        first: Place of the first row.
        last: Place behind the last row.
        times: Times of the buffer.
    """
    stamps = np.asarray(times[FIRST + first : FIRST + last], dtype=np.int64) - centre
    weights = _cached_weights(stamps.tobytes())
    return weights.mean, weights.slope, weights.centroid


@lru_cache(maxsize=16)
def _cached_weights(stamps: bytes) -> WindowWeights:
    """Return the weights of a window, cached for streams with equal stamps and for regular windows.

    Args:
        stamps: Times relative to the window's centre [ns], as the bytes of 64-bit integers.
    """
    return window_weights(seconds(np.frombuffer(stamps, np.int64)))


@in_place_of(weights_about)
def _weights_about(centre: int, first: int, last: int, times: Integers) -> tuple[Array, Array, float]:
    n = last - first
    relative, mean, slope = np.empty(n), np.empty(n), np.empty(n)
    for i in range(n):
        relative[i] = (times[FIRST + first + i] - centre) * SECOND
    centroid = fill_weights(relative, mean, slope)
    return mean, slope, centroid


def weights_like(
    centre: int, first: int, last: int, times: Integers, known: Weights
) -> tuple[Array, Array, float]:
    """Return the weights of some rows of a buffer, those that are known if they are of the same stamps.

    Args:
        centre: As for `weights_about`.
        first: As there.
        last: As there.
        times: As there.
        known: Weights of a window of the same centre.
    """
    return weights_about(centre, first, last, times)  # which keeps those of the last windows


@in_place_of(weights_like)
def _weights_like(
    centre: int, first: int, last: int, times: Integers, known: Weights
) -> tuple[Array, Array, float]:
    stamps, mean, slope, centroid = known
    if len(stamps) != last - first:
        return weights_about(centre, first, last, times)
    for i in range(len(stamps)):
        if stamps[i] != times[FIRST + first + i]:
            return weights_about(centre, first, last, times)
    return mean, slope, centroid


def weighted_sums(mean: Array, slope: Array, rows: Array, reduced: Array) -> None:
    """Write two weighted sums of rows.

    Args:
        mean: Weights of the first one, shape (n,).
        slope: Weights of the second one, shape (n,).
        rows: Shape (n, width).
        reduced: The sums, shape (2, width); written.
    """
    reduced[0], reduced[1] = mean @ rows, slope @ rows


@in_place_of(weighted_sums)
def _weighted_sums(mean: Array, slope: Array, rows: Array, reduced: Array) -> None:
    """Read every row once, four of them at a time."""
    n, width = rows.shape
    first, second = reduced[0], reduced[1]
    first[:] = 0.0
    second[:] = 0.0
    i = 0
    while i + 4 <= n:
        a, b, c, d = mean[i], mean[i + 1], mean[i + 2], mean[i + 3]
        e, f, g, h = slope[i], slope[i + 1], slope[i + 2], slope[i + 3]
        row, row1, row2, row3 = rows[i], rows[i + 1], rows[i + 2], rows[i + 3]
        for j in range(width):
            first[j] += a * row[j] + b * row1[j] + c * row2[j] + d * row3[j]
            second[j] += e * row[j] + f * row1[j] + g * row2[j] + h * row3[j]
        i += 4
    while i < n:
        a, e, row = mean[i], slope[i], rows[i]
        for j in range(width):
            first[j] += a * row[j]
            second[j] += e * row[j]
        i += 1


@inlined
def _reduce(
    centre: int, half_width: int, driver: Weights, times: Integers, rows: Table, reduced: MutableTable
) -> bool:
    """Write mean and slope over a window; return whether there are enough rows."""
    first, last = rows_between(centre - half_width, centre + half_width, times)
    if last - first < FEWEST_SAMPLES:
        return False
    mean, slope, centroid = weights_like(centre, first, last, times, driver)
    weighted_sums(mean, slope, rows[first:last], reduced)
    reduced[0] += (driver[3] - centroid) * reduced[1]
    return True


@compiled
def mean_and_slope(
    centre: int, half_width: int, driver: Weights, times: Integers, rows: Table, reduced: MutableTable
) -> bool:
    """Write mean and slope of an input over a window; return whether there are enough rows.

    Args:
        centre: Centre of the window [ns].
        half_width: Half of its width, ends included [ns].
        driver: Weights of the joint states over the window. Their centroid, relative to the centre, is the
            time to which the mean shall belong [s]; near the centroid of the input, for which it is exact for
            linear signals.
        times: Times of the buffer.
        rows: Rows of the buffer.
        reduced: Mean, and slope [1/s], shape (2, width); written where there are enough rows.
    """
    return _reduce(centre, half_width, driver, times, rows, reduced)


@compiled
def mean_of(
    centre: int, half_width: int, driver: Weights, times: Integers, rows: Table, means: MutableTable, i: int
) -> bool:
    """Write the mean of an input over a window into row i of a table; return whether there are enough rows.

    Arguments are those of `mean_and_slope`.
    """
    reduced = np.empty((2, rows.shape[1]))
    if not _reduce(centre, half_width, driver, times, rows, reduced):
        return False
    means[i] = reduced[0]
    return True


@compiled
def imu_motion(
    centre: int,
    half_width: int,
    driver: Weights,
    times: Integers,
    rows: Table,
    columns: tuple[int, int],
    chain: Table,
    joints: Integers,
    q: Column,
    v: Column,
    a: Column,
    motion: MutableTable,
) -> bool:
    """Write the motion of the base by that of an IMU; return whether there are enough rows.

    Args:
        centre: Centre of the window [ns].
        half_width: Half of its width [ns].
        driver: As for `mean_and_slope`.
        times: Times of the buffer.
        rows: Its rows.
        columns: First ones of specific force and angular rate in a row.
        chain: Joints between base and IMU, as `ImuToBase.chain`.
        joints: As `ImuToBase.joints`.
        q: Positions of all joints at that time.
        v: Their velocities.
        a: Their accelerations.
        motion: Proper acceleration [m/s^2], angular velocity [rad/s] and angular acceleration [rad/s^2] of
            the base, its axes, shape (3, 3); written.
    """
    reduced = np.empty((2, rows.shape[1]))
    if not _reduce(centre, half_width, driver, times, rows, reduced):
        return False
    f_I, w_I = vector_of(reduced[0], columns[0]), vector_of(reduced[0], columns[1])
    f, w, wd = motion_of_base(chain, joints, q, v, a, (f_I, w_I, vector_of(reduced[1], columns[1])))
    store(motion[0], 0, f)
    store(motion[1], 0, w)
    store(motion[2], 0, wd)
    return True


@compiled
def base_state_motion(
    centre: int,
    half_width: int,
    driver: Weights,
    times: Integers,
    rows: Table,
    columns: tuple[int, int, int],
    motion: MutableTable,
) -> bool:
    """Write the motion of the base by differences of its state; return whether there are enough rows.

    The derivative of v in the rotating base axes lacks w x v, and gravity appears as upward acceleration.
    Arguments are those of `imu_motion`; the columns are the first ones of velocity, angular velocity and
    vertical.
    """
    reduced = np.empty((2, rows.shape[1]))
    if not _reduce(centre, half_width, driver, times, rows, reduced):
        return False
    mean, slope = reduced[0], reduced[1]
    w = vector_of(mean, columns[1])
    f = add(vector_of(slope, columns[0]), cross(w, vector_of(mean, columns[0])))
    store(motion[0], 0, combine(f, STANDARD_GRAVITY, vector_of(mean, columns[2])))
    store(motion[1], 0, w)
    store(motion[2], 0, vector_of(slope, columns[1]))
    return True


@compiled
def mean_sign(
    centre: int,
    half_width: int,
    times: Integers,
    rows: Table,
    first_column: int,
    speed: float,
    sign: MutableColumn,
) -> None:
    """Write the mean over a window of the smoothed sign of velocities.

    Args:
        centre: Centre of the window [ns], which holds enough rows.
        half_width: Half of its width [ns].
        times: Times of the buffer.
        rows: Rows of the buffer.
        first_column: Of the velocities.
        speed: Over which the sign is smoothed.
        sign: Written, shape (n,).
    """
    first, last = rows_between(centre - half_width, centre + half_width, times)
    mean, _slope, _centroid = weights_about(centre, first, last, times)
    v = rows[first:last, first_column : first_column + len(sign)]
    sign[:] = mean @ smooth_sign(v, speed)


@inlined
def _rows_of(m: Integers, x: Column) -> Table:
    """Return the rows of the buffer of an input of an aligner, given its integers."""
    return buffer_rows(m, x).reshape(2 * CAPACITY, m[WIDTH])


@compiled
def all_inputs(
    centre: int,
    half_width: int,
    out: MutableColumn,
    base: tuple[int, int],
    base_columns: tuple[int, int, int],
    joint_columns: tuple[int, int, int],
    chain: Table,
    joints: Integers,
    contacts: Integers,
    n: Integers,
    x: Column,
) -> int:
    """Reduce all inputs of a step over its window; return how many of them have too few rows, 0 if none.

    Args:
        centre: Centre of the window [ns].
        half_width: Half of its width [ns].
        out: Mean and then slope of the joint states, `MOTION` numbers of the base as those of `imu_motion`,
            unless the base is fixed, wrench of each contact, zero where it is not sensed; written.
        base: Where the motion of the base comes from, and the number of that input in the aligner.
        base_columns: First ones of the numbers that `imu_motion` or `base_state_motion` takes.
        joint_columns: First ones of positions and velocities in a row of the joint states, and how many
            joints there are.
        chain: As `imu_motion`.
        joints: As `imu_motion`.
        contacts: For each contact that is sensed the number of its input, then its row among the wrenches.
        n: Integers of the aligner, whose driver are the joint states.
        x: Numbers of the aligner.
    """
    m = stream_of(0, n)
    width, times = m[WIDTH], m[BUFFER:]
    behind = 2 * width + MOTION
    reduced = out[: 2 * width].reshape(2, width)
    first, last = rows_between(centre - half_width, centre + half_width, times)
    if last - first < FEWEST_SAMPLES:
        return 1
    mean, slope, centroid = weights_about(centre, first, last, times)
    weighted_sums(mean, slope, _rows_of(m, x)[first:last], reduced)
    driver = times[FIRST + first : FIRST + last], mean, slope, centroid
    short = 0
    kind, number = base
    if kind != FIXED:
        m = stream_of(number, n)
        times, rows = m[BUFFER:], _rows_of(m, x)
        motion = out[2 * width : behind].reshape(3, 3)
        first_q, first_v, count = joint_columns
        q, v = reduced[0, first_q : first_q + count], reduced[0, first_v : first_v + count]
        a = reduced[1, first_v : first_v + count]
        if kind == BY_IMU:
            columns = base_columns[0], base_columns[1]
            enough = imu_motion(
                centre, half_width, driver, times, rows, columns, chain, joints, q, v, a, motion
            )
        else:
            enough = base_state_motion(centre, half_width, driver, times, rows, base_columns, motion)
        short += not enough
    wrenches = out[behind:].reshape((len(out) - behind) // WRENCH_WIDTH, WRENCH_WIDTH)
    wrenches[:] = 0.0
    for i in range(0, len(contacts), 2):
        m = stream_of(contacts[i], n)
        if not mean_of(centre, half_width, driver, m[BUFFER:], _rows_of(m, x), wrenches, contacts[i + 1]):
            return short + 1
    return short
