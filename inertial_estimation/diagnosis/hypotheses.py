"""Hypotheses about signs, units and orders of joint signals, each with its exact correction and a remedy.

A hypothesis is tried if a compared part that it could explain disagrees. A parameter of a hypothesis (a
factor, a rotation) is fitted before it is compared. Hypotheses about IMU and contacts are in `wirings`.
"""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.diagnosis.evidence import SIGMAS, most_probable
from inertial_estimation.diagnosis.finding import NO_FIX, Fix, times
from inertial_estimation.diagnosis.parts import (
    AGREES,
    BEYOND,
    EXPECTED,
    outside,
    torque_columns,
    whole_body_rows,
)
from inertial_estimation.diagnosis.table import Change, Gravity, Robot, Table, exchange, rms
from inertial_estimation.inputs.config import JOINT_UNITS
from inertial_estimation.inputs.joints import JOINTS
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.models.predicted_forces import gravity_columns
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra
from inertial_estimation.spatial.rotations import DEGREES

Mask: TypeAlias = NDArray[np.bool_]
TURN_MARGIN = 0.35  # a position corrected by whole turns may be this far outside its limits [rad]
AWAY = 0.05  # least rms position, or difference of two, at which a sign or an exchange is visible [rad]
TILTED = 5.0  # tilt of a base beyond every mounting tolerance [deg]
GEARS = np.geomspace(0.5, 2.0, 5)  # factors of a position with a wrong gear ratio
GEAR_RATIO = "is the gear ratio of its positions right in the driver? They must be those of the joint"
WRONG_SIGN = "correct its sign in the driver, or the axis of the joint in the description"
GEAR = 3.0  # factor of a velocity beyond every tolerance
COMMON = 1.6  # factor of efforts, or of the wrenches of a contact, beyond every tolerance
UNIT, SAME = 0.35, 0.1  # largest difference in logarithm of a factor and a unit that is tried; that is exact
HALF = math.sqrt(0.5)  # share of the rms that remains if half of the power is explained
OF_FORCES = ("wrenches", "torques", "whole body")
OF_EFFORTS, OF_VELOCITIES = ("torques", "whole body"), ("velocities",)
CURRENT = "percent, or of a current? Expected Nm at the joint; set drive_gains"


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """One assumption about an error of the sensors, with the correction of the signals that follows."""

    check: str  # name of the finding
    subject: str  # input, joint or contact that it is about
    words: str  # clause after "if" that states the assumption
    remedy: str  # what to change
    change: Change  # correction of the signals
    price: float  # penalty of its complexity, in log odds
    value: float = 0.0  # number that is reported
    unit: str = ""  # unit of the value
    parts: tuple[str, ...] = ()  # compared parts that it may change; empty: all
    fix: Fix = NO_FIX  # parameters that mend the error
    mild: bool = False  # whether the error is only unusual: a warning
    exact: bool = True  # whether masses (and efforts, if it is about them) can be judged after correction
    leaves: float = HALF  # largest share of the disagreement that may remain if it is true
    least: float = 1.0  # least disagreement that it may explain, over `Compared.agrees`


def position_hypotheses(table: Table, suspect: Mask) -> Iterator[Hypothesis]:
    """Yield hypotheses of units, turns and signs of positions, and of exchanged names of suspect joints."""
    robot, q = table.robot, table.signals.q
    n, names = q.shape[1], robot.names
    (low, high), beyond = np.quantile(q, (0.02, 0.98), axis=0), outside(table)
    turning = np.isin(np.arange(n), robot.setup.robot.turning_joints)
    text = (
        f"all positions were in degrees ({int((beyond > BEYOND).sum())} of {n} joints outside their limits)"
    )
    # A gear ratio is visible in the effort of its joint; in that of a leg it may also be an offset.
    visible = np.isfinite(table.torques + table.signals.tau).any(axis=0) & (suspect | (not robot.n_base))
    radians, largest = np.diag(np.where(turning, 1.0 / DEGREES, 1.0)), float(np.abs(q).max())
    in_degrees = ("", ["deg"]), (" and all velocities in deg/s", ["deg", "deg/s"])
    for also, units in in_degrees if largest > math.tau or (beyond > BEYOND).any() else ():
        change = Change(position=radians, velocity=radians if also else None)
        remedy = f"degrees? The driver must send radians, or name {' and '.join(units)} in joint_states.units"
        fix = Fix(parameters={"joint_states.units": units})
        yield Hypothesis("joint positions", JOINTS, text + also, remedy, change, 1.0, largest, fix=fix)
    for j in np.flatnonzero(~np.isin(names, table.sent.held)).tolist():
        where = f"{names[j]} ({low[j]:.4g} to {high[j]:.4g} rad)"
        positions = partial(Hypothesis, "joint positions", names[j])
        for turns in (1, -1, 2, -2) if turning[j] and beyond[j] > BEYOND else ():
            if _fits(robot, j, low[j] - turns * math.tau, high[j] - turns * math.tau):
                offset, fix = -math.tau * turns, Fix(joint_offsets={names[j]: -math.tau * turns})
                remedy = f"off by {turns:+d} turn(s)? Add {offset:.5g} to joint_offsets of this joint"
                change, price = Change(offset=offset * np.eye(n)[j]), float(abs(turns))
                text = f"{where} were off by {turns:+d} turn(s)"
                yield positions(text, remedy, change, price, float(beyond[j]), "rad", fix=fix)
        for factor in (-1.0, *(GEARS.tolist() if visible[j] else ())) if rms(q)[j] > AWAY else ():
            if not _fits(robot, j, *sorted((low[j] / factor, high[j] / factor))):
                continue
            corrected, sign = np.diag(1.0 + (1.0 / factor - 1.0) * np.eye(n)[j]), factor < 0.0
            text = "had the other sign" if sign else f"had positions {times(factor)}"
            check, remedy = ("joint sign", WRONG_SIGN) if sign else ("joint scale", GEAR_RATIO)
            for effort, but in ((corrected, ""), (None, ", but not its effort")) if sign else ((None, ""),):
                change = Change(position=corrected, velocity=corrected, effort=effort)
                words, (price, size) = f"'{names[j]}' {text}{but}", (3.0, 0.0) if sign else (4.0, factor)
                yield Hypothesis(check, names[j], words, remedy, change, price, size, exact=sign)
    orders = [*_exchanged_limbs(table)] if suspect.any() else []
    for i, j in _pairs(suspect):
        fits = _fits(robot, i, low[j], high[j], 0.0) and _fits(robot, j, low[i], high[i], 0.0)
        if fits and rms(q[:, i] - q[:, j], None) > AWAY:
            orders.append((exchange(n, i, j), names[i], f"'{names[i]}' and '{names[j]}'"))
    remedy = "check the order of names and values in the driver of joint_states"
    for E, subject, exchanged in orders:
        change, text = Change(position=E, velocity=E, effort=E), f"{exchanged} were exchanged"
        yield Hypothesis("joint order", subject, text, remedy, change, 3.0)


def _pairs(suspect: Mask) -> Iterator[tuple[int, int]]:
    """Yield pairs of joints of which one is suspect: of exchanged ones, a spring may explain the other."""
    pairs = itertools.combinations(range(len(suspect)), 2)
    return ((i, j) for i, j in pairs if suspect[i] or suspect[j])


def _exchanged_limbs(table: Table) -> Iterator[tuple[Array, str, str]]:
    """Yield permutations, a joint and a phrase of exchanged limbs of as many joints: two, or two pairs."""
    robot, moved = table.robot, np.abs(table.jacobians[..., table.robot.n_base :]).max(axis=(0, 2)) > 0.0
    n, contacts = len(robot.names), robot.setup.contact_names
    limbs = [np.flatnonzero(row) for row in moved & (moved.sum(axis=0) == 1)]
    pairs = [
        (i, j) for i, j in itertools.combinations(range(len(limbs)), 2) if len(limbs[i]) == len(limbs[j])
    ]
    both = [(a, b) for a, b in itertools.combinations(pairs, 2) if not {*a} & {*b}]
    for chosen in (*((pair,) for pair in pairs), *both):
        order = np.arange(n)
        for i, j in chosen:
            order[limbs[i]], order[limbs[j]] = limbs[j], limbs[i]
        exchanged = " and ".join(f"'{contacts[i]}' and '{contacts[j]}'" for i, j in chosen)
        yield np.eye(n)[order], robot.names[limbs[chosen[0][0]][0]], f"the joints of {exchanged}"


def _fits(robot: Robot, j: int, low: float, high: float, margin: float = TURN_MARGIN) -> bool:
    return bool(low > robot.lower[j] - margin and high < robot.upper[j] + margin)


def velocity_hypotheses(table: Table, left: Array) -> Iterator[Hypothesis]:
    """Yield units and signs of the velocities with large residuals, of each joint and of all.

    The factor is fitted by least squares; a unit near it is named and corrected in its place.
    """
    s, names, disagreeing = table.signals, table.robot.names, np.flatnonzero(left > AGREES).tolist()
    n, every = len(names), (JOINTS, np.arange(len(names)))
    factors = np.sum(np.nan_to_num(s.v) * s.dq, axis=0) / np.maximum(np.sum(s.dq**2, axis=0), 1e-12)
    units = {"deg/s": DEGREES, "1/57.3 rad/s": 1.0 / DEGREES, "rpm": 60.0 / math.tau, "the other sign": -1.0}
    about = partial(Hypothesis, "joint velocities", unit="", parts=OF_VELOCITIES)
    derived = Fix(parameters={"inputs.joint_velocity": "derived"})
    for subject, chosen in (every, *((names[j], np.array([j])) for j in disagreeing)) if disagreeing else ():
        k = float(np.median(factors[[j for j in disagreeing if j in chosen]]))
        near = [unit for unit, x in units.items() if k / x > 0.0 and abs(math.log(k / x)) < UNIT]
        if abs(k) < 1e-3 or (not near and 1.0 / GEAR < k < GEAR):
            continue
        whose, unit = "all velocities" if subject == JOINTS else f"the velocity of '{subject}'", "".join(near)
        words = f"{whose} were {unit or 'another unit'} ({k:.3g} times the slope of the position)"
        remedy = "correct it in the driver, expected rad/s; or set inputs.joint_velocity: derived"
        fix = derived
        if subject == JOINTS and unit in JOINT_UNITS:
            remedy = f"the driver must send rad/s, or name {unit} in joint_states.units"
            fix = Fix(parameters={"joint_states.units": [unit]})
        gains = np.where(np.isin(np.arange(n), chosen), 1.0 / units.get(unit, k), 1.0)
        change = Change(velocity=np.diag(gains))
        yield about(subject, words, remedy, change, 2.0 - (subject == JOINTS), k, fix=fix)


def effort_hypotheses(table: Table, suspect: Mask) -> Iterator[Hypothesis]:
    """Yield signs, units, factors and orders of the efforts, and that gravity is missing in them.

    Single efforts are tried if their joint is suspect, exchanges if one of both joints is suspect.
    """
    names, n, disagreeing = table.robot.names, len(table.robot.names), np.flatnonzero(suspect).tolist()
    common, single = _factors(table)
    for j, k in ((None, common), *((j, float(single[j])) for j in disagreeing)):
        yield from _factor_hypotheses(table, j, k)
    for i, j in _pairs(suspect):
        words = f"the efforts of '{names[i]}' and '{names[j]}' were exchanged"
        remedy = "check the order of names and efforts in the driver"
        change = Change(effort=exchange(n, i, j))
        yield Hypothesis("effort order", names[i], words, remedy, change, 3.0, parts=OF_EFFORTS)
    if table.robot.n_base:
        return
    words = "the torques of gravity were missing in all efforts"
    remedy = "external or compensated torques of a driver? Masses need the measured torques: record those"
    how: dict[str, Any] = {"parts": OF_EFFORTS, "exact": False}
    change = Change(gravity=(0.0, 0.0, 0.0))
    yield Hypothesis("efforts without gravity", JOINTS, words, remedy, change, 3.0, leaves=1.0, **how)
    if (gravity := _gravity(table)) is not None:
        x, y, z = gravity
        angle = math.degrees(math.acos(-z / STANDARD_GRAVITY))
        words = (
            f"the base were tilted by {angle:.0f} deg, gravity ({x:.2f}, {y:.2f}, {z:.2f}) m/s^2 in its axes"
        )
        roll, pitch = math.atan2(-y, -z), math.atan2(x, math.hypot(y, z))
        remedy = (
            "is the base mounted as described? Correct the rpy of the joint that fixes it: its root link has "
            f"a roll of {roll:.2f} and a pitch of {pitch:.2f} rad"
        )
        change = Change(gravity=gravity)
        if angle > TILTED:
            yield Hypothesis("base mounting", "description", words, remedy, change, 3.0, angle, "deg", **how)


def _gravity(table: Table) -> Gravity | None:
    """Return gravity in the axes of a fixed base that fits the efforts best; None without efforts.

    Predicted torques are linear in gravity, whose magnitude is known.
    """
    columns = torque_columns(table)
    if columns is None:
        return None
    y, X, _prior, joints, rows, size = columns
    q, robot = table.signals.q[rows], table.robot.setup.robot
    G = np.array([gravity_columns(robot, one)[joints] for one in q])
    left = (y - X[:, :, 0]) * size + G @ np.array(table.sent.gravity)
    g = linear_algebra.pinv(G.reshape(-1, 3), 1e-3) @ left.ravel()
    x, y, z = (STANDARD_GRAVITY / max(float(np.linalg.norm(g)), 1e-9) * g).tolist()
    return x, y, z


def _factors(table: Table) -> tuple[float, Array]:
    """Return the median factor of all efforts, and that of each, shape (n,); NaN where it is unknown.

    A factor is sent over true effort. Without known contact forces, that of all efforts follows from the
    balance of efforts, weight and motion that no contact force changes.
    """
    single, common = np.full(len(table.robot.names), np.nan), math.nan
    if (columns := torque_columns(table)) is not None:
        y, X, prior, joints, _rows, size = columns
        wide = np.hstack((np.full((len(prior), 1), 1e3), prior[:, 1:]))
        fit, predicted = most_probable(y, X, EXPECTED, wide), rms(X[:, :, 0]) * size
        k, sigma = fit.x[:, 0], np.sqrt(fit.covariance[:, 0, 0])
        # A factor near zero is significant, too, if the predicted torque exceeds stiction.
        strong = predicted > table.robot.stiction(float(predicted.max()))[joints]
        known = np.maximum(np.abs(k), strong * np.abs(k - 1.0)) > SIGMAS * sigma
        single[joints[known]] = k[known]
        common = float(np.median(k[known])) if known.any() else common
    elif (rows := whole_body_rows(table)) is not None:
        common = float(np.sum(rows.acted**2)) / max(abs(float(np.sum(rows.acted * rows.needed))), 1e-9)
    return common, single


def _factor_hypotheses(table: Table, j: int | None, k: float) -> Iterator[Hypothesis]:
    """Yield that an effort (j None: all) has the other sign, is in another unit, or k times too large.

    A unit is tried if the factor is near it or unknown. After any other factor masses cannot be judged.
    """
    names, n = table.robot.names, len(table.robot.names)
    subject, whose = (JOINTS, "all efforts") if j is None else (names[j], f"the effort of '{names[j]}'")
    price, remedy = (1.0, CURRENT) if j is None else (2.0, f"{CURRENT} of this joint")
    wrong_sign = f"correct the driver of joint_states, or set drive_gains of {subject}"
    off, kind = math.log(abs(k)), "effort unit"
    # friction shows a sign, whatever else is wrong with the torque
    tried = [("effort sign", -1.0, "had the other sign", price, wrong_sign, True, 1.0)]
    for factor, unit in ((1e3, "mNm"), (1e-3, "kNm")):
        apart = abs(off - math.log(factor))
        if not apart > UNIT:
            tried.append((kind, factor, f"were in {unit}", price, remedy, not apart > SAME, HALF))
    if len(tried) == 1 and abs(off) > math.log(COMMON):
        tried.append((kind, k, f"were {times(k)}", price + 3.0, remedy, False, HALF))
    for check, factor, words, cost, mend, exact, leaves in tried:
        gains = np.where(np.full(n, j is None) | (np.arange(n) == j), 1.0 / factor, 1.0)
        drive = {name: float(gain) for name, gain in zip(names, gains, strict=True) if gain != 1.0}
        change, fix = Change(effort=np.diag(gains)), Fix(drive_gains=drive)
        values = check, subject, f"{whose} {words}", mend, change, cost, factor, "", OF_EFFORTS, fix
        yield Hypothesis(*values, exact=exact, leaves=leaves)
