"""What the description and the sensors must agree in, part by part, each with its evidence.

Every part compares readings with what the others and the description predict; none assumes a sign, a unit or
axes beyond those that are described. A hypothesis changes the table, and with it all parts that depend on it:
so a cause explains its consequences, and its consequences do not explain it.
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
    dissipates,
    log_share,
    most_probable,
    typical,
    without,
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
FEWEST = 8  # windows that tell
SLOW = 0.05  # speed below which a joint is at rest, and Coulomb friction changes its sign [rad/s]
SLOPE_FLOOR = 0.02  # of a velocity, what no slope agrees in
TRAVEL = 0.02  # deviation of a joint that moves, whose velocity is compared [rad]
SCALE_PRIOR, FRICTION_PRIOR = 0.2, 0.25  # of a torque's factor, of friction terms
DELAY_PRIOR_S = 0.01  # of a delay, of a filter in a drive
LEVER_PRIOR = 0.01  # of the centre of mass of all that a joint moves [m]
FRICTION_LIMIT = 0.15  # most of the friction terms, of the effort limit
FRICTION_TORQUES = 3.0  # the same of the largest predicted torque
ORDER = 4  # of the polynomials of a spring
UNMODELLED = 9.0  # log odds against a joint that has a spring or another friction
ARMATURE_PRIOR = 0.3  # torque of the rotor's inertia over the measured one
AGREES = 0.1  # share of a velocity or an effort that may be left, where no error and no spring is sought
SILENT = 1e-9  # share of the largest effort below which a joint sends none
LEVER = 0.3  # at which moments count as much as forces [m]
BALANCED = 0.03  # share of the contact forces that scales and crosstalk of force sensors leave
ZERO, BALANCE_FLOOR = 0.03, 0.01  # of a force sensor's channel, and of what never balances [weights]
RATE_FLOOR = 0.05  # of the rotation
RATE_BIAS = 0.02  # of a gyroscope; rotations below tell nothing of it [rad/s]
STANDING, LOADED = 0.05, 0.12  # speed along the line of two standing feet [m/s]; share of the load of each
GRAVITY, FARTHEST = 0.05, 60.0  # deviation of the logarithm of gravity; most log odds of one sentence
MOUNTED = math.radians(7.0)  # deviation of the ground's normal from the vertical, slope and posture
CARRIED = 0.1  # of the weight on the contacts, below which the robot hangs
BEYOND, FAR = 0.2, 0.8  # beyond its limits [rad]: rounded ones; what no zero explains
BEYOND_ODDS, FAR_ODDS = 3.0, 20.0
FAST = 5.0  # times the largest speed, which no joint has


class Part(NamedTuple):
    """How well one part agrees."""

    log: float  # logarithm of its probability, up to a constant that all hypotheses share
    left: Array  # what is left unexplained: 0 nothing, 1 everything (of efforts: of each joint, shape (n,))


def one(log: float, left: float) -> Part:
    """Return a part with one number left."""
    return Part(log, np.array([left]))


def limits(table: Table) -> Part | None:
    """Positions within the limits of the description, and their slopes."""
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
    """Velocities that are sent, and slopes of the positions."""
    v, dq, q = table.signals.v, table.signals.dq, table.signals.q
    known = np.isfinite(v).all(axis=1)
    if known.sum() < FEWEST or not np.nan_to_num(v[known]).any():
        return None
    v, dq = v[known], dq[known]
    telling = np.maximum(rms(dq), rms(v)) > SLOW
    telling &= q.std(axis=0) > TRAVEL
    if not telling.any():
        return None
    a, b = rms(v[:, telling]), rms(dq[:, telling])
    left = np.zeros(v.shape[1])
    size = np.maximum(np.hypot(a, b) / math.sqrt(2.0), 1e-12)
    left[telling] = np.minimum(rms((v - dq)[:, telling]) / size, 2.0)
    log = sum(log_share(float(x), len(v), SLOPE_FLOOR) for x in left[telling])
    return Part(log, left)


class RateRows(NamedTuple):
    """y = A w of an angular rate w of the IMU over standing feet: whatever its axes and unit, linear in w."""

    y: Array  # shape (R, 3)
    A: Array  # shape (R, 3, 3)
    rows: Indices  # windows they belong to, shape (R,)


def rate_rows(table: Table) -> RateRows | None:
    """Return what standing feet say of the rotation of the base.

    A sole does not turn on the ground: w_B = -w_sole. Of two points that stand, the distance d rotates with
    the base: d' + w_B x d = 0, known but for a rotation about d. Points stand where they carry a share of the
    load; where loads are not measured, where their distance does not change.
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
    """Angular rate of the IMU, and rotation of the base over standing feet."""
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
    left = without(left, RATE_BIAS * A, variance)  # but for a bias of the gyroscope
    p = y - left
    a, b = (float(rms(np.linalg.norm(x, axis=1))) for x in (y, p))
    if max(a, b) < RATE_BIAS * float(rms(A, None)) * math.sqrt(3.0):
        return None
    size = typical(np.linalg.norm(left, axis=1))
    share = min(size / max(math.hypot(a, b) / math.sqrt(2.0), 1e-12), 2.0)
    return one(2.0 * log_share(share, len(np.unique(rows.rows[known])), RATE_FLOOR), share)


def gravity_size(table: Table) -> Part | None:
    """Size of the specific force."""
    size = specific_force(table)
    if size is None:
        return None
    off = math.log(max(size, 1e-9) / STANDARD_GRAVITY)
    return one(-min(0.5 * (off / GRAVITY) ** 2, FARTHEST), min(abs(off), 1.0))


def specific_force(table: Table) -> float | None:
    """Return the size of the specific force: at rest, or of its mean while the robot moves [m/s^2]."""
    f = table.signals.f
    known = np.isfinite(f).all(axis=1)
    if not table.robot.n_base or known.sum() < FEWEST:
        return None
    rest = known & (np.abs(table.signals.dq).max(axis=1, initial=0.0) < SLOW)
    if rest.sum() >= FEWEST:
        return float(np.median(np.linalg.norm(f[rest], axis=1)))
    # Accelerations cancel in the mean where the base hardly turns, and add to the norm where it does.
    return float(0.5 * (np.linalg.norm(f[known].mean(axis=0)) + np.median(np.linalg.norm(f[known], axis=1))))


def ground_normal(table: Table) -> Array | None:
    """Return the mean normal of the ground under the feet in base axes, upwards; None where unknown.

    Of up to two soles it is their mean normal, weighted by their loads; of three or more points that of the
    plane of their lowest positions, which is level but for the slope. Feet that carry nothing do not stand.
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
    """Return mean specific force in axes of its readings and ground normal in those of the IMU's link."""
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
    """Direction of the specific force, and normal of the ground under the feet."""
    pair = gravity_pair(table)
    if pair is None:
        return None
    angle = math.acos(min(1.0, max(-1.0, float(pair[0] @ pair[1]))))
    return one(-min(0.5 * (angle / MOUNTED) ** 2, FARTHEST), min(angle, 1.0))


def balance_rows(table: Table) -> tuple[Array, Array, Array] | None:
    """Return needed and carried wrench of the base (N, 6), and columns of zeros (N, 6, 6 k) [weights].

    Moments count over `LEVER`. None without wrenches, or where the robot hangs.
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
    """Return whether contacts are measured, and carry next to nothing of the weight, in any unit."""
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
    """Contact wrenches, and what weight and motion need."""
    rows = balance_rows(table)
    if rows is None or table.sent.scalar or hangs(table):
        return None
    needed, carried, zeros = rows
    left = needed - carried
    left = without(left, zeros, max(float(np.mean(left**2)), BALANCE_FLOOR**2) / 4.0)
    size = typical(np.linalg.norm(left, axis=1))
    share = size / max(float(rms(np.linalg.norm(carried, axis=1), None)), 1.0)
    return one(3.0 * log_share(math.hypot(share, BALANCE_FLOOR), len(left), BALANCE_FLOOR), share)


def torque_columns(table: Table) -> tuple[Array, Array, Array, Indices, Indices, Array] | None:
    """Return efforts over their rms, columns, prior deviations, numbers of joints and windows, and sizes.

    The columns are predicted torque, offset, Coulomb and viscous friction, rotor inertia and a delay.
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
    """Efforts, and torques of the description with friction, where contact forces are known.

    Three models of each joint share its probability: predictions that are right as they are; with tolerances
    and friction; and, less likely a priori, with any smooth function of the joint's own position and velocity
    (a spring, a counterbalance, another friction) that is no larger than what there is to carry. An error of
    an effort has to be more probable than the last one.
    """
    columns = torque_columns(table)
    if columns is None:
        return None
    y, X, prior, joints, rows, size = columns
    dq = table.signals.dq[np.ix_(rows, joints)]
    # Predictions for a robot that is quiet are as noisy as its efforts, and a constant explains these better.
    # Where predictions are right as they are, they need no coefficients.
    exact = most_probable(y - X[:, :, 0], X[:, :, :0], np.zeros(0), np.zeros(0))
    tolerant = _dissipating(y, X, EXPECTED, prior, dq)
    logs, left = (
        np.logaddexp(exact.log, tolerant.log),
        np.where(exact.log > tolerant.log, exact.left, tolerant.left),
    )
    if (odd := left > AGREES).any():
        own, zeros = _own_functions(table, rows, joints[odd]), np.zeros(ORDER + 1)
        carried = np.minimum(1.0, (rms(X[:, :, 0]) * size).max() / size[odd])[:, None]
        wide = np.hstack((prior[odd], np.repeat(carried, ORDER + 1, axis=1)))
        wide[:, 1:4] = np.maximum(wide[:, 1:4], carried)
        X = np.concatenate((X[:, odd], own), axis=2)
        springs = _dissipating(y[:, odd], X, np.append(EXPECTED, zeros), wide, dq[:, odd])
        logs[odd] = np.logaddexp(logs[odd], springs.log - UNMODELLED)
    every = np.zeros(len(table.robot.names))
    every[joints] = np.minimum(left, 2.0)
    return Part(float(logs.sum()), every)


def _dissipating(y: Array, X: Array, mean: Array, prior: Array, dq: Array) -> Fit:
    """Explain efforts whose friction, columns 2 and 3, takes energy from the motion."""
    fit, power = most_probable(y, X, mean, prior), np.zeros(X.shape[1:])
    power[:, 2:4] = np.mean(dq[:, :, None] * X[:, :, 2:4], axis=0)
    # Coefficients far beyond their priors are no friction and no torque: what they explain is left.
    x = np.clip(fit.x, mean - CREDIBLE * prior, mean + CREDIBLE * prior)
    left = np.maximum(rms(y - np.einsum("ijc,jc->ij", X, x)), fit.left)
    return fit._replace(log=fit.log + dissipates(fit, power, CERTAIN) + _scarce(fit, prior[:, 0]), left=left)


def _scarce(fit: Fit, prior: Array) -> Array:
    """Return the log of the odds by which factors below one are less probable than by a normal prior.

    A tenth is as improbable as ten times: the logarithm is what is normal. Of what is known of a factor, the
    two deviations nearest to one are given to it.
    """
    most = fit.x[:, 0] + 2.0 * np.sqrt(fit.covariance[:, 0, 0])
    factor = np.clip(most, 1e-3, 1.0)
    odds: Array = 0.5 * ((1.0 - factor) ** 2 - np.log(factor) ** 2) / prior**2
    return odds


def _own_functions(table: Table, rows: Indices, joints: Indices) -> Array:
    """Return columns of smooth functions of each joint's own position and velocity, of size one."""
    q, dq = (getattr(table.signals, name)[np.ix_(rows, joints)] for name in ("q", "dq"))
    low, high, v = q.min(axis=0), q.max(axis=0), dq / np.maximum(np.abs(dq).max(axis=0), SLOW)
    u = (2.0 * q - low - high) / np.maximum(high - low, TRAVEL)
    shapes = np.polynomial.legendre.legvander(u, ORDER)[..., 1:]
    return np.concatenate((shapes, (v * np.abs(v))[..., None]), axis=2)


class WholeBody(NamedTuple):
    """What no contact force changes: N S' tau, N (M a + c), and N S' of unit torques."""

    acted: Array  # shape (N, m)
    needed: Array  # shape (N, m)
    torques: Array  # shape (N, m, n)
    dq: Array  # shape (N, n)


def whole_body_rows(table: Table) -> WholeBody | None:
    """Return the rows of a robot on its feet without force sensors, efforts known; None for others."""
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
    """Efforts of a robot on its feet without force sensors: N (S' tau - M a - c) = 0.

    The forces that the torques of the legs make must carry weight and motion of the base.
    """
    rows = whole_body_rows(table)
    if rows is None or not rows.needed.size:
        return None
    size = math.sqrt(float(np.mean(rows.needed**2) + np.mean(rows.acted**2)) / 2.0)
    limit = table.robot.stiction(float(rms(table.signals.tau).max()))
    Z = (rows.torques * (np.tanh(rows.dq / SLOW) * limit)[:, None]).reshape(rows.needed.size, -1) / size
    y = ((rows.acted - rows.needed) / size).ravel()
    fit = most_probable(y[:, None], Z[:, None], np.zeros(Z.shape[1]), np.ones(Z.shape[1]))
    share = typical(rms((y - Z @ fit.x[0]).reshape(rows.needed.shape), 1))
    return one(float(fit.log[0]), min(share, 2.0))


class Compared(NamedTuple):
    """What is compared in a part, and how that is said."""

    judge: Callable[[Table], Part | None]
    says: str  # what is compared
    check: str = ""  # name of the finding that it agrees; empty: others say so
    subject: str = JOINTS
    without: str = ""  # what is said where nothing tells; empty: nothing
    unexplained: float = math.inf  # share of it from which that is said
    sure: float = math.inf  # most of it that a certain cause leaves
    is_share: bool = True  # whether what is left is a share
    agrees: float = 0.0  # share that sensors and friction leave, in which no error is sought


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
        *(rotation, "angular rate and rotation over the feet", "gyroscope axes", IMU, STILL, 0.7, 0.7)
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
    """Return how well each part agrees, or some of them."""
    found = {name: part.judge(table) for name, part in PARTS.items() if not only or name in only}
    return {name: part for name, part in found.items() if part is not None and math.isfinite(part.log)}
