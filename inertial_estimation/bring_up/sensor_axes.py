"""Axes of force sensors and accelerometer, and names of contacts, by the balance of the whole robot.

The contact wrenches must balance weight and motion at every window, whatever the joints' efforts:

    sum_k G_k w_k = needed,      G_k = (J_k' of the base), needed = (M a + c of the base)

(`WrenchBalance`). Exchanged contacts, a sensor with other axes, or an accelerometer with others break the
balance: the latter changes the force that is needed by m R_BI (P - 1) f, and its moment by that at the centre
of mass. Each assumption is judged by what it leaves, with a constant zero of each sensor's channels fitted
along: then only what varies tells, and neither a sensor's zero nor a lean of the ground looks like other
axes. Beside all permutations of axes and signs, the rotation of each sensor that balances best is tried
(Gauss-Newton).
"""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from inertial_estimation.bring_up.case import Case
from inertial_estimation.bring_up.finding import Finding, cannot_tell, finding
from inertial_estimation.bring_up.streams import RobotStreams
from inertial_estimation.data_checks.check_result import Verdict
from inertial_estimation.data_checks.data_table import DataTable
from inertial_estimation.data_checks.imu_checks import PERMUTATIONS, axis_names
from inertial_estimation.data_checks.wrench_balance import (
    ALIKE,
    BALANCED,
    EXPLAINS,
    IMBALANCE,
    NOISE,
    WrenchBalance,
)
from inertial_estimation.models.robot_config import IMU_TOPIC
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra
from inertial_estimation.spatial.rotations import exp_so3

ALL = "contact wrenches"
MOST_ALIKE = 4
MILLI = 1e-3
TOLD, TOLD_LEAST = 2.0, 0.01  # times the imbalance, and weights beyond it, from which another one is excluded
ITERATIONS = 8
LEAST_SCALE, MOST_SCALE = 0.2, 5.0
UPRIGHT = math.cos(math.radians(20.0))
TURNED = 5.0  # rotation that is no tolerance [deg]
AXES = "check wrench_frames, and the axes of the force sensor in its driver"
IMU_AXES = "where the gyroscope's are not known to be right, the whole IMU may be mounted so"


@dataclass(frozen=True, eq=False)
class _Assumption:
    """Another wiring of sensors.

    Attributes:
        words: What it assumes, after "if".
        remedy: What to check.
        contacts: Numbers of the contacts whose readings it changes; two that are exchanged.
        force: Its forces by those that are sent, shape (3, 3).
        moment: The same of the moments.
        accelerometer: The same of the specific force; None: as it is.
        check: Name of the finding.
    """

    words: str
    remedy: str
    contacts: tuple[int, ...] = ()
    force: Array | None = None
    moment: Array | None = None
    accelerometer: Array | None = None
    check: str = "contact wrench axes"

    @property
    def exchanges(self) -> bool:
        """Whether two contacts have each other's readings."""
        return self.force is None and self.accelerometer is None


def sensor_axes_findings(case: Case) -> list[Finding]:
    """Look for exchanged contacts, and other axes of a force sensor or the accelerometer.

    Args:
        case: The recording, with contact wrenches of the right size and sign.

    Returns:
        What is wrong, or that it cannot be decided what, or how well the wrenches balance the robot as they
        are; nothing without wrenches and IMU.
    """
    if case.streams.imu is None or not case.streams.wrenches or not case.setup.robot.floating_base:
        return []
    balance = _Balance.of(case.signals.windows)
    if balance is None:
        return []
    before = balance.left_if(None)
    names = case.setup.contact_names
    tried = [(balance.left_if(one), one) for one in _assumptions(names) if balance.keeps_gravity(one)]
    turned = [(balance.left_if(one), one) for one in _turned(balance, names) if balance.keeps_gravity(one)]
    best = min(left for left, _one in [*tried, *turned])
    best_scaled = balance.left_by_scales()
    if best > min(EXPLAINS * before, ALIKE * best_scaled, BALANCED) or before**2 - best**2 < IMBALANCE**2:
        return [_as_described(before, [left for left, _one in tried])]
    alike = [one for left, one in sorted(tried, key=_left) if left < ALIKE * best]
    alike = alike or [one for left, one in sorted(turned, key=_left) if left < ALIKE * best]
    drop = f"the contact wrenches miss the balance of the robot by {100 * before:.2g} % of the weight"
    if len(alike) > MOST_ALIKE:
        why = f"{drop}, by {100 * best:.2g} % if {alike[0].words}, or one of {len(alike) - 1} others"
        return [cannot_tell("sensor axes", ALL, why, "let the robot step from foot to foot, lean and turn")]
    return [_found(alike, f"{drop}, by {100 * best:.2g} %", 100 * before, case)]


def imbalance(case: Case) -> float:
    """Return by how much the contact wrenches miss the balance of the robot [weights]; NaN where unknown."""
    balance = _Balance.of(case.signals.windows) if case.streams.wrenches else None
    return math.nan if balance is None else balance.left_if(None)


def likely_accelerometer_axes(case: Case, axes: list[int]) -> list[int]:
    """Return which of some axes of the accelerometer balance the robot, the best first.

    Args:
        case: The recording.
        axes: Entries of `PERMUTATIONS`.

    Returns:
        Those that cannot be told from the best; all where there are no contact wrenches.
    """
    balance = _Balance.of(case.signals.windows) if case.streams.wrenches else None
    if balance is None or not axes:
        return axes
    tried = sorted((balance.left_if(_Assumption("", "", accelerometer=PERMUTATIONS[i])), i) for i in axes)
    return [i for left, i in tried if left < ALIKE * tried[0][0]]


def _left(tried: "tuple[float, _Assumption]") -> float:
    return tried[0]


def _as_described(before: float, others: list[float]) -> Finding:
    """Say how well the balance holds as it is, and how many assumptions that excludes."""
    said = f"the contact wrenches balance weight and motion to {100 * before:.2g} % of the weight"
    if before > BALANCED:
        return cannot_tell("sensor axes", ALL, f"{said}, and no other axes or exchange makes it right")
    excluded = sum(left > max(TOLD * before, before + TOLD_LEAST) for left in others)
    said += f"; of {len(others)} exchanges and other axes of the sensors {excluded} would not"
    return finding("sensor axes", ALL, Verdict.OK, 100 * before, "%", said)


def _found(alike: list[_Assumption], drop: str, value: float, case: Case) -> Finding:
    said = f"{drop} if {alike[0].words}"
    if len(alike) > 1:
        said += f"; it cannot be told from: {', '.join(one.words for one in alike[1:])}"
    best, names = alike[0], case.setup.contact_names
    subject = IMU_TOPIC if best.accelerometer is not None else ALL
    if len(best.contacts) == 1 or best.exchanges:
        subject = f"{names[best.contacts[0]]}/wrench"
    mend = partial(_rewired, names=names, assumption=best)
    return finding(
        best.check, subject, Verdict.WRONG, value, "%", said, best.remedy, mend=mend, exact=len(alike) == 1
    )


def _assumptions(names: tuple[str, ...]) -> Iterator[_Assumption]:
    every = tuple(range(len(names)))
    for a, b in itertools.combinations(every, 2):
        yield _Assumption(
            f"'{names[a]}' and '{names[b]}' were exchanged",
            "check the topics or the wiring of the force sensors: each has the other's readings",
            contacts=(a, b),
            check="contact names",
        )
    for contacts, whose in _groups(names):
        yield from _of_wrenches(contacts, whose)
    for i, P in enumerate(PERMUTATIONS[1:], 1):
        yield _Assumption(
            f"the axes of the accelerometer were ({axis_names(i)})",
            f"check imu_frame and the accelerometer's axes in its driver: ({axis_names(i)}) fit; {IMU_AXES}",
            accelerometer=P,
            check="accelerometer direction",
        )


def _of_wrenches(contacts: tuple[int, ...], whose: str) -> Iterator[_Assumption]:
    """Yield other signs, axes and units of some contacts' sensors."""
    for i, P in enumerate(PERMUTATIONS[1:], 1):
        if (np.negative(P) == np.eye(3)).all():
            yield replace(
                _of_wrench(f"the wrenches {whose} had the other sign", contacts, P, P),
                remedy="wrong sign? The wrench must be that of the ground on the robot; check wrench_frames",
                check="contact wrench sign",
            )
        else:
            yield _of_wrench(f"the axes {whose} were ({axis_names(i)})", contacts, P, P)
    for signs in itertools.product((1.0, -1.0), repeat=3):
        D, axes = np.diag(signs), ", ".join(a for a, s in zip("xyz", signs, strict=True) if s < 0.0)
        if axes:
            yield _of_wrench(f"the moments {whose} had the other sign about {axes}", contacts, moment=D)
        if axes and max(signs) > 0.0:
            yield _of_wrench(f"the forces {whose} had the other sign along {axes}", contacts, D)
    yield replace(
        _of_wrench(f"the moments {whose} were in Nmm", contacts, moment=MILLI * np.eye(3)),
        remedy="check the unit of the moments in the driver, expected Nm",
        check="contact wrench unit",
    )


def _groups(names: tuple[str, ...]) -> list[tuple[tuple[int, ...], str]]:
    """Return the contacts whose sensors may be wrong together, and whose they are in words."""
    single: list[tuple[tuple[int, ...], str]] = [((k,), f"of '{name}'") for k, name in enumerate(names)]
    return single if len(names) == 1 else [*single, (tuple(range(len(names))), "of all contacts")]


def _turned(balance: "_Balance", names: tuple[str, ...]) -> Iterator[_Assumption]:
    """Yield the rotations of force sensors and accelerometer that balance best."""
    for contacts, whose in _groups(names):
        R, angle = balance.rotation(contacts)
        if angle > TURNED:
            yield _of_wrench(f"the sensors {whose} were turned by {angle:.0f} deg", contacts, R, R)
    R, angle = balance.rotation(None)
    if angle > TURNED:
        yield _Assumption(
            f"the accelerometer were turned by {angle:.0f} deg",
            f"check imu_frame and the mounting of the accelerometer; {IMU_AXES}",
            accelerometer=R,
            check="accelerometer direction",
        )


def _of_wrench(
    words: str, contacts: tuple[int, ...], force: Array | None = None, moment: Array | None = None
) -> _Assumption:
    kept = np.eye(3)
    return _Assumption(
        words,
        AXES,
        contacts,
        kept if force is None else force,
        kept if moment is None else moment,
    )


class _Balance(WrenchBalance):
    """The balance under assumptions about the wiring of the sensors."""

    @classmethod
    def of(cls, table: DataTable) -> "_Balance | None":
        """Return it for windows in which everything is known, or None where they are too few."""
        kept = cls.kept(table)
        return None if kept is None else cls(table, kept)

    def left_if(self, assumption: _Assumption | None) -> float:
        """Return the rms of what is not balanced under an assumption; None: as it is [weights]."""
        force, wrenches = None, self.wrenches
        if assumption is not None and assumption.accelerometer is not None:
            force = self.f_I @ assumption.accelerometer.T
        elif assumption is not None:
            wrenches = _changed(wrenches, assumption)
        return self.left(force, wrenches)

    def left_by_scales(self) -> float:
        """Return what is left where the wrenches of each contact have another scale, as of pounds."""
        r = self.imbalance(None, np.zeros_like(self.wrenches))  # all that is needed
        every = np.eye(self.wrenches.shape[1])
        C = np.column_stack([self.carried(one[:, None] * self.wrenches).ravel() for one in every])
        scales = linear_algebra.solve(self.product(C, C) + NOISE**2 * every, self.product(C, r))
        return self.left(None, np.clip(scales, LEAST_SCALE, MOST_SCALE)[:, None] * self.wrenches)

    def keeps_gravity(self, assumption: _Assumption) -> bool:
        """Return whether the mean specific force keeps its direction, which is another check's."""
        if assumption.accelerometer is None:
            return True
        mean = self.f_I.mean(axis=0)
        return float(mean @ assumption.accelerometer @ mean) > UPRIGHT * float(mean @ mean)

    def rotation(self, contacts: tuple[int, ...] | None) -> tuple[Array, float]:
        """Return the rotation of sensors after which the balance is best, and its angle.

        Args:
            contacts: Numbers of the contacts whose sensors turn together; None: the accelerometer.

        Returns:
            Rotation that the readings are multiplied by, shape (3, 3), and angle [deg].
        """
        R = np.eye(3)
        for _ in range(ITERATIONS):
            if contacts is None:
                f = self.f_I @ R.T
                r = self.imbalance(f, self.wrenches)
                columns = [-self.needed_by(np.cross(axis, f)).ravel() for axis in np.eye(3)]
            else:
                wrenches = _changed(self.wrenches, _of_wrench("", contacts, R, R))
                r = self.imbalance(None, wrenches)
                columns = [self.carried(_crossed(axis, wrenches, contacts)).ravel() for axis in np.eye(3)]
            C = np.column_stack(columns)
            step = linear_algebra.solve(self.product(C, C) + NOISE**2 * np.eye(3), self.product(C, r))
            R = exp_so3(step) @ R
        cosine = 0.5 * (float(np.trace(R)) - 1.0)
        return R, math.degrees(math.acos(min(1.0, max(-1.0, cosine))))


def _crossed(axis: Array, wrenches: Array, contacts: tuple[int, ...]) -> Array:
    """Return the change of readings (N, k, 6) as some sensors turn about an axis."""
    change = np.zeros_like(wrenches)
    for k in contacts:
        change[:, k] = np.hstack((np.cross(axis, wrenches[:, k, :3]), np.cross(axis, wrenches[:, k, 3:])))
    return change


def _changed(wrenches: Array, assumption: _Assumption) -> Array:
    """Return readings (N, k, 6) under an assumption about contacts."""
    changed: Array = wrenches.copy()
    if assumption.exchanges:
        changed[:, assumption.contacts] = wrenches[:, assumption.contacts[::-1]]
        return changed
    assert assumption.force is not None
    assert assumption.moment is not None
    for k in assumption.contacts:
        changed[:, k, :3] = wrenches[:, k, :3] @ assumption.force.T
        changed[:, k, 3:] = wrenches[:, k, 3:] @ assumption.moment.T
    return changed


def _rewired(streams: RobotStreams, names: tuple[str, ...], assumption: _Assumption) -> RobotStreams:
    if assumption.accelerometer is not None:
        return streams.turned_imu(force=assumption.accelerometer)
    chosen = [names[k] for k in assumption.contacts]
    if assumption.exchanges:
        first, second = chosen
        exchanged = {first: streams.wrenches[second], second: streams.wrenches[first]}
        return replace(streams, wrenches={**streams.wrenches, **exchanged})
    one = replace(assumption, contacts=(0,))
    return streams.changed_wrenches(chosen, lambda values: _changed(values[:, None], one)[:, 0])
