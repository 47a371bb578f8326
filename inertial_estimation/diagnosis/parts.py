"""Parts in which sensors and description are compared, each with its log evidence.

Every part compares readings with what other readings and the description predict; none assumes a sign, a unit
or axes beyond those that are described. A hypothesis changes the table and thereby all parts that depend on
it: a cause therefore explains its consequences, whereas a consequence does not explain its cause.
"""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from inertial_estimation.diagnosis.evidence import (
    CERTAIN,
    CREDIBLE,
    INDEPENDENT,
    Fit,
    dissipation,
    log_share,
    most_probable,
    trimmed_rms,
    without_nuisance,
)
from inertial_estimation.diagnosis.table import STRONG_UNLIMITED, Indices, Table, rms
from inertial_estimation.inputs.joints import JOINTS
from inertial_estimation.inputs.sensors import IMU
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.models.measurement_rows import unmoved
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra
from inertial_estimation.spatial.rotations import skews

WRENCHES = "contact wrenches"
FEWEST = 8  # least number of windows that are compared
SLOW = 0.05  # speed below which a joint is at rest, and Coulomb friction changes its sign [rad/s]
SLOPE_FLOOR = 0.02  # least residual of a velocity against the slope of the position, share of its rms
TRAVEL = 0.02  # standard deviation of a position above which the joint's velocity is compared [rad]
SCALE_PRIOR, FRICTION_PRIOR = 0.2, 0.25  # deviations of a torque's factor; of friction over the rms effort
DELAY_PRIOR_S = 0.01  # deviation of the delay of an effort, as by a filter in a drive [s]
LEVER_PRIOR = 0.01  # deviation of the centre of mass of all links that a joint moves [m]
FRICTION_LIMIT = 0.15  # largest deviation of friction and rotor terms, share of the effort limit ...
FRICTION_TORQUES = 3.0  # ... and of the largest predicted torque
ORDER = 4  # order of the polynomials of position that model a spring
UNMODELLED = 9.0  # log odds against a joint with a spring or another friction
ARMATURE_PRIOR = 0.3  # deviation of the torque of the rotor's inertia over the rms effort
AGREES = 0.1  # residual of a velocity or effort, share of its rms, below which no error or spring is sought
SILENT = 1e-9  # share of the largest effort below which a joint sends none
LEVER = 0.3  # lever at which moments count as much as forces [m]
BALANCED = 0.03  # residual of contact forces by scales and crosstalk of force sensors, share of their rms
ZERO, BALANCE_FLOOR = 0.03, 0.01  # deviation of a force sensor's zero; least residual of balance [weights]
RATE_FLOOR = 0.05  # least residual of the rotation, share of its rms
RATE_BIAS = 0.02  # prior deviation of a gyroscope's bias; slower rotations are not compared [rad/s]
STANDING, LOADED = 0.05, 0.12  # largest speed between two standing feet [m/s]; least share of the load
GRAVITY, FARTHEST = 0.05, 60.0  # deviation of the logarithm of gravity; bound of the log odds of one part
MOUNTED = math.radians(7.0)  # deviation of the ground's normal from the vertical, by slope and posture [rad]
CARRIED = 0.1  # share of the weight on the contacts below which the robot hangs
BEYOND, FAR = 0.2, 0.8  # distance from the limits [rad]: of rounded limits; that no zero offset explains
BEYOND_ODDS, FAR_ODDS = 3.0, 20.0  # log odds against a position that is so far outside
FAST = 5.0  # ratio to the largest described speed that no joint reaches


class Part(NamedTuple):
    """Agreement of one part."""

    log: float  # log evidence, up to a constant that all hypotheses share
    left: Array  # relative residual, 0: all explained, 1: nothing; of each joint (n,), or one for all (1,)


def scalar_part(log: float, left: float) -> Part:
    """Return a part with a single relative residual."""
    return Part(log, np.array([left]))


def limits(table: Table) -> Part | None:
    """Compare positions and their slopes with the limits of the description."""
    beyond = outside(table)
    fast = np.quantile(np.abs(table.signals.dq), 0.9, axis=0) > FAST * table.robot.speed
    log = -BEYOND_ODDS * (beyond > BEYOND).sum() - FAR_ODDS * ((beyond > FAR).sum() + fast.sum())
    return Part(float(log), np.clip(np.maximum(beyond, fast), 0.0, 1.0))


def outside(table: Table) -> Array:
    """Return by how much positions are outside the limits [rad], shape (n,); negative inside."""
    low, high = np.quantile(table.signals.q, (0.02, 0.98), axis=0)
    beyond: Array = np.nan_to_num(np.maximum(table.robot.lower - low, high - table.robot.upper), neginf=0.0)
    return beyond


def velocities(table: Table) -> Part | None:
    """Compare the velocities that are sent with the slopes of the positions."""
    v, dq = table.signals.v, table.signals.dq
    known = np.isfinite(v).all(axis=1)
    if known.sum() < FEWEST or not np.nan_to_num(v[known]).any():
        return None
    v, dq = v[known], dq[known]
    telling = (np.maximum(rms(dq), rms(v)) > SLOW) & (table.signals.q.std(axis=0) > TRAVEL)
    if not telling.any():
        return None
    size = np.maximum(np.hypot(rms(v), rms(dq)) / math.sqrt(2.0), 1e-12)
    left = np.where(telling, np.minimum(rms(v - dq) / size, 2.0), 0.0)
    log = sum(log_share(float(x), len(v), SLOPE_FLOOR) for x in left[telling])
    return Part(log, left)


class RateRows(NamedTuple):
    """Equations y = A w of the IMU's angular rate w over standing feet, linear in w in any axes and unit."""

    y: Array  # shape (R, 3)
    A: Array  # shape (R, 3, 3)
    rows: Indices  # window of each equation, shape (R,)


def rate_rows(table: Table) -> RateRows | None:
    """Return equations of the rotation of the base by standing feet; None if there are too few.

    A sole does not turn on the ground: w_B = -w_sole. The line d between two standing points rotates with
    the base, d' + w_B x d = 0, which determines all but the rotation about d. Points stand if they carry a
    share of the load or, if loads are not measured, if their distance does not change.
    """
    if not table.robot.n_base or not table.points_B.shape[1] or table.robot.setup.imu is None:
        return None
    y, A, rows = (_pairs if table.points else _soles)(table, table.loads)
    A = A @ table.R_BI[rows]
    y = y + np.einsum("rij,rj->ri", A, table.w_BI[rows])
    known = np.isfinite(y).all(axis=1) & np.isfinite(A).all(axis=(1, 2))
    if known.sum() < FEWEST:
        return None
    return RateRows(y[known], A[known], rows[known])


def _soles(table: Table, loads: Array | None) -> tuple[Array, Array, Indices]:
    turn, sizes = table.sliding[:, :, 3:], np.linalg.norm(table.signals.wrenches[:, :, :3], axis=2)
    if loads is not None:
        rows = np.flatnonzero(
            np.isfinite(loads).all(axis=1) & (sizes.sum(axis=1) > CARRIED * table.robot.weight)
        )
        w_B = -turn[rows, np.argmax(loads[rows], axis=1)]
    else:
        rows = np.flatnonzero(np.abs(turn - turn[:, :1]).max(axis=(1, 2)) < STANDING)
        w_B = -turn[rows].mean(axis=1)
    return w_B, np.tile(np.eye(3), (len(rows), 1, 1)), rows


def _pairs(table: Table, loads: Array | None) -> tuple[Array, Array, Indices]:
    found = [(np.zeros((0, 3)), np.zeros((0, 3, 3)), np.zeros(0, dtype=np.int64))]
    for i, j in itertools.combinations(range(table.points_B.shape[1]), 2):
        d, change = (x[:, i, :3] - x[:, j, :3] for x in (table.points_B, table.sliding))
        along = np.abs(np.sum(d * change, axis=1)) / np.maximum(np.linalg.norm(d, axis=1), 1e-6)
        stand = along < STANDING
        if loads is not None:
            stand = (loads[:, i] > LOADED) & (loads[:, j] > LOADED) & (along < 4.0 * STANDING)
        rows = np.flatnonzero(stand)
        found.append((change[rows], skews(d[rows]), rows))  # d x w = -w x d
    y, A, rows = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
    return y, A, rows


def rotation(table: Table) -> Part | None:
    """Compare the angular rate of the IMU with the rotation of the base over standing feet."""
    rows = rate_rows(table)
    if rows is None:
        return None
    w = table.signals.w[rows.rows]
    known = np.isfinite(w).all(axis=1)
    if known.sum() < FEWEST:
        return None
    y, A, w = rows.y[known], rows.A[known], w[known]
    left = y - np.einsum("rij,rj->ri", A, w)
    variance = max(float(np.mean(left**2)), 1e-12) / INDEPENDENT
    left = without_nuisance(left, RATE_BIAS * A, variance)  # the gyroscope's bias is a nuisance
    p = y - left
    a, b = (float(rms(np.linalg.norm(x, axis=1))) for x in (y, p))
    if max(a, b) < RATE_BIAS * float(rms(A, None)) * math.sqrt(3.0):
        return scalar_part(0.0, 0.0)  # the base hardly turns, by these readings: they tell nothing
    size = trimmed_rms(np.linalg.norm(left, axis=1))
    share = min(size / max(math.hypot(a, b) / math.sqrt(2.0), 1e-12), 2.0)
    return scalar_part(2.0 * log_share(share, len(np.unique(rows.rows[known])), RATE_FLOOR), share)


def gravity_size(table: Table) -> Part | None:
    """Compare the magnitude of the specific force with gravity."""
    size = specific_force(table)
    if size is None:
        return None
    off = math.log(max(size, 1e-9) / STANDARD_GRAVITY)
    return scalar_part(-min(0.5 * (off / GRAVITY) ** 2, FARTHEST), min(abs(off), 1.0))


def specific_force(table: Table) -> float | None:
    """Return the magnitude of the specific force [m/s^2]: its median at rest, else by mean and median."""
    f = table.signals.f
    known = np.isfinite(f).all(axis=1)
    if not table.robot.n_base or known.sum() < FEWEST:
        return None
    rest = known & (np.abs(table.signals.dq).max(axis=1, initial=0.0) < SLOW)
    if rest.sum() >= FEWEST:
        return float(np.median(np.linalg.norm(f[rest], axis=1)))
    # Accelerations cancel in the mean vector if the base hardly turns; if it turns, the mean is too short.
    return float(0.5 * (np.linalg.norm(f[known].mean(axis=0)) + np.median(np.linalg.norm(f[known], axis=1))))


def ground_normal(table: Table) -> Array | None:
    """Return the mean normal of the ground under the feet in base axes, upwards; None if unknown.

    For up to two soles it is their mean normal, weighted by their loads. For three or more points it is the
    normal of the plane through their mean positions while loaded: feet that carry nothing do not stand.
    """
    if not table.robot.n_base or not table.points_B.shape[1] or (table.measures_wrenches and hangs(table)):
        return None
    share = np.ones(table.points_B.shape[:2]) if table.loads is None else np.nan_to_num(table.loads)
    if not table.points:
        normals = np.einsum("nkij,kj->nki", table.rotations_BF, table.robot.normals_F)
        mean: Array = np.einsum("nk,nki->i", share, normals)
    else:
        w = np.where(share > LOADED, share, 0.0) + 1e-9
        middle = np.einsum("nk,nki->ki", w, table.points_B) / w.sum(axis=0)[:, None]
        centred = middle - middle.mean(axis=0)
        _values, vectors = linear_algebra.eigh(centred.T @ centred)
        mean = vectors[:, 0]
        mean = mean if mean @ (table.com_B.mean(axis=0) - middle.mean(axis=0)) > 0.0 else -mean
    size = float(np.linalg.norm(mean))
    return mean / size if size > 1e-9 else None


def gravity_pair(table: Table) -> tuple[Array, Array] | None:
    """Return unit vectors of mean specific force, axes of its readings, and ground normal, described axes."""
    normal = ground_normal(table)
    f = table.signals.f
    known = np.isfinite(f).all(axis=1)
    if normal is None or known.sum() < FEWEST:
        return None
    n_I = np.einsum("nji,j->ni", table.R_BI[known], normal).mean(axis=0)
    mean = f[known].mean(axis=0)
    sizes = float(np.linalg.norm(mean)), float(np.linalg.norm(n_I))
    return (mean / sizes[0], n_I / sizes[1]) if min(sizes) > 1e-9 else None


def gravity_direction(table: Table) -> Part | None:
    """Compare the direction of the specific force with the normal of the ground under the feet."""
    pair = gravity_pair(table)
    if pair is None:
        return None
    angle = math.acos(min(1.0, max(-1.0, float(pair[0] @ pair[1]))))
    return scalar_part(-min(0.5 * (angle / MOUNTED) ** 2, FARTHEST), min(angle, 1.0))


def balance_rows(table: Table) -> tuple[Array, Array, Array] | None:
    """Return required and measured wrench on the base (N, 6), columns of sensor zeros (N, 6, 6 k) [weights].

    Moments are divided by `LEVER`. None without a floating base, or without wrenches that are not zero.
    """
    wrenches = table.signals.wrenches
    if table.robot.n_base != 6 or not wrenches.shape[1]:
        return None
    known = np.isfinite(table.force[:, :6]).all(axis=1) & np.isfinite(wrenches).all(axis=(1, 2))
    if known.sum() < FEWEST:
        return None
    weight = float(np.median(np.linalg.norm(table.force[known, :3], axis=1)))
    if not weight > 0.0 or not wrenches[known].any():
        return None
    scale = np.array([1.0] * 3 + [1.0 / LEVER] * 3) / weight
    needed, carried = table.force[known, :6] * scale, table.contact_force[known, :6] * scale
    maps = np.einsum("nkiv,v->nkvi", table.jacobians[known][..., :6], scale)
    zeros = maps.transpose(0, 2, 1, 3).reshape(len(needed), 6, -1)
    zeros = zeros * np.tile(np.array([1.0] * 3 + [LEVER] * 3) * weight * ZERO, wrenches.shape[1])
    return needed, carried, zeros


def hangs(table: Table) -> bool:
    """Return whether contact wrenches carry hardly any weight and are not in another unit, or are unknown."""
    rows = balance_rows(table)
    if rows is None:
        return True
    needed, carried, _zeros = rows
    size = np.linalg.norm(needed, axis=1) * np.linalg.norm(carried, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        cosine = float(np.median(np.abs(np.sum(needed * carried, axis=1)) / size))
    load = np.linalg.norm(table.signals.wrenches[:, :, :3], axis=2).sum(axis=1)
    quiet = float(np.nanquantile(load, 0.9)) < CARRIED * table.robot.weight
    return quiet and not cosine > 0.85


def balance(table: Table) -> Part | None:
    """Compare contact wrenches with the wrench that weight and motion require."""
    rows = balance_rows(table)
    if rows is None or table.sent.scalar or hangs(table):
        return None
    needed, carried, zeros = rows
    left = needed - carried
    left = without_nuisance(left, zeros, max(float(np.mean(left**2)), BALANCE_FLOOR**2) / 4.0)
    size = trimmed_rms(np.linalg.norm(left, axis=1))
    share = size / max(float(rms(np.linalg.norm(carried, axis=1), None)), 1.0)
    return scalar_part(3.0 * log_share(math.hypot(share, BALANCE_FLOOR), len(left), BALANCE_FLOOR), share)


def torque_columns(table: Table) -> tuple[Array, Array, Array, Indices, Indices, Array] | None:
    """Return efforts over their rms, columns, prior deviations, indices of joints and windows, and the rms.

    Columns: predicted torque, offset, Coulomb, viscous friction, rotor inertia, delay, centre of moved mass.
    """
    s, predicted = table.signals, table.torques
    sent = np.isfinite(s.tau).mean(axis=0) > 0.5
    known = np.isfinite(predicted).all(axis=1) & np.isfinite(s.tau[:, sent]).all(axis=1)
    known &= np.isfinite(s.dtau[:, sent]).all(axis=1)
    rows = np.flatnonzero(known)
    if len(rows) < FEWEST or not sent.any():
        return None
    size = rms(np.nan_to_num(s.tau[rows]))
    joints = np.flatnonzero(sent & (size > SILENT * max(float(size.max()), 1e-12)))
    if not len(joints):
        return None
    size = size[joints]
    take = np.ix_(rows, joints)
    y, p, dq, ddq = s.tau[take] / size, predicted[take] / size, s.dq[take], s.ddq[take]
    speed = np.maximum(rms(dq), SLOW)
    columns = [
        p,
        np.ones_like(y),
        np.tanh(dq / SLOW),
        dq / speed,
        ddq / np.maximum(rms(ddq), 1e-9),
        s.dtau[take] / size,
        *np.moveaxis(table.levers[take] / size[:, None] * LEVER_PRIOR, 2, 0),
    ]
    prior = np.tile(
        [SCALE_PRIOR, *[FRICTION_PRIOR] * 3, ARMATURE_PRIOR, DELAY_PRIOR_S, 1.0, 1.0, 1.0], (len(joints), 1)
    )
    largest = float(rms(predicted[rows]).max())
    stiction = np.minimum(table.robot.stiction(largest), STRONG_UNLIMITED * largest)[joints]
    most = np.minimum(FRICTION_LIMIT * table.robot.effort[joints], FRICTION_TORQUES * largest)
    prior[:, 1:4] *= np.maximum(1.0, stiction / size)[:, None]  # also of a joint that carries nothing
    prior[:, 1:5] = np.minimum(prior[:, 1:5], (most / size)[:, None])
    return y, np.stack(columns, axis=2), prior, joints, rows, size


EXPECTED = np.array([1.0] + [0.0] * 8)


def torques(table: Table) -> Part | None:
    """Compare efforts with predicted torques and friction, if contact forces are known.

    The evidence of a joint sums three models: the prediction as it is; with tolerances and friction; and,
    less probable a priori, also with a smooth function of its own position and velocity (a spring, another
    friction) up to the largest predicted torque. An error of an effort must be more probable than the latter.
    """
    columns = torque_columns(table)
    if columns is None:
        return None
    y, X, prior, joints, rows, size = columns
    dq = table.signals.dq[np.ix_(rows, joints)]
    # For a robot at rest predictions are as noisy as efforts, which a constant would explain better: a
    # prediction that is right as it is needs no coefficients, and pays no penalty for them.
    exact = most_probable(y - X[:, :, 0], X[:, :, :0], np.zeros(0), np.zeros(0))
    tolerant = _dissipating(y, X, EXPECTED, prior, dq)
    logs = np.logaddexp(exact.log, tolerant.log)
    left = np.where(exact.log > tolerant.log, exact.left, tolerant.left)
    if (poor := left > AGREES).any():
        own, zeros = _own_functions(table, rows, joints[poor]), np.zeros(ORDER + 1)
        carried = np.minimum(1.0, (rms(X[:, :, 0]) * size).max() / size[poor])[:, None]
        wide = np.hstack((prior[poor], np.repeat(carried, ORDER + 1, axis=1)))
        wide[:, 1:4] = np.maximum(wide[:, 1:4], carried)
        X = np.concatenate((X[:, poor], own), axis=2)
        springs = _dissipating(y[:, poor], X, np.append(EXPECTED, zeros), wide, dq[:, poor])
        logs[poor] = np.logaddexp(logs[poor], springs.log - UNMODELLED)
    every = np.zeros(len(table.robot.names))
    every[joints] = np.minimum(left, 2.0)
    return Part(float(logs.sum()), every)


def _dissipating(y: Array, X: Array, mean: Array, prior: Array, dq: Array) -> Fit:
    """Fit efforts with the prior that friction, columns 2 and 3, dissipation energy."""
    fit, power = most_probable(y, X, mean, prior), np.zeros(X.shape[1:])
    power[:, 2:4] = np.mean(dq[:, :, None] * X[:, :, 2:4], axis=0)
    # Coefficients far beyond their priors are neither friction nor torque: the excess stays in the residual.
    x = np.clip(fit.x, mean - CREDIBLE * prior, mean + CREDIBLE * prior)
    left = np.maximum(rms(y - np.einsum("ijc,jc->ij", X, x)), fit.left)
    return fit._replace(log=fit.log + dissipation(fit, power, CERTAIN) + _scarce(fit, prior[:, 0]), left=left)


def _scarce(fit: Fit, prior: Array) -> Array:
    """Return the correction of the log evidence for factors below one, whose logarithm is normal a priori.

    A factor of a tenth is as improbable as one of ten, unlike under the normal prior of the fit. The factor
    is taken two standard deviations above its estimate.
    """
    most = fit.x[:, 0] + 2.0 * np.sqrt(fit.covariance[:, 0, 0])
    factor = np.clip(most, 1e-3, 1.0)
    odds: Array = 0.5 * ((1.0 - factor) ** 2 - np.log(factor) ** 2) / prior**2
    return odds


def _own_functions(table: Table, rows: Indices, joints: Indices) -> Array:
    """Return columns of smooth functions of each joint's own position and velocity, with maxima of one."""
    q, dq = (getattr(table.signals, name)[np.ix_(rows, joints)] for name in ("q", "dq"))
    low, high, v = q.min(axis=0), q.max(axis=0), dq / np.maximum(np.abs(dq).max(axis=0), SLOW)
    u = (2.0 * q - low - high) / np.maximum(high - low, TRAVEL)
    shapes = np.polynomial.legendre.legvander(u, ORDER)[..., 1:]
    return np.concatenate((shapes, (v * np.abs(v))[..., None]), axis=2)


class WholeBody(NamedTuple):
    """Equations that no contact force changes: N S' tau, N (M a + c), and N S' of unit torques."""

    acted: Array  # shape (N, m)
    needed: Array  # shape (N, m)
    torques: Array  # shape (N, m, n)
    dq: Array  # shape (N, n)


def whole_body_rows(table: Table) -> WholeBody | None:
    """Return the equations of a robot on feet with known efforts, without force sensors; None for others."""
    s, b = table.signals, table.robot.n_base
    if not b or table.measures_wrenches or not table.points_B.shape[1]:
        return None
    rows = np.flatnonzero(np.isfinite(table.force).all(axis=1) & np.isfinite(s.tau).all(axis=1))
    if len(rows) < FEWEST or not np.abs(s.tau[rows]).max() > 0.0:
        return None
    part = table.at(rows)
    N = unmoved(part.contact_columns).transpose(0, 2, 1)
    S, needed = N[:, :, b:], np.einsum("nmv,nv->nm", N, part.force)
    return WholeBody(np.einsum("nmj,nj->nm", S, part.signals.tau), needed, S, part.signals.dq)


def whole_body(table: Table) -> Part | None:
    """Compare efforts of a robot on feet without force sensors with its weight: N (S' tau - M a - c) = 0.

    The contact forces that the torques of the legs produce must carry weight and motion of the base.
    """
    rows = whole_body_rows(table)
    if rows is None or not rows.needed.size:
        return None
    size = math.sqrt(float(np.mean(rows.needed**2) + np.mean(rows.acted**2)) / 2.0)
    limit = table.robot.stiction(float(rms(table.signals.tau).max()))
    Z = (rows.torques * (np.tanh(rows.dq / SLOW) * limit)[:, None]).reshape(rows.needed.size, -1) / size
    y = ((rows.acted - rows.needed) / size).ravel()
    fit = most_probable(y[:, None], Z[:, None], np.zeros(Z.shape[1]), np.ones(Z.shape[1]))
    share = trimmed_rms(rms((y - Z @ fit.x[0]).reshape(rows.needed.shape), 1))
    return scalar_part(float(fit.log[0]), min(share, 2.0))


class Compared(NamedTuple):
    """A comparison: its function, the texts of its findings, and its thresholds."""

    judge: Callable[[Table], Part | None]  # returns None if the data do not determine the part
    pair: str  # the two quantities that are compared
    check: str = ""  # name of the finding that they agree; empty: no finding of its own
    subject: str = JOINTS  # input that the finding is about
    without: str = ""  # sentence of the finding if the part is not determined; empty: no finding
    unexplained: float = math.inf  # least relative residual that is reported as unexplained
    sure: float = math.inf  # largest relative residual after a cause that is called wrong
    is_share: bool = True  # whether the residual is relative; otherwise it is an angle [rad] or a logarithm
    agrees: float = 0.0  # relative residual by sensors and friction, below which no error is sought


NO_VELOCITIES = "none are sent, or no joint moves enough to compare them"
NO_EFFORTS = "none are sent, or the contact forces are unknown"
STILL = "the base hardly turns over standing feet: let the robot squat, lean and twist"
PARTS: Mapping[str, Compared] = {
    "positions": Compared(limits, "positions and limits", is_share=False),
    "velocities": Compared(
        *(velocities, "velocities and slopes of the positions", "joint velocities", JOINTS, NO_VELOCITIES)
    ),
    "size of gravity": Compared(gravity_size, "specific force and gravity", is_share=False),
    "direction of gravity": Compared(
        *(gravity_direction, "specific force and ground under the feet", "accelerometer direction", IMU),
        is_share=False,
    ),
    "rotation": Compared(
        *(rotation, "angular rate and rotation over the feet", "gyroscope axes", IMU, STILL, math.inf, 0.7)
    ),
    "wrenches": Compared(
        *(balance, "contact wrenches, weight and motion", "sensor axes", WRENCHES, "", 0.3, 0.3),
        agrees=BALANCED,
    ),
    "torques": Compared(
        *(torques, "efforts and predicted torques", "effort", JOINTS, NO_EFFORTS), sure=0.5, agrees=AGREES
    ),
    "whole body": Compared(
        *(whole_body, "efforts, weight and motion", "effort", JOINTS, "", 0.7, 0.3),
        agrees=AGREES,
    ),
}


def judged(table: Table, only: Sequence[str] = ()) -> dict[str, Part]:
    """Return the agreement of all parts, or of those named, without parts that are not determined."""
    found = {name: part.judge(table) for name, part in PARTS.items() if not only or name in only}
    return {name: part for name, part in found.items() if part is not None and math.isfinite(part.log)}
