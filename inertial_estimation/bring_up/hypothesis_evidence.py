"""How probable torques, wrenches and rotations of some windows are under an assumption about the joints.

Each part of the data is a linear model with Gaussian priors, y = X x + noise, whose noise of unknown size is
taken where the data are most probable (evidence approximation; MacKay, Neural Computation 4, 1992):

    ln p(y | s) = -1/2 (N ln s^2 + ln det(I + P X'X / s^2) + (r'r - r'X (X'X + s^2 P^-1)^-1 X'r) / s^2)

with r = y - X E[x]. The model of a torque is k times the predicted one, with offset, Coulomb and viscous
friction, and late by a time that multiplies its slope; k is near one, or, at a price, anything: a sign, a
unit or a gear. Friction takes energy from the motion: with the mean power P of the fitted friction over k, a
normal variable of standard deviation s_P, the prior that P is not negative adds

    ln 2 Phi(P / s_P)

(a normal prior restricted to a half-space). Sums of these over the joints are compared between assumptions,
on the same readings. Every joint counts by its own effort, however small against that of others: a slide's
newtons are not comparable with a wrist's newton metres.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from inertial_estimation.data_checks.data_table import DataTable
from inertial_estimation.data_checks.foot_rotation import expected_rate
from inertial_estimation.data_checks.nominal_torques import nominal_torques
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra

INDEPENDENT = 0.5  # share of the readings that count as independent
ANY_FACTOR = 6.0  # price of a sign, unit or gear that is not the described one, in logarithms
FACTOR_PRIOR = 0.2  # standard deviation of a torque's factor about one: inertias that are not exact
FRICTION_PRIOR = 0.25  # of each friction term, of the measured rms: gearboxes lose up to a third
DELAY_PRIOR_S = 0.03  # of an effort against the motion: a filter, or the law of a drive in place of a torque
ZERO_PRIOR = 0.02  # of the zero of a force sensor, of the weight
TORQUE_NOISE = (0.03, 0.06, 0.12, 0.25, 0.5, 1.0)  # of the measured rms; no description is better
WRENCH_NOISE = (0.01, 0.03, 0.1, 0.3, 1.0)  # of the weight
LEAST_RATE = 0.05  # share of the angular rate that is not explained even by a perfect description
LEVEL_NOISE = (0.02, 0.06, 0.2, 0.6)  # of normals of soles [rad]; heights over `STEP` [m]
STEP = 0.5
SILENT = 1e-9  # share of the largest effort's rms below which a joint sends no effort
SLOW = 0.05  # speed over which Coulomb friction changes its sign [rad/s]
FAST_ENOUGH = 0.02  # rms rotation of the base that is compared [rad/s]
LOADED = 0.15  # share of the load from which a foot stands
TINY = 1e-300
LEVER = 0.3  # at which moments count as much as forces [m]
FEWEST = 5


@dataclass(frozen=True)
class Evidence:
    """How well an assumption explains some windows.

    Attributes:
        log: Logarithm of their probability, up to a constant that is the same for all assumptions.
        disagreement: What is left unexplained, of torques, wrenches and rotation: 0 nothing, 1 everything.
    """

    log: float
    disagreement: float


def evidence(tables: Sequence[DataTable], slopes: Sequence[Array], normals_F: Array) -> list[Evidence]:
    """Return how well each of several assumptions about the joints explains windows.

    Args:
        tables: The windows with the predictions of the description, for the joints as assumed.
        slopes: Slopes of their efforts, for the joints as assumed [Nm/s], shape (N, n_joints) each.
        normals_F: Normal of each contact's sole in its wrench frame, shape (k, 3).
    """
    torques = _torques([_own_efforts(*one) for one in zip(tables, slopes, strict=True)])
    parts = zip(tables, torques, _wrenches(tables), strict=True)
    return [_together(torque, wrench, *_motion(table, normals_F)) for table, torque, wrench in parts]


def evidence_of_exchanged_efforts(
    table: DataTable, slopes: Array, pairs: Sequence[tuple[int, int]], normals_F: Array
) -> list[Evidence]:
    """Return how well windows are explained if the efforts of two joints were exchanged, for each pair.

    The efforts of all other joints, wrenches and rotation are explained as they are without it.

    Args:
        table: The windows as they are, with the predictions of the description.
        slopes: Slopes of the efforts as they are [Nm/s], shape (N, n_joints).
        pairs: Numbers of two joints each.
        normals_F: As of `evidence`.
    """
    others = (_wrenches([table])[0], *_motion(table, normals_F))
    own = _own_efforts(table, slopes)
    if own is None:
        return [_together(None, *others) for _pair in pairs]
    log, left = np.zeros((2, table.n_joints))
    log[own.joints], left[own.joints] = _explained(own)
    swapped = [(at, of) for i, j in pairs for at, of in ((i, j), (j, i)) if of in own.joints]
    log_of, left_of = np.zeros((2, table.n_joints, table.n_joints))
    if swapped:
        at, of = np.transpose(swapped)
        log_of[at, of], left_of[at, of] = _explained(_efforts(table, slopes, own.known, at, of))
    found = []
    for i, j in pairs:
        more = float(log_of[i, j] + log_of[j, i] - log[i] - log[j])
        worse = float(left_of[i, j] + left_of[j, i] - left[i] - left[j])
        torques = Evidence(float(log.sum()) + more, (float(left.sum()) + worse) / len(own.joints))
        found.append(_together(torques, *others))
    return found


def unexplained_efforts(table: DataTable, slopes: Array) -> Array:
    """Return the share of each effort that torque and friction leave unexplained, 0 of zero ones, (n,)."""
    shares = np.zeros(table.n_joints)
    own = _own_efforts(table, slopes)
    if own is not None:
        shares[own.joints] = _explained(own)[1]
    return shares


def _together(*parts: Evidence | None) -> Evidence:
    """Join the evidence of independent parts of the data; None: that part tells nothing."""
    found = [part for part in parts if part is not None]
    told = [part.disagreement for part in found if not math.isnan(part.disagreement)]
    return Evidence(INDEPENDENT * sum(part.log for part in found), float(np.mean(told)) if told else math.nan)


class _Efforts(NamedTuple):
    """Efforts over their rms, and what may explain them; a column for each.

    Attributes:
        known: The windows in which efforts and predictions are known, shape (N,).
        joints: The joints whose motion explains them, shape (K,).
        y: Efforts, shape (N, K).
        predicted: Predicted torques, shape (N, K).
        dq: Joint velocities, shape (N, K).
        late: Slopes of the efforts, shape (N, K).
    """

    known: NDArray[np.int64]
    joints: NDArray[np.int64]
    y: Array
    predicted: Array
    dq: Array
    late: Array


def _own_efforts(table: DataTable, slopes: Array) -> _Efforts | None:
    """Return the efforts of all joints that send some, each by its own motion; None without efforts."""
    known = np.flatnonzero(np.isfinite(np.hstack((nominal_torques(table), table.tau, slopes))).all(axis=1))
    if len(known) < FEWEST:
        return None
    size = _rms(table.tau[known])
    sent = np.flatnonzero(size > SILENT * size.max())
    return _efforts(table, slopes, known, sent, sent) if len(sent) else None


def _efforts(
    table: DataTable,
    slopes: Array,
    known: NDArray[np.int64],
    at: NDArray[np.int64],
    of: NDArray[np.int64],
) -> _Efforts:
    """Return the efforts of joints `of` in known windows, to be explained by the motion of joints `at`."""
    size = _rms(table.tau[np.ix_(known, of)])
    y, late = (values[np.ix_(known, of)] / size for values in (table.tau, slopes))
    predicted = nominal_torques(table)[np.ix_(known, at)] / size
    return _Efforts(known, at, y, predicted, table.dq[np.ix_(known, at)], late)


def _torques(every: Sequence[_Efforts | None]) -> list[Evidence | None]:
    """Explain the efforts of all joints, under each of several assumptions."""
    columns = [None if one is None else (one.y, one.predicted, one.dq, one.late) for one in every]
    found = _side_by_side(_explained_columns, columns)
    return [None if one is None else Evidence(float(one[0].sum()), float(one[1].mean())) for one in found]


def _explained(efforts: _Efforts) -> tuple[Array, Array]:
    """Return log evidence and unexplained share of each effort."""
    return _explained_columns(efforts.y, efforts.predicted, efforts.dq, efforts.late)


def _explained_columns(y: Array, predicted: Array, dq: Array, late: Array) -> tuple[Array, Array]:
    """Explain efforts by predicted torque, friction and a delay: log evidence, unexplained share."""
    friction = [np.ones_like(y), np.tanh(dq / SLOW), dq / np.maximum(_rms(dq), SLOW)]
    unit = np.maximum(_rms(predicted), 1e-12)
    priors = np.array([FACTOR_PRIOR] + [FRICTION_PRIOR] * 3 + [DELAY_PRIOR_S])
    none = np.zeros(y.shape[1])
    power = np.stack([none, none, *((dq * f).mean(axis=0) for f in friction[1:]), none], axis=1)
    log, left = _scaled_prediction(y, predicted, unit, [*friction, late], priors, TORQUE_NOISE, power)
    return log, np.minimum(left, 1.0)


def _side_by_side(
    explain: Callable[..., tuple[Array, Array]], every: Sequence[tuple[Array, ...] | None]
) -> list[tuple[Array, Array] | None]:
    """Explain the columns of many assumptions by one call for all with equally many readings.

    Args:
        explain: Returns two arrays of shape (K,) for arrays of shape (N, K).
        every: Arrays of shape (N, K) of each assumption; None: nothing to explain, and None is returned.
    """
    found: list[tuple[Array, Array] | None] = [None] * len(every)
    given = [(i, arrays) for i, arrays in enumerate(every) if arrays is not None]
    for readings in {len(arrays[0]) for _i, arrays in given}:
        these = [(i, arrays) for i, arrays in given if len(arrays[0]) == readings]
        log, left = explain(*map(np.hstack, zip(*(arrays for _i, arrays in these), strict=True)))
        end = 0
        for i, arrays in these:
            begin, end = end, end + arrays[0].shape[1]
            found[i] = log[begin:end], left[begin:end]
    return found


def _rms(values: Array) -> Array:
    size: Array = np.sqrt(np.mean(values**2, axis=0))
    return size


def _scaled_prediction(
    y: Array,
    predicted: Array,
    unit: Array,
    others: Sequence[Array],
    priors: Array,
    sizes: Sequence[float],
    power: Array | None = None,
) -> tuple[Array, Array]:
    """Explain readings by k times a prediction: k near one or, at the price `ANY_FACTOR`, anything.

    Args:
        y: Shape (N, n).
        predicted: Shape (N, n).
        unit: Size of the prediction, in which k counts where it is anything, shape (n,).
        others: Further columns, as of friction or zeros, shape (N, n) each.
        priors: Standard deviations of k about one, and of the coefficients of the others about zero, (c,).
        sizes: As of `_most_probable`.
        power: Mean power that each column takes, over its coefficient, shape (n, c); None: not judged.

    Returns:
        Log evidence and rms of what is left, of the more probable k, shape (n,) each.
    """

    def explained(prediction: Array, mean: float, deviation: float) -> tuple[Array, Array]:
        X = np.stack([prediction, *others], axis=2)
        expected = np.concatenate(([mean], np.zeros(len(others))))
        prior = np.concatenate(([deviation], priors[1:]))
        fit = _most_probable(y, X, expected, prior, sizes)
        return fit.log if power is None else fit.log + _dissipates(fit, expected, power), fit.left

    alike, free = explained(predicted, 1.0, priors[0]), explained(predicted / unit, 0.0, 1.0)
    at_price = free[0] - ANY_FACTOR
    return np.maximum(alike[0], at_price), np.where(alike[0] > at_price, alike[1], free[1])


class _Fit(NamedTuple):
    """A linear model at the most probable size of the noise.

    Attributes:
        log: Log evidence, shape (n,).
        left: Rms of what is left, shape (n,).
        x: Coefficients minus their expected values, shape (n, c).
        information: Inverse of their covariance, shape (n, c, c).
    """

    log: Array
    left: Array
    x: Array
    information: Array


def _dissipates(fit: _Fit, mean: Array, power: Array) -> Array:
    """Return the log of the odds by which friction over k is known to take energy, shape (n,).

    It is at most ln 2, and at least minus the price `ANY_FACTOR`: that of efforts which are not measured with
    their friction, or not at the time of the motion.
    """
    spread = linear_algebra.solve(
        fit.information, np.stack([power, np.eye(len(mean))[:1] + 0.0 * power], axis=2)
    )
    taken, sigma = np.einsum("jc,jc->j", fit.x + mean, power), np.einsum("jc,jc->j", spread[:, :, 0], power)
    k, sigma_k = fit.x[:, 0] + mean[0], spread[:, 0, 1]
    z = math.sqrt(INDEPENDENT) * taken / np.sqrt(np.maximum(sigma, TINY))
    z_k = math.sqrt(INDEPENDENT) * k / np.sqrt(np.maximum(sigma_k, TINY))
    both = np.logaddexp(log_ndtr(z_k) + log_ndtr(z), log_ndtr(-z_k) + log_ndtr(-z))
    odds: Array = np.maximum(math.log(2.0) + both, -ANY_FACTOR)
    return odds


def _most_probable(y: Array, X: Array, mean: Array, prior: Array, sizes: Sequence[float]) -> _Fit:
    """Explain readings by columns with noise of the most probable size.

    Args:
        y: Shape (N, n).
        X: Shape (N, n, c).
        mean: Expected coefficients, shape (c,).
        prior: Their standard deviations, shape (c,).
        sizes: Standard deviations of the noise that are tried.
    """
    r = y - X @ mean
    G, b = np.einsum("ija,ijb->jab", X, X), np.einsum("ija,ij->ja", X, r)
    power, variances = np.sum(r**2, axis=0), np.square(list(sizes))[:, None]
    A = G / variances[:, :, None, None] + np.diag(prior**-2.0)
    x = linear_algebra.solve(A, (b / variances[:, :, None])[..., None])[..., 0]
    factor = np.diagonal(linear_algebra.cholesky(A), axis1=2, axis2=3)
    log_det = 2.0 * (np.log(factor).sum(axis=2) + np.log(prior).sum())
    explained = np.einsum("ja,sja->sj", b, x)
    log = -0.5 * (len(y) * np.log(variances) + log_det + (power - explained) / variances)
    best, every = np.argmax(log, axis=0), np.arange(y.shape[1])
    taken = x[best, every]
    left = _rms(r - np.einsum("ija,ja->ij", X, taken))
    return _Fit(log[best, every], left, taken, A[best, every])


def _wrenches(tables: Sequence[DataTable]) -> list[Evidence | None]:
    """Explain the force and moment that the motion needs by the contact wrenches and their zeros."""

    def explained(y: Array, p: Array, unit: Array) -> tuple[Array, Array]:
        priors = np.array([0.5 * FACTOR_PRIOR, ZERO_PRIOR])
        return _scaled_prediction(y, p, unit[0], [np.ones_like(y)], priors, WRENCH_NOISE)

    found = _side_by_side(explained, [_needed_and_carried(table) for table in tables])
    return [
        None if one is None else Evidence(float(one[0].sum()), min(float(np.linalg.norm(one[1])), 1.0))
        for one in found
    ]


def _needed_and_carried(table: DataTable) -> tuple[Array, Array, Array] | None:
    """Return the wrench that the motion needs, that of the contacts and its size, over the weight."""
    if table.n_base != 6 or not table.jacobians.shape[1]:
        return None
    scale = np.array([1.0] * 3 + [1.0 / LEVER] * 3)
    needed, carried = table.force[:, :6] * scale, table.contact_force[:, :6] * scale
    known = np.isfinite(needed).all(axis=1) & np.isfinite(carried).all(axis=1)
    if known.sum() < FEWEST:
        return None
    weight = float(np.median(np.linalg.norm(needed[known, :3], axis=1)))
    if not weight > 0.0:
        return None
    y, p = needed[known] / weight, carried[known] / weight
    unit = max(float(np.sqrt(np.mean(np.sum(p[:, :3] ** 2, axis=1)))), 1e-12)
    return y, p, np.full_like(p, unit)


def _motion(table: DataTable, normals_F: Array) -> tuple[Evidence | None, Evidence | None]:
    """Explain rotation and level soles, which no effort changes."""
    return _rotation(table), _level(table, normals_F)


def _rotation(table: DataTable) -> Evidence | None:
    """Explain the angular rate by the rotation over the feet, in whatever axes and unit.

    Times at which the feet do not say how the base turns count as unexplained.
    """
    if table.n_base != 6:
        return None
    measured = np.isfinite(table.w_I).all(axis=1)
    expected = expected_rate(table)
    known = np.isfinite(expected).all(axis=1) & measured
    if measured.sum() < FEWEST:
        return None
    size = float(np.linalg.norm(table.w_I[measured]))
    if size**2 < measured.sum() * FAST_ENOUGH**2 or not known.any():
        return None
    e, w = expected[known], table.w_I[known]
    reach = float(np.linalg.norm(e)) * size
    share = float(linear_algebra.singular_values(e.T @ w).sum()) / reach if reach > 0.0 else 0.0
    left = max(1.0 - share**2, LEAST_RATE**2)
    return Evidence(-0.5 * 3.0 * float(measured.sum()) * math.log(left), math.sqrt(left))


def _level(table: DataTable, normals_F: Array) -> Evidence | None:
    """Two soles that both stand have one normal and one height: the ground is level."""
    if table.jacobians.shape[1] != 2 or table.n_base != 6:
        return None
    load = np.linalg.norm(table.wrenches[:, :, :3], axis=2)
    with np.errstate(invalid="ignore"):
        both = (load > LOADED * load.sum(axis=1, keepdims=True)).all(axis=1)
    if both.sum() < FEWEST:
        return None
    normals = np.einsum("nkij,kj->nki", table.rotations_BF[both], normals_F)
    mean = normals.mean(axis=1)
    rise = np.einsum("ni,ni->n", table.points_B[both, 0] - table.points_B[both, 1], mean) / STEP
    y = np.column_stack((normals[:, 0] - normals[:, 1], rise))
    fit = _most_probable(y, np.zeros((*y.shape, 1)), np.zeros(1), np.ones(1), LEVEL_NOISE)
    return Evidence(float(fit.log.sum()), math.nan)
