"""A joint whose position has the wrong sign, two joints under each other's names, or with exchanged efforts.

The first two change the kinematics, so that torques, contact wrenches and angular rate all disagree with the
description. A hypothesis is accepted if it alone removes most of this disagreement. The disagreement is
measured so that signs and units of efforts and wrenches, and the axes of the gyroscope, do not change it.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.bring_up.case import Case
from inertial_estimation.bring_up.finding import Finding, finding
from inertial_estimation.bring_up.streams import RobotStreams
from inertial_estimation.data_checks.check_result import Verdict
from inertial_estimation.data_checks.data_table import DataTable, WindowPredictor
from inertial_estimation.data_checks.data_window import DataWindow
from inertial_estimation.data_checks.foot_rotation import expected_rate
from inertial_estimation.data_checks.nominal_torques import nominal_torques
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra

__all__ = ["joint_hypotheses"]

WINDOWS, FEW = 30, 10  # at which hypotheses are compared, and at which the most likely ones are chosen
MOST_LIKELY = 20
DISAGREES = 0.05  # disagreement from which hypotheses are tried; 0 none, 1 as large as the signal
REMAINS = 0.7  # share of the disagreement that a hypothesis leaves at most
ALIKE, MOST_ALIKE = 0.75, 3  # of the best one's gain, from which others are named with it; how many
STRONG = 0.1  # share of the largest effort's rms from which a joint's effort counts
DIFFERENT = 0.15  # rms difference of positions between which an exchange shows [rad]
FAST_ENOUGH = 0.02  # rms rotation of the base that is compared [rad/s]
MARGIN = 0.2  # beyond its limits a joint may be [rad]
LEVER = 0.3  # at which moments count as much as forces [m]
UNITS = (1.0, -1.0, 1e3, -1e3, 1e-3, -1e-3)


@dataclass(frozen=True)
class _Hypothesis:
    """Positions with one sign changed, or two joints exchanged (the second one negative: none).

    Attributes:
        first: A joint.
        second: The other one; -1: none.
        efforts: Whether only their efforts are exchanged.
    """

    first: int
    second: int = -1
    efforts: bool = False


def joint_hypotheses(case: Case) -> list[Finding]:
    """Look for a joint with the wrong sign, or two exchanged ones, that explain most of the disagreement.

    Args:
        case: The recording.
    """
    search = _Search(case)
    before = search.disagreement(None, WINDOWS)
    if not before > DISAGREES:
        return []
    likely = sorted((search.disagreement(one, FEW), i, one) for i, one in enumerate(search.hypotheses()))
    tried = sorted((search.disagreement(one, WINDOWS), i, one) for _few, i, one in likely[:MOST_LIKELY])
    drops = [before - after for after, _i, _one in tried]
    if not drops or drops[0] < (1.0 - REMAINS) * before:
        return []
    alike = [one for drop, (_after, _i, one) in zip(drops, tried, strict=True) if drop > ALIKE * drops[0]]
    if len(alike) > MOST_ALIKE or (drops[0] < 0.5 * before and len(alike) > 1):
        return []
    return [_found(alike, before, tried[0][0], case)]


def _found(alike: list[_Hypothesis], before: float, after: float, case: Case) -> Finding:
    names = case.robot.names
    best = alike[0]
    drop = f"torques, wrenches and rotation disagree with the description by {100 * before:.0f} %"
    words = [_words(one, names) for one in alike]
    said = f"{drop}, by {100 * after:.0f} % if {words[0]}"
    if len(words) > 1:
        said += f"; it cannot be told from: {', '.join(words[1:])}"
    mend, exact = partial(_corrected, hypothesis=best), len(alike) == 1
    check, remedy = "joint order", "check the order of names and values in the driver of joint_states"
    if best.second < 0:
        check = "joint sign"
        remedy = "correct its sign in the driver, or the axis of the joint in the description"
    elif best.efforts:
        check = "effort order"
    name = names[best.first]
    return finding(check, name, Verdict.WRONG, before, "", said, remedy, mend=mend, exact=exact)


def _words(one: _Hypothesis, names: tuple[str, ...]) -> str:
    if one.second < 0:
        return f"'{names[one.first]}' had the other sign"
    of = "the efforts of " if one.efforts else ""
    return f"{of}'{names[one.first]}' and '{names[one.second]}' were exchanged"


class _Search:
    """Disagreement of a few windows with the description under hypotheses."""

    def __init__(self, case: Case) -> None:
        windows = case.signals.windows
        known = np.isfinite(windows.q).all(axis=1)
        kept = np.flatnonzero(known)
        self._kept = kept[np.linspace(0, len(kept) - 1, min(WINDOWS, len(kept))).astype(int)]
        self._case, self._table = case, windows
        self._ddq, self._wd_I = case.signals.ddq, case.signals.wd_I
        self._predictor = WindowPredictor(case.setup)
        self._tables: dict[int, DataTable] = {}

    def hypotheses(self) -> Iterator[_Hypothesis]:
        """Yield the hypotheses that keep the joints within their limits."""
        robot, q = self._case.robot, self._table.q[self._kept]
        low, high = q.min(axis=0) + MARGIN, q.max(axis=0) - MARGIN
        n = q.shape[1]
        size = np.sqrt(np.mean(np.nan_to_num(self._table.tau[self._kept]) ** 2, axis=0))
        strong = size > STRONG * size.max(initial=0.0)
        for j in range(n):
            if (
                np.sqrt(np.mean(q[:, j] ** 2)) > DIFFERENT
                and robot.lower[j] < -high[j]
                and -low[j] < robot.upper[j]
            ):
                yield _Hypothesis(j)
        for i, j in itertools.combinations(range(n), 2):
            fits = all(robot.lower[a] < low[b] and high[b] < robot.upper[a] for a, b in ((i, j), (j, i)))
            if fits and np.sqrt(np.mean((q[:, i] - q[:, j]) ** 2)) > DIFFERENT:
                yield _Hypothesis(i, j)
            if (strong[i] or strong[j]) and size[j] > 0.0 < size[i]:
                yield _Hypothesis(i, j, efforts=True)

    def disagreement(self, hypothesis: _Hypothesis | None, windows: int) -> float:
        """Return the mean disagreement of torques, wrenches and rotation, 0 where nothing is measured."""
        if hypothesis is None or hypothesis.efforts:
            table = self._nominal(windows)
            tau = table.tau.copy()
            if hypothesis is not None:
                pair = [hypothesis.first, hypothesis.second]
                tau[:, pair] = tau[:, pair[::-1]]
            table = replace(table, tau=tau)
        else:
            table = self._predicted(hypothesis, self._at(windows))
        parts = [part for part in (_torques(table), _wrenches(table), _rotation(table)) if part is not None]
        return float(np.mean(parts)) if parts else 0.0

    def _at(self, windows: int) -> NDArray[np.int64]:
        """Return the indices of some windows."""
        chosen: NDArray[np.int64] = self._kept[:: max(1, len(self._kept) // windows)]
        return chosen

    def _nominal(self, windows: int) -> DataTable:
        """Return the windows as they are, with their predictions."""
        if windows not in self._tables:
            self._tables[windows] = self._predicted(None, self._at(windows))
        return self._tables[windows]

    def _predicted(self, hypothesis: _Hypothesis | None, kept: NDArray[np.int64]) -> DataTable:
        table = self._table
        windows = []
        for i in kept.tolist():
            joints = [table.q[i], table.dq[i], self._ddq[i], table.v[i], table.tau[i]]
            q, dq, ddq, v, tau = (_changed(values, hypothesis, k) for k, values in enumerate(joints))
            window = DataWindow(
                0, q, dq, ddq, v, tau, table.f_I[i], table.w_I[i], self._wd_I[i], table.wrenches[i]
            )
            windows.append(self._predictor.predicted(window))
        return DataTable.of(windows, table.n_base)


def _changed(values: Array, hypothesis: _Hypothesis | None, kind: int) -> Array:
    """Apply a hypothesis about positions to them, velocities, accelerations (kinds 0 to 3) or efforts (4)."""
    if hypothesis is None:
        return values
    changed: Array = values.copy()
    i, j = hypothesis.first, hypothesis.second
    if j >= 0:
        changed[[i, j]] = changed[[j, i]]
    elif kind < 4:
        changed[i] *= -1.0
    return changed


def _torques(table: DataTable) -> float | None:
    """Relative distance of efforts from predicted torques, the best sign and unit of each joint assumed."""
    predicted = nominal_torques(table)
    known = np.flatnonzero(np.isfinite(np.hstack((predicted, table.tau))).all(axis=1))
    if len(known) < 5:
        return None
    tau, p = table.tau[known], predicted[known]
    size = np.sqrt(np.mean(tau**2, axis=0))
    strong = size > STRONG * size.max()
    distances = [np.sqrt(np.mean((tau - unit * p) ** 2, axis=0)) / np.maximum(size, 1e-12) for unit in UNITS]
    return float(np.minimum(np.min(distances, axis=0), 1.0)[strong].mean())


def _wrenches(table: DataTable) -> float | None:
    """Relative distance of the contact wrenches from what the motion needs, at their best sign and unit."""
    if table.n_base != 6 or not table.jacobians.shape[1]:
        return None
    scale = np.array([1.0] * 3 + [1.0 / LEVER] * 3)
    needed, carried = table.force[:, :6] * scale, table.contact_force[:, :6] * scale
    known = np.isfinite(needed).all(axis=1) & np.isfinite(carried).all(axis=1)
    if known.sum() < 5:
        return None
    size = np.linalg.norm(needed[known], axis=1)
    away = [np.median(np.linalg.norm(needed[known] - u * carried[known], axis=1) / size) for u in UNITS]
    return float(min(min(away), 1.0))


def _rotation(table: DataTable) -> float | None:
    """Share of the angular rate that the rotation over the feet does not explain in any axes."""
    if table.n_base != 6:
        return None
    expected = expected_rate(table)
    known = np.isfinite(expected).all(axis=1) & np.isfinite(table.w_I).all(axis=1)
    if known.sum() < 8:
        return None
    e, w = expected[known], table.w_I[known]
    if float(np.sqrt(np.mean(w**2) * 3.0)) < FAST_ENOUGH:
        return None
    size = float(np.linalg.norm(e) * np.linalg.norm(w))
    return 1.0 - float(linear_algebra.singular_values(e.T @ w).sum()) / size if size > 0.0 else None


def _corrected(streams: RobotStreams, hypothesis: _Hypothesis) -> RobotStreams:
    values = streams.joints.values.copy()
    n, i, j = streams.n_joints, hypothesis.first, hypothesis.second
    for k in range(3):
        if j >= 0 and (k == 2 or not hypothesis.efforts):
            values[:, [k * n + i, k * n + j]] = values[:, [k * n + j, k * n + i]]
        elif j < 0 and k < 2:
            values[:, k * n + i] *= -1.0
    joints = streams.joints.with_values(values)
    return replace(streams, joints=joints)
