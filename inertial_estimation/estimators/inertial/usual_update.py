"""A usual update of an inertial filter in one compiled call; rows that contain no body are taken out first.

The torques of many joints, as those of a humanoid's legs while its arms are estimated, contain no unknown.
Such idle rows tell of the others only by the noise they share with them, R. The conditional distribution of
the active rows a, given the idle rows i, says the same as all rows together:

    y_a - R_ai R_ii^-1 y_i,   R_aa - R_ai R_ii^-1 R_ia,   NIS = y_i' R_ii^-1 y_i + NIS of the active rows

so prediction, gate and correction are computed with the active rows alone.
"""

import math

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
from inertial_estimation.estimators.inertial.filter_steps import (
    BODY,
    corrected,
    decayed,
    largest_step,
    linearised,
    parameters_near,
)
from inertial_estimation.models.measurement_rows import Indices
from inertial_estimation.signals import Array
from inertial_estimation.spatial.log_cholesky import fill_parameters
from inertial_estimation.spatial.positive_definite import factor, normalised_square, whitened

# What became of the update: the state is corrected; its mean is too far from the point of linearisation; the
# NIS is beyond the limit or not finite, floating point does not suffice, or no row with a body informs.
CORRECTED, MOVED, UNUSUAL = range(3)


def rows_by_content(A: Array) -> tuple[Indices, Indices]:
    """Return the rows of a regressor that have an entry, and those that have none."""
    content = A.any(axis=1)
    return np.flatnonzero(content), np.flatnonzero(~content)


@in_place_of(rows_by_content)
def _rows_by_content(A: Array) -> tuple[Indices, Indices]:
    m, n = A.shape
    content, count = np.zeros(m, dtype=np.int64), 0
    for i in range(m):
        for j in range(n):
            if A[i, j] != 0.0:
                content[i], count = 1, count + 1
                break
    active, idle = np.empty(count, dtype=np.int64), np.empty(m - count, dtype=np.int64)
    k = 0
    for i in range(m):
        if content[i]:
            active[k] = i
            k += 1
        else:
            idle[i - k] = i
    return active, idle


def block(R: Array, rows: Indices, columns: Indices) -> Array:
    """Return the entries of a matrix in some rows and columns."""
    entries: Array = R[rows[:, None], columns]
    return entries


@in_place_of(block)
def _block(R: Array, rows: Indices, columns: Indices) -> Array:
    out = np.empty((len(rows), len(columns)))
    for i in range(len(rows)):
        row = R[rows[i]]
        for j in range(len(columns)):
            out[i, j] = row[columns[j]]
    return out


def places_among(rows: Indices, informing: Indices) -> Indices:
    """Return the places of rows that are among those that inform, in ascending order."""
    places: Indices = np.flatnonzero(np.isin(rows, informing))
    return places


@in_place_of(places_among)
def _places_among(rows: Indices, informing: Indices) -> Indices:
    kept, count = np.empty(len(rows), dtype=np.int64), 0
    for i in range(len(rows)):
        for j in range(len(informing)):
            if rows[i] == informing[j]:
                kept[count] = i
                count += 1
                break
    places: Indices = kept[:count].copy()
    return places


@inlined
def _given(y: Column, R: Table, active: Integers, idle: Integers) -> tuple[Array, Array, float, float, bool]:
    """Condition the active rows on idle ones.

    Args:
        y: Innovation of all rows, shape (m,).
        R: Covariance of their noise, shape (m, m).
        active: k rows.
        idle: Rows without content.

    Returns:
        Innovation of the active rows, shape (k,), and covariance of their noise, shape (k, k); NIS and
        logarithm of the determinant of the idle rows; whether their covariance is positive definite.
    """
    k, own, noise = len(active), y[active], block(R, active, active)
    if not len(idle):
        return own, noise, 0.0, 0.0, True
    F, positive = factor(block(R, idle, idle))
    if not positive:
        return own, noise, 0.0, 0.0, False
    shared = np.empty((len(idle), k + 1))
    shared[:, :k] = block(R, idle, active)
    shared[:, k] = y[idle]
    white = whitened(F, shared)
    explained = np.dot(white.T, white)
    own -= explained[:k, k]
    noise -= explained[:k, :k]
    return own, noise, float(explained[k, k]), 2.0 * float(np.log(np.diag(F)).sum()), True


@compiled
def usual_update(
    state: tuple[Column, Column, Table],
    nominal: tuple[Column, Table, Column],
    at: tuple[Table, Column, Column],
    measurement: tuple[Table, Column, Table],
    kinds: tuple[Column, Integers],
    limits: tuple[float, float, float, float],
    bodies: tuple[int, bool],
    predicted: tuple[MutableColumn, MutableColumn, MutableTable],
    innovation: tuple[MutableColumn, MutableColumn],
    after: tuple[MutableColumn, MutableTable],
    parameters: tuple[MutableColumn, MutableTable],
) -> tuple[int, float, float, float]:
    """Predict a state, compare a measurement with it and correct it, unless something is unusual.

    Args:
        state: As for `filter_steps.decayed`.
        nominal: As for `filter_steps.decayed`.
        at: Linearisation, as for `filter_steps.compared`.
        measurement: As for `filter_steps.compared`.
        kinds: One for states that are corrected, zero for others, shape (n,); rows that correct them, none
            for all.
        limits: Time since the last update [s], largest NIS, overlap as for `filter_steps.corrected`, and
            distance from the point of linearisation from which on the predicted mean is too far away.
        bodies: Number of coordinates of bodies, the first ones, and whether their convention is Foster's,
            else it is Rucker's.
        predicted: Prediction as of `filter_steps.decayed`; written.
        innovation: Innovation and its variances, shape (m,) each; written where the result is CORRECTED.
        after: State and covariance; written where the result is CORRECTED.
        parameters: Those of the state by the linearisation, as of `filter_steps.parameters_near`, and those
            of the bodies in C, shape (k, 10), empty where their coordinates are not log-Cholesky coordinates;
            written where the result is CORRECTED.

    Returns:
        What became of it; where it is CORRECTED the NIS, the logarithm of the determinant of the innovation's
        covariance, and the distance of the mean from the point of linearisation.
    """
    dt, largest, overlap, farthest = limits
    curved, foster = bodies
    decayed(state, nominal, dt, predicted)
    x, P = predicted[0], predicted[2]
    if not largest_step(x, at[2], curved) < farthest:
        return MOVED, math.nan, math.nan, math.nan
    A, z, R = measurement
    active, idle = rows_by_content(A)
    if not len(active):
        return UNUSUAL, math.nan, math.nan, math.nan
    regressor = A[active]
    H, HP = np.empty(regressor.shape), np.empty(regressor.shape)
    linearised(regressor, at[0], curved, H)
    np.dot(H, P, HP)
    prior = np.dot(HP, H.T)
    y, variance = innovation
    y[:] = z
    y[active] = z[active] - regressor @ at[1] - H @ (x - at[2])
    variance[:] = np.diag(R)
    variance[active] += np.diag(prior)
    value, noise, nis, log_det, positive = _given(y, R, active, idle)
    S = prior + noise
    F, resolved = factor(S)
    if not (positive and resolved):
        return UNUSUAL, math.nan, math.nan, math.nan
    nis += normalised_square(F, value)
    log_det += 2.0 * float(np.log(np.diag(F)).sum())
    if not nis <= largest or math.isinf(nis):
        return UNUSUAL, math.nan, math.nan, math.nan
    gained, informing = kinds
    if len(informing):
        kept, idle = places_among(active, informing), idle[places_among(idle, informing)]
        if not len(kept):
            return UNUSUAL, math.nan, math.nan, math.nan
        value, noise, _nis, _log_det, positive = _given(y, R, active[kept], idle)
        if not positive:
            return UNUSUAL, math.nan, math.nan, math.nan
        if len(kept) < len(active):
            H, HP, prior = H[kept], HP[kept], block(prior, kept, kept)
        S = prior + noise
    if not corrected((x, P), (H, HP, value, S), noise, overlap, gained, after):
        return UNUSUAL, math.nan, math.nan, math.nan
    parameters_near(at, after[0], parameters[0])
    if len(parameters[1]):
        fill_parameters(after[0][:curved].reshape(curved // BODY, BODY), foster, parameters[1])
    return CORRECTED, nis, log_det, largest_step(after[0], at[2], curved)
