"""Residuals of the equation of motion, with a regressor column for each error that may explain them.

At each window the equation of motion gives, for base and joints,

    r = S' tau + J' w - (M a + c) = Y dtheta + friction + errors of scales + noise

with Y dtheta of errors of masses and centres of mass. Contact wrenches that are not measured are computed
from the efforts of the legs; where these do not suffice, the rows are multiplied by a basis of the null space
of the contact Jacobians (Mistry et al., ICRA 2010). Columns of geometry errors are derivatives of the
recursive Newton-Euler algorithm; that feet stand on level ground informs them, too (`foot_heights`).
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from inertial_estimation.diagnosis.parts import SLOW, gravity_pair
from inertial_estimation.diagnosis.table import STEP_S, Indices, Signals, Table, evenly_spaced
from inertial_estimation.models.bodies import BodyPlacements
from inertial_estimation.models.candidate_columns import CandidateColumns
from inertial_estimation.models.measurement_rows import unmoved
from inertial_estimation.models.predicted_forces import GeometrySlopes, gravity_columns
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra

MOST_WINDOWS = 250  # largest number of windows
AVERAGED = 5  # consecutive windows of which means are taken
FEWEST = 20  # least number of windows
LEVEL, TILT = 0.02, math.radians(5.0)  # deviations of heights of standing feet [m], of the ground's slope
SINGULAR = 0.02  # least lever of a leg at which its efforts determine the contact force [m]


@dataclass(frozen=True, eq=False)
class ForceRows:
    """Residuals of the equation of motion in N windows of m rows, with regressor columns, unweighted."""

    times_s: Array  # times of the windows [s], shape (N,)
    left: Array  # residual, measured minus predicted generalised force, shape (N, m)
    measured: Array  # measured generalised force, whose size sets the least noise, shape (N, m)
    loads: Array  # columns of mass, first and second moments of each body, shape (N, m, b, 10)
    friction: Array  # offset, Coulomb, viscous and rotor inertia of each measured joint, shape (N, m, j, 4)
    gains: Array  # columns of each measured joint's predicted torque, for its effort's scale, shape (N, m, j)
    wrenches: Array  # columns of each contact's measured wrench, shape (N, m, k)
    zeros: Array  # columns of a constant wrench in each contact's sensor, shape (N, m, 6 k)
    gravity: Array  # columns of gravity in the axes of a fixed base, shape (N, m, 3); floating: (N, m, 0)
    geometry: Array  # columns of the rotation of the IMU (floating base: 3) and offsets of revolute joints
    links: tuple[str, ...]  # name of one link of each body
    masses: Array  # described masses of the bodies [kg], shape (b,)
    inertias: Array  # described rotational inertias, the mean about all axes [kg m^2], shape (b,)
    extent: float  # largest distance of a joint from the base [m]
    joints: tuple[str, ...]  # names of the joints with measured efforts
    contacts: tuple[str, ...]  # names of the contacts with measured wrenches
    turning: tuple[str, ...]  # names of the t revolute joints
    # whitened equations of the geometry by heights of standing feet: readings (v,), columns (v, 3 + t)
    foot_heights: tuple[Array, Array]
    n_base: int  # number of base rows among the m rows; 0 if rows are projected into a null space

    @property
    def whole(self) -> Array:
        """Column of a common factor of all masses: the predicted generalised force, shape (N, m)."""
        return self.measured - self.left

    def means(self) -> "ForceRows":
        """Return the means of consecutive windows, if they contain rows of the base and are not too few.

        The noise of an IMU is also in the columns (errors in variables) and would bias masses and scales
        towards zero; means reduce it. What remains of the motion informs geometry and rotational inertias.
        """
        count = len(self.left) // AVERAGED
        if not self.n_base or count < FEWEST // AVERAGED:
            return self
        means = {
            name: x[: count * AVERAGED].reshape(count, AVERAGED, *x.shape[1:]).mean(axis=1)
            for name, x in vars(self).items()
            if isinstance(x, np.ndarray) and x.ndim > 1
        }
        return replace(self, **means)


def force_windows(signals: Signals) -> Indices:
    """Return the windows in which forces are judged: runs of `AVERAGED` adjacent ones, evenly distributed.

    The mean of a run resolves the step of a gait, however long the recording is.
    """
    apart = max(1, round(signals.window_s / STEP_S))
    span = AVERAGED * apart
    begins = evenly_spaced(signals.size - span, min(MOST_WINDOWS // AVERAGED, signals.size // span))
    windows: Indices = np.unique(begins[:, None] + apart * np.arange(AVERAGED))
    return windows


def force_rows(table: Table) -> ForceRows | None:
    """Build the rows of all windows; None if no forces are known together with the motion."""
    s, robot, setup = table.signals, table.robot, table.robot.setup
    with_tau, b = np.isfinite(s.tau).mean(axis=0) > 0.5, table.robot.n_base
    wrenches = table.measures_wrenches
    if b and not wrenches and not (setup.contacts and with_tau.any()):
        return None
    rows = np.concatenate((np.ones(b, dtype=bool), with_tau))
    known = np.isfinite(table.force).all(axis=1) & np.isfinite(s.tau[:, with_tau]).all(axis=1)
    known &= np.isfinite(s.wrenches).all(axis=(1, 2)) if wrenches else True
    kept = np.flatnonzero(known)
    if len(kept) < FEWEST or not rows.any():
        return None
    kept = kept[evenly_spaced(len(kept), MOST_WINDOWS)]
    free, of_base = ({}, bool(b)) if wrenches or not b else _projections(table, rows, kept)
    kept = np.array(list(free)) if free else kept
    builder = _Builder(table, rows, with_tau)
    windows = [builder.window(i, free.get(i)) for i in kept.tolist()]
    left, measured, loads, friction, gains, pushed, zeros, gravity, geometry = map(
        np.array, zip(*windows, strict=True)
    )
    return ForceRows(
        *(s.times_s[kept], left, measured, loads, friction, gains, pushed, zeros, gravity, geometry),
        links=builder.candidates.links,
        masses=builder.candidates.masses,
        inertias=builder.candidates.masses * np.trace(builder.candidates.spreads, 0, 1, 2) * 2.0 / 3.0,
        extent=BodyPlacements(setup.robot).extent,
        joints=tuple(np.array(robot.names)[with_tau].tolist()),
        contacts=setup.contact_names if wrenches else (),
        turning=builder.slopes.turning,
        foot_heights=_foot_heights(table, builder.slopes.turning),
        n_base=b if of_base else 0,
    )


def _projections(table: Table, rows: Array, kept: Indices) -> tuple[dict[int, Array], bool]:
    """Return projections that eliminate unknown contact forces, by window, and whether base rows remain.

    Base rows remain in windows in which the efforts of the legs determine all contact forces. If these
    windows are few, the projection is on a basis of the null space of all contact Jacobians.
    """
    columns = {i: table.contact_columns[i][rows] for i in kept.tolist()}
    found = {i: _base_rows(C, table.robot.n_base) for i, C in columns.items()}
    shown = {i: N for i, N in found.items() if N is not None}
    if len(shown) > max(FEWEST, len(kept) // 2):
        return shown, True
    return {i: unmoved(C).T for i, C in columns.items()}, False


def _base_rows(C: Array, b: int) -> Array | None:
    """Return the projection on rows of the base, contact forces computed from the efforts of the legs.

    Joints that move no contact have rows of their own. Each row has norm one: if a leg is nearly straight,
    the force by its efforts is uncertain. None if the efforts do not determine all contact forces.
    """
    legs = np.abs(C[b:]).max(axis=1) > 0.0
    C_l = C[b:][legs]
    if linear_algebra.svd(C_l)[1][-1] < SINGULAR or len(C_l) < C_l.shape[1]:
        return None
    N = np.eye(len(C))[np.concatenate((np.ones(b, dtype=bool), ~legs))]
    N[:b, b + np.flatnonzero(legs)] = -C[:b] @ linear_algebra.pinv(C_l)
    rows: Array = N / np.linalg.norm(N, axis=1, keepdims=True)
    return rows


class _Builder:
    def __init__(self, table: Table, rows: Array, with_tau: Array) -> None:
        setup = table.robot.setup
        robot = setup.robot
        self._table, self._rows, self._joints = table, rows, np.flatnonzero(with_tau)
        self.candidates = CandidateColumns(robot, robot.links_matching(("*",), "the robot"))
        self.slopes = GeometrySlopes(setup)

    def window(self, i: int, N: Array | None) -> tuple[Array, ...]:
        """Return residual, measured force and columns of a window, in `ForceRows` order, projected by N."""
        table, s, rows, b = self._table, self._table.signals, self._rows, self._table.robot.n_base
        nv, measured = len(rows), self._table.measures_wrenches
        dq, ddq, joints, k = s.dq[i], s.ddq[i], self._joints, np.arange(len(self._joints))
        friction, gains, acting = np.zeros((nv, len(k), 4)), np.zeros((nv, len(k))), np.zeros(nv)
        friction[b + joints, k] = np.stack(
            (np.ones(len(k)), np.tanh(dq[joints] / SLOW), dq[joints], ddq[joints]), axis=1
        )
        acting[b + joints] = s.tau[i, joints]
        J = table.jacobians[i]
        pushed = np.einsum("kiv,ki->vk", J, np.nan_to_num(s.wrenches[i]))[:, : None if measured else 0]
        acting = acting + pushed.sum(axis=1)
        if measured and b:  # columns have wrenches that balance the base, free of the noise of the sensors
            C = table.contact_columns[i]
            lacking = linear_algebra.pinv(C[:b]) @ (table.force[i] - acting)[:b]
            pushed = pushed + (C * lacking).reshape(*pushed.shape, -1).sum(axis=2)
        gains[b + joints, k] = (table.force[i] - pushed.sum(axis=1))[b + joints]  # predicted, without noise
        gravity = np.zeros((nv, 0)) if b else gravity_columns(table.robot.setup.robot, s.q[i])
        columns = [
            acting - table.force[i],
            acting,
            table.robot.by_parameters(self.candidates, s, i).transpose(1, 0, 2),
            friction,
            gains,
            pushed,
            J.reshape(-1, nv).T[:, : None if measured else 0],
            gravity,
            self._geometry(i),
        ]
        chosen = [array[rows] for array in columns]
        if N is not None:
            chosen = [np.tensordot(N, array, axes=1) for array in chosen]
        return tuple(chosen)

    def _geometry(self, i: int) -> Array:
        """Return the geometry columns; contact wrenches that are not measured are found by least squares."""
        table, s = self._table, self._table.signals
        wrenches: Array = np.nan_to_num(s.wrenches[i])
        if not table.measures_wrenches and wrenches.size:
            J, used = table.jacobians[i], slice(0, 3) if table.points else slice(0, 6)
            acting = np.concatenate((np.zeros(table.robot.n_base), s.tau[i]))
            known = np.isfinite(acting)
            columns = J[:, used].reshape(-1, J.shape[2]).T[known]
            found = linear_algebra.pinv(columns, 1e-6) @ (table.force[i] - acting)[known]
            wrenches[:, used] = found.reshape(len(J), -1)
        return self.slopes.at((s.q[i], s.dq[i], s.ddq[i]), (s.f[i], s.w[i], s.wd[i]), wrenches)


def _foot_heights(table: Table, turning: tuple[str, ...]) -> tuple[Array, Array]:
    """Return whitened equations of the geometry: all feet stand on one plane of limited slope.

    A foot stands when it is lowest along the specific force: from the 70 % to the 90 % quantile of depth.
    """
    joints, k, b = [table.robot.names.index(n) for n in turning], table.points_B.shape[1], table.robot.n_base
    if gravity_pair(table) is None or k < 2:
        return np.zeros(0), np.zeros((0, len(joints)))
    f_I = table.signals.f
    f_B, f_I = np.nanmean(np.einsum("nij,nj->ni", table.R_BI, f_I), axis=0), np.nanmean(f_I, axis=0)
    size = max(float(np.linalg.norm(f_B)), 1e-9)
    depth = -table.points_B @ f_B / size
    order, count = np.argsort(depth, axis=0), max(1, table.size // 10)
    rows = order[-3 * count : -count or None].T
    middle = np.array([table.points_B[r, i].mean(axis=0) for i, r in enumerate(rows)])
    deep = np.array([depth[r, i].mean() for i, r in enumerate(rows)])
    across = middle - middle.mean(axis=0)
    across -= np.outer(across @ f_B, f_B) / size**2
    P = LEVEL**2 * np.eye(k) + 1e2 * np.ones((k, k)) + TILT**2 * across @ across.T
    white, columns = linear_algebra.inv(linear_algebra.cholesky(P)), np.zeros((k, 3 + len(joints)))
    # a rotation error phi of the IMU turns the specific force, in axes of the IMU
    columns[:, :3] = -middle @ (np.cross(np.eye(3), f_I) @ np.nanmean(table.R_BI, axis=0).T).T / size
    for i, r in enumerate(rows):
        moved = np.einsum("nij,njv->iv", table.rotations_BF[r, i], table.jacobians[r, i, :3]) / len(r)
        columns[i, 3:] = -(f_B / size @ moved[:, b:])[joints]
    return white @ (deep - deep.mean()), -white @ columns
