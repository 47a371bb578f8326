"""A joint whose position has the wrong sign, two joints under each other's names, or with exchanged efforts.

The first two change the kinematics, so that torques, contact wrenches and angular rate all disagree with the
description. Every such assumption is compared with the description as it is by the probability of the data
under it, in which signs, units and gears of efforts and wrenches and the axes of the gyroscope are free at a
price (`hypothesis_evidence`): one wrong joint is more probable than several wrong efforts.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.bring_up.case import Case
from inertial_estimation.bring_up.finding import Finding, cannot_tell, finding
from inertial_estimation.bring_up.hypothesis_evidence import (
    ANY_FACTOR,
    Evidence,
    evidence,
    evidence_of_exchanged_efforts,
    unexplained_efforts,
)
from inertial_estimation.bring_up.streams import RobotStreams
from inertial_estimation.data_checks.check_result import Verdict
from inertial_estimation.data_checks.data_table import DataTable, WindowPredictor
from inertial_estimation.data_checks.data_window import DataWindow
from inertial_estimation.signals import Array

WINDOWS, FEW = 60, 12  # at which hypotheses are compared, and at which the most likely ones are chosen
MOST_LIKELY = 24
CERTAIN = 16.0  # log odds from which a hypothesis is accepted, in addition to the log of their number
SUSPECTED = ANY_FACTOR  # the same where an effort contradicts the description anyway, and only why is asked
NOTICED = 6.0  # the same from which it is worth another recording
TOGETHER, TOGETHER_SHARE = 6.0, 0.1  # of the best one's evidence, up to which another one is not told from it
NAMED = 3  # how many of these are named
MISFIT = 0.1  # unexplained share of an effort that may be that of another joint
DIFFERENT = 0.15  # rms difference of positions between which an exchange shows [rad]
MARGIN = 0.2  # beyond its limits a joint may be [rad]


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


def joint_hypotheses(case: Case, *, suspected: bool = False) -> list[Finding]:
    """Look for a joint with the wrong sign, or two exchanged ones, that explain most of the disagreement.

    The sign of a joint that moves little mass changes little but the torque of the joint before it: whether
    that effort has the wrong sign, or this joint, is then decided by smaller odds. They exceed the price of a
    sign, which an assumption that explains the effort does not have to pay.

    Args:
        case: The recording.
        suspected: Whether an effort contradicts the description as it is.

    Returns:
        What is wrong, or that it cannot be decided; nothing where the description as it is explains the data.
    """
    search = _Search(case)
    before = search.described()
    if math.isnan(before.disagreement):
        return []
    every = list(search.hypotheses())
    price = math.log(max(len(every), 1))
    if len(every) > MOST_LIKELY:
        few = [found.log for found in search.evidence(every, FEW)]
        every = [every[i] for i in np.argsort(few, kind="stable")[::-1][:MOST_LIKELY].tolist()]
    tried = list(zip(search.evidence(every, WINDOWS), every, strict=True))
    tried.sort(key=lambda item: -item[0].log)
    if not tried:
        return []
    best, gain = tried[0][0], tried[0][0].log - before.log
    near = max(TOGETHER, TOGETHER_SHARE * gain)
    alike = [one for found, one in tried if found.log > best.log - near]
    certain = gain > (SUSPECTED if suspected else CERTAIN) + price
    if not certain or len(alike) == len(tried) > NAMED:
        return [_undecided(alike, gain - price, case)] if gain > NOTICED + price else []
    return [_found(alike, before.disagreement, best.disagreement, case)]


def _found(alike: list[_Hypothesis], before: float, after: float, case: Case) -> Finding:
    names = case.robot.names
    best = alike[0]
    drop = f"torques, wrenches and rotation disagree with the description by {100 * before:.3g} %"
    words = [_words(one, names) for one in alike]
    said = f"{drop}, by {100 * after:.3g} % if {words[0]}"
    if len(words) > 1:
        said += f"; it cannot be told from: {', '.join(words[1:NAMED])}"
    if len(words) > NAMED:
        said += f", and {len(words) - NAMED} more"
    mend, exact = partial(_corrected, hypothesis=best), len(alike) == 1
    check, remedy = "joint order", "check the order of names and values in the driver of joint_states"
    if best.second < 0:
        check = "joint sign"
        remedy = "correct its sign in the driver, or the axis of the joint in the description"
    elif best.efforts:
        check = "effort order"
    name = names[best.first]
    return finding(check, name, Verdict.WRONG, before, "", said, remedy, mend=mend, exact=exact)


def _undecided(alike: list[_Hypothesis], odds: float, case: Case) -> Finding:
    """Return what is more probable than the description, but not certain, or one of too many."""
    also = f", or one of {len(alike) - 1} others" if len(alike) > 1 else ""
    why = f"odds of e^{odds:.0f} are not enough to say that {_words(alike[0], case.robot.names)}{also}"
    remedy = "move these joints further, one after the other, and record their efforts"
    return cannot_tell("joint order and signs", "joint_states", why, remedy)


def _words(one: _Hypothesis, names: tuple[str, ...]) -> str:
    if one.second < 0:
        return f"'{names[one.first]}' had the other sign"
    of = "the efforts of " if one.efforts else ""
    return f"{of}'{names[one.first]}' and '{names[one.second]}' were exchanged"


class _Search:
    """Evidence of a few windows for hypotheses about the joints."""

    def __init__(self, case: Case) -> None:
        windows = case.signals.windows
        known = np.isfinite(windows.q).all(axis=1)
        kept = np.flatnonzero(known)
        self._kept = kept[np.linspace(0, len(kept) - 1, min(WINDOWS, len(kept))).astype(int)]
        self._case, self._table = case, windows
        self._ddq, self._wd_I = case.signals.ddq, case.signals.wd_I
        self._predictor = WindowPredictor(case.setup)
        self._tables: dict[int, DataTable] = {}
        setup = case.setup
        turns = [setup.robot.fixed_transform(c.wrench_frame, c.frame).rotation for c in setup.contacts]
        self._normals_F = np.reshape([turn[:, 2] for turn in turns], (-1, 3))

    def hypotheses(self) -> Iterator[_Hypothesis]:
        """Yield the hypotheses that keep the joints within their limits."""
        robot, q = self._case.robot, self._table.q[self._kept]
        low, high = q.min(axis=0) + MARGIN, q.max(axis=0) - MARGIN
        n = q.shape[1]
        misfit = unexplained_efforts(self._nominal(WINDOWS), self._slopes(None, WINDOWS)) > MISFIT
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
            if misfit[i] or misfit[j]:
                yield _Hypothesis(i, j, efforts=True)

    def described(self) -> Evidence:
        """Return how well the description as it is explains the windows."""
        return evidence([self._nominal(WINDOWS)], [self._slopes(None, WINDOWS)], self._normals_F)[0]

    def evidence(self, hypotheses: Sequence[_Hypothesis], windows: int) -> list[Evidence]:
        """Return how well each hypothesis explains a number of windows."""
        moved = [one for one in hypotheses if not one.efforts]
        tables = [self._predicted(one, self._at(windows)) for one in moved]
        found = iter(evidence(tables, [self._slopes(one, windows) for one in moved], self._normals_F))
        pairs = [(one.first, one.second) for one in hypotheses if one.efforts]
        nominal = self._nominal(windows), self._slopes(None, windows)
        exchanged = iter(evidence_of_exchanged_efforts(*nominal, pairs, self._normals_F))
        return [next(exchanged if one.efforts else found) for one in hypotheses]

    def _slopes(self, hypothesis: _Hypothesis | None, windows: int) -> Array:
        """Return the slopes of the efforts of some windows, of the joints as assumed."""
        return _changed(self._case.signals.dtau[self._at(windows)], hypothesis, 4)

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
        joints = (table.q, table.dq, self._ddq, table.v, table.tau)
        changed = [_changed(values[kept], hypothesis, k) for k, values in enumerate(joints)]
        others = (table.f_I, table.w_I, self._wd_I, table.wrenches)
        rows = zip(*changed, *(values[kept] for values in others), strict=True)
        windows = [self._predictor.predicted(DataWindow(0, *row)) for row in rows]
        return DataTable.of(windows, self._case.setup.robot)


def _changed(values: Array, hypothesis: _Hypothesis | None, kind: int) -> Array:
    """Apply a hypothesis to rows of positions, their derivatives, sent velocities (0 to 3) or efforts (4)."""
    if hypothesis is None:
        return values
    changed: Array = values.copy()
    i, j = hypothesis.first, hypothesis.second
    if j >= 0:
        changed[:, [i, j]] = changed[:, [j, i]]
    elif kind < 4:
        changed[:, i] *= -1.0
    return changed


def _corrected(streams: RobotStreams, hypothesis: _Hypothesis) -> RobotStreams:
    n, i, j = streams.n_joints, hypothesis.first, hypothesis.second
    if j < 0:
        return streams.mirrored_joint(i)
    values = streams.joints.values.copy()
    for k in (2,) if hypothesis.efforts else range(3):
        values[:, [k * n + i, k * n + j]] = values[:, [k * n + j, k * n + i]]
    return streams.with_joints(values)
