"""Hypotheses about signs, units, orders and axes: rows with an exact change of the sensors, words and a remedy.

A hypothesis is tried where some part of the table disagrees that it could explain. Fitted ones (a factor, a
rotation) are hypotheses like the others once they are fitted.
"""

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from inertial_estimation.diagnosis.evidence import most_probable
from inertial_estimation.diagnosis.finding import NO_FIX, Fix
from inertial_estimation.diagnosis.frames import added_frame, axis_names, signed_permutations
from inertial_estimation.diagnosis.parts import (
    BEYOND,
    EXPECTED,
    FAR,
    LEVER,
    STRONG,
    STRONG_UNLIMITED,
    Part,
    gravity_pair,
    rate_rows,
    specific_force,
    torque_columns,
)
from inertial_estimation.diagnosis.table import Change, Table, diagonal, exchange, rms
from inertial_estimation.inputs.imu import IMU
from inertial_estimation.inputs.joints import JOINTS
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.models.robot_config import RobotConfig, WrenchAxes
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra
from inertial_estimation.spatial.rotations import exp_so3, log_so3, skew
from inertial_estimation.spatial.vectors import DEGREES

WRENCHES = "contact wrenches"
TURN = 2.0 * math.pi
TURN_MARGIN = 0.35  # a position a turn less may be this far outside its limits [rad]
AWAY = 0.15  # rms position, or difference of two, from which a sign or an exchange shows [rad]
UNLIKE = 0.25  # unexplained share of a velocity or an effort, from which a hypothesis about it is tried
OFF = 0.3  # the same of rotation, whole body and heights
UNBALANCED = 0.04  # of the weight, from which wirings of the sensors are tried
GEAR, LARGEST_FACTOR = 3.0, 5.0  # factors of a velocity and an effort that no tolerance or load explains
COMMON = 1.6  # factor of all efforts that is another unit
MOST_COMMON, GUESSES = 3000.0, 15  # largest one, and number of them, that are guessed where friction is all
FACTOR_SIGMAS, SURE_SIGMAS = 4.0, 10.0  # of a factor of torques that stand out from friction, and of others
TURNED = math.radians(5.0)  # rotation that is no tolerance
YAWS = 24  # about the vertical, at which an IMU may be mounted
NEAR_UNIT = 0.35  # logarithm of a fitted factor, within which it is that of a unit
SCALED = 0.05  # logarithm of the scale of an accelerometer, above which it is no tolerance
MILLI = 1e-3
RATE_PARTS = "rotation", "turn of gravity", "wrenches", "torques", "whole body"
PERMUTATIONS = signed_permutations()


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """One assumption about the sensors.

    Attributes:
        check: Name of the finding.
        subject: Input, joint or contact that it is about.
        words: What it assumes, after "if".
        remedy: What to change.
        change: What it makes of the signals.
        parts: Parts of the table that it may change; empty: all.
        price: Of its complexity, in logarithms.
        value: The number that is reported.
        unit: Its unit.
        fix: Parameters that mend it.
        mild: Whether it is only unusual.
    """

    check: str
    subject: str
    words: str
    remedy: str
    change: Change
    parts: tuple[str, ...] = ()
    price: float = 2.0
    value: float = 0.0
    unit: str = ""
    fix: Fix = NO_FIX
    mild: bool = False


def hypotheses(table: Table, parts: Mapping[str, Part], config: RobotConfig) -> Iterator[Hypothesis]:
    """Yield what might explain that parts of a table disagree.

    Args:
        table: The windows.
        parts: How well each part agrees.
        config: Parameters of the robot, for those of a fix.
    """
    worst = {name: float(part.left.max(initial=0.0)) for name, part in parts.items()}
    moved = any(
        worst.get(name, 0.0) > bound
        for name, bound in (
            *(("positions", BEYOND), ("rotation", OFF), ("wrenches", UNBALANCED), ("torques", OFF)),
            *(("whole body", OFF), ("heights of the feet", OFF), ("velocities", OFF)),
        )
    )
    if moved:
        yield from _positions(table, worst)
    if "velocities" in parts:
        yield from _velocities(table, parts["velocities"].left)
    if "torques" in parts or "whole body" in parts:
        yield from _efforts(table, parts.get("torques"))
    if table.robot.setup.imu is not None and table.robot.n_base:
        yield from _imu_units(table)
        tilted = parts["direction of gravity"].log < -1.0 if "direction of gravity" in parts else False
        wrong = ("rotation", OFF), ("wrenches", UNBALANCED), ("whole body", OFF), ("turn of gravity", 1.0)
        if tilted or any(worst.get(name, 0.0) > bound for name, bound in wrong):
            yield from _imu_axes(table, config)
    if worst.get("wrenches", 0.0) > UNBALANCED:
        yield from _wrenches(table)


# --- joints


def _positions(table: Table, worst: Mapping[str, float]) -> Iterator[Hypothesis]:
    robot, q = table.robot, table.signals.q
    n, names = q.shape[1], robot.names
    low, high = np.quantile(q, (0.02, 0.98), axis=0)
    beyond = np.maximum(robot.lower - low, high - robot.upper)

    def fits(lower: float, upper: float, j: int, margin: float = TURN_MARGIN) -> bool:
        return bool(lower > robot.lower[j] - margin and upper < robot.upper[j] + margin)

    turning = np.isin(np.arange(n), robot.setup.robot.turning_joints)
    said = f"{int((beyond > BEYOND).sum())} of {n} joints outside their limits"
    yield Hypothesis(
        *("joint positions", JOINTS, f"all positions were in degrees ({said})"),
        "degrees? The driver must send radians, or set joint_states.units: [deg]",
        Change(position=np.diag(np.where(turning, 1.0 / DEGREES, 1.0))),
        price=1.0,
        value=float(np.abs(q).max()),
        fix=Fix(parameters={"joint_states.units": ["deg"]}),
    )
    for j in range(n):
        where = f"{names[j]} ({low[j]:.4g} to {high[j]:.4g} rad)"
        for turns in (1, -1, 2, -2) if turning[j] and beyond[j] > BEYOND else ():
            if fits(low[j] - turns * TURN, high[j] - turns * TURN, j):
                offset = -TURN * turns
                yield Hypothesis(
                    *("joint positions", names[j], f"{where} were off by {turns:+d} turn(s)"),
                    f"off by {turns:+d} turn(s)? Add {offset:.5g} to joint_offsets of this joint",
                    Change(offset=offset * np.eye(n)[j]),
                    price=abs(turns),
                    value=float(beyond[j]),
                    unit="rad",
                    fix=Fix(joint_offsets={names[j]: offset}),
                )
        if turning[j] and beyond[j] > FAR and fits(low[j] / DEGREES, high[j] / DEGREES, j):
            yield Hypothesis(
                *("joint positions", names[j], f"{where} were in degrees"),
                "degrees? The driver must send radians",
                Change(position=diagonal(n, {j: 1.0 / DEGREES})),
                price=4.0,
                value=float(beyond[j]),
            )
        if rms(q)[j] > AWAY and fits(-high[j], -low[j], j):
            yield Hypothesis(
                *("joint sign", names[j], f"'{names[j]}' had the other sign"),
                "correct its sign in the driver, or the axis of the joint in the description",
                Change(position=diagonal(n, {j: -1.0}), velocity=diagonal(n, {j: -1.0})),
                price=3.0,
            )
    if (
        max(worst.get(name, 0.0) for name in ("rotation", "torques", "whole body", "wrenches", "positions"))
        > UNLIKE
    ):
        yield from _exchanges(table, fits)


def _exchanges(table: Table, fits) -> Iterator[Hypothesis]:  # type: ignore[no-untyped-def]
    q, names = table.signals.q, table.robot.names
    low, high = np.quantile(q, (0.02, 0.98), axis=0)
    n = q.shape[1]
    for i, j in itertools.combinations(range(n), 2):
        if not (fits(low[j], high[j], i, 0.0) and fits(low[i], high[i], j, 0.0)):
            continue
        if rms(q[:, i] - q[:, j], None) > AWAY:
            E = exchange(n, i, j)
            yield Hypothesis(
                *("joint order", names[i], f"'{names[i]}' and '{names[j]}' were exchanged"),
                "check the order of names and values in the driver of joint_states",
                Change(position=E, velocity=E, effort=E),
                price=3.0,
            )


def _velocities(table: Table, left: Array) -> Iterator[Hypothesis]:
    s, names = table.signals, table.robot.names
    n, parts = len(names), ("velocities",)
    unlike = [j for j in range(n) if left[j] > UNLIKE]
    if not unlike:
        return
    power = np.sum(s.dq**2, axis=0)
    factors = np.sum(np.nan_to_num(s.v) * s.dq, axis=0) / np.maximum(power, 1e-12)
    units = {"deg/s": DEGREES, "1/57.3 rad/s": 1.0 / DEGREES, "rpm": 60.0 / TURN, "the other sign": -1.0}

    def velocity(
        words: str, subject: str, change: Array, price: float, value: float, remedy: str
    ) -> Hypothesis:
        also = "; or set inputs.joint_velocity: derived"
        return Hypothesis(
            *("joint velocities", subject, words, remedy + also),
            Change(velocity=change),
            parts,
            price,
            value,
            fix=Fix(parameters={"inputs.joint_velocity": "derived"}),
        )

    for unit, factor in units.items():
        remedy = "correct the sign in the driver" if factor < 0.0 else "the driver must send rad/s"
        yield velocity(
            f"all velocities were {unit}", JOINTS, np.eye(n) / factor, 1.0, factor, f"{unit}? {remedy}"
        )
        for j in unlike:
            words = (
                f"the velocity of '{names[j]}' were {unit} ({factors[j]:.3g} times the slope of the position)"
            )
            yield velocity(
                words, names[j], diagonal(n, {j: 1.0 / factor}), 2.0, factors[j], f"{unit}? {remedy}"
            )
    for j in unlike:
        k = float(factors[j])
        if not 1.0 / GEAR < k < GEAR and abs(k) > 1e-3:
            words = f"the velocity of '{names[j]}' were {k:.3g} times the slope of its position"
            yield velocity(
                words, names[j], diagonal(n, {j: 1.0 / k}), 4.0, k, "check unit and gear in the driver"
            )
    for i, j in itertools.combinations(unlike, 2):
        words = f"the velocities of '{names[i]}' and '{names[j]}' were exchanged"
        yield velocity(words, names[i], exchange(n, i, j), 3.0, 0.0, "check their order in the driver")


# --- efforts


def factors_of_efforts(table: Table) -> tuple[Array, Array, Array] | None:
    """Return by what each effort exceeds the predicted torque, its deviation, and which stand out from friction."""
    made = torque_columns(table)
    if made is None:
        return None
    y, X, prior, joints, _rows, size = made
    n = len(table.robot.names)
    fit = most_probable(y, X, EXPECTED, np.hstack((np.full((len(prior), 1), 1e3), prior[:, 1:])))
    k, sigma, strong = np.zeros(n), np.full(n, np.inf), np.zeros(n, dtype=bool)
    k[joints], sigma[joints] = fit.x[:, 0], np.sqrt(2.0 * fit.covariance[:, 0, 0])
    predicted = rms(X[:, :, 0]) * size
    limit, largest = table.robot.effort[joints], float(predicted.max(initial=0.0))
    strong[joints] = predicted > np.where(np.isfinite(limit), STRONG * limit, STRONG_UNLIMITED * largest)
    return k, sigma, strong


def _efforts(table: Table, torque: Part | None) -> Iterator[Hypothesis]:
    names, n = table.robot.names, len(table.robot.names)
    parts = ("torques", "whole body")
    left = np.ones(n) if torque is None else torque.left

    def effort(
        check: str, subject: str, words: str, gains: Array, price: float, value: float, remedy: str = ""
    ) -> Hypothesis:
        used = names if subject == JOINTS else (subject,)
        drive = {name: float(gains[names.index(name)]) for name in used}
        remedy = remedy or f"correct the driver of joint_states, or set drive_gains of {subject}"
        fix = Fix(drive_gains=drive)
        return Hypothesis(
            check, subject, words, remedy, Change(effort=np.diag(gains)), parts, price, value, fix=fix
        )

    every = np.ones(n)
    for factor, unit in ((1e3, "in mNm"), (1e-3, "in kNm")):
        yield effort("effort unit", JOINTS, f"all efforts were {unit}", every / factor, 1.0, factor)
        for j in np.flatnonzero(left > UNLIKE).tolist():
            words, gains = (
                f"the effort of '{names[j]}' were {unit}",
                np.where(np.arange(n) == j, 1.0 / factor, 1.0),
            )
            yield effort(
                "effort unit", names[j], words, gains, 3.0, factor, f"{unit}? Expected Nm; set drive_gains"
            )
    yield effort("effort sign", JOINTS, "all efforts had the other sign", -every, 1.0, -1.0)
    for j in range(n):
        words = f"the effort of '{names[j]}' had the other sign"
        yield effort("effort sign", names[j], words, np.where(np.arange(n) == j, -1.0, 1.0), 2.0, -1.0)
    yield from _scaled_efforts(table, effort, left)
    for i, j in itertools.combinations(range(n), 2):
        if max(left[i], left[j]) > UNLIKE and torque is not None:
            words = f"the efforts of '{names[i]}' and '{names[j]}' were exchanged"
            remedy = "check the order of names and efforts in the driver"
            change = Change(effort=exchange(n, i, j))
            yield Hypothesis("effort order", names[i], words, remedy, change, parts, 3.0)
    if torque is not None or not table.measures_wrenches:
        yield Hypothesis(
            *("efforts without gravity", JOINTS, "the torques of gravity were missing in all efforts"),
            "external or compensated torques of a driver? Masses need the measured torques: record those",
            Change(without_gravity=True),
            parts,
            3.0,
        )


def _scaled_efforts(table: Table, effort, left: Array) -> Iterator[Hypothesis]:  # type: ignore[no-untyped-def]
    """Yield factors that no load explains: of one effort, of all, of each its own."""
    n, names, limit = len(table.robot.names), table.robot.names, table.robot.effort
    units = "percent, or of a current? Expected Nm at the joint; set drive_gains"
    if np.isfinite(limit).all():
        words = f"all efforts were in percent of their limits (up to {limit.max() / 100.0:.3g} Nm each)"
        yield effort("effort unit", JOINTS, words, limit / 100.0, 2.0, 100.0 / float(limit.max()), units)
    found = factors_of_efforts(table)
    if found is None:
        s, b = table.signals, table.robot.n_base
        known = np.isfinite(table.force).all(axis=1) & np.isfinite(s.tau).all(axis=1)
        part = table.at(np.flatnonzero(known))
        acted = np.einsum("nmj,nj->nm", part.free[:, :, b:], part.signals.tau)
        k = float(np.sum(acted**2)) / max(
            abs(float(np.sum(acted * np.einsum("nmv,nv->nm", part.free, part.force)))), 1e-9
        )
        if not 1.0 / LARGEST_FACTOR < k < LARGEST_FACTOR:
            words = f"all efforts were {k:.3g} times too large"
            yield effort("effort unit", JOINTS, words, np.full(n, 1.0 / k), 4.0, k, units)
        return
    k, sigma, strong = found
    certain = (strong & (np.abs(k) > FACTOR_SIGMAS * sigma)) | (np.abs(k) > SURE_SIGMAS * sigma)
    if certain.any():
        size = float(np.exp(np.median(np.log(np.abs(k[certain])))))
        common = math.copysign(size, float(np.median(np.sign(k[certain]))))
        if not 1.0 / COMMON < common < COMMON:
            sign = " and of the other sign" if common < 0.0 else ""
            words = f"all efforts were {size:.3g} times too large{sign}"
            yield effort("effort unit", JOINTS, words, np.full(n, 1.0 / common), 4.0, common, units)
        off = np.abs(np.log(np.abs(k[certain]))) > math.log(LARGEST_FACTOR)
        if off.all():
            own = np.where(certain, k, common)
            low, high = float(np.abs(k[certain]).min()), float(np.abs(k[certain]).max())
            words = f"each effort had a factor of its own, {low:.3g} to {high:.3g}"
            remedy = "currents, or torques of the motors before the gears? Expected Nm at the joint; set drive_gains"
            yield effort("effort unit", JOINTS, words, 1.0 / own, 3.0 * int(certain.sum()), common, remedy)
    else:
        for k_all in np.geomspace(LARGEST_FACTOR, MOST_COMMON, GUESSES).tolist():
            words = f"all efforts were about {k_all:.2g} times too large"
            yield effort("effort unit", JOINTS, words, np.full(n, 1.0 / k_all), 4.0, k_all, units)
    for j in range(n):
        if left[j] > UNLIKE and certain[j] and not 1.0 / LARGEST_FACTOR < abs(k[j]) < LARGEST_FACTOR:
            words = f"the effort of '{names[j]}' were {k[j]:.3g} times too large"
            gains = np.where(np.arange(n) == j, 1.0 / k[j], 1.0)
            remedy = "unit, gear or a current? Expected Nm at the joint; set drive_gains of this joint"
            yield effort("effort unit", names[j], words, gains, 4.0, float(k[j]), remedy)


# --- IMU


def _imu_units(table: Table) -> Iterator[Hypothesis]:
    size = specific_force(table)
    if size is not None:
        ratio = size / STANDARD_GRAVITY
        said = f"size {size:.4g} m/s^2, gravity {STANDARD_GRAVITY:.4g}"
        for unit, factor in (("in g", STANDARD_GRAVITY), ("in mg", MILLI * STANDARD_GRAVITY)):
            yield Hypothesis(
                *("accelerometer size", IMU, f"the specific force were {unit} ({said})"),
                f"{unit}? The driver must send m/s^2, or set imu.units: [{unit[3:]}]",
                Change(force=factor * np.eye(3)),
                price=1.0,
                value=size,
                unit="m/s^2",
                fix=Fix(parameters={"imu.units": [unit[3:]]}),
            )
        if ratio > 0.05 and min(abs(math.log(ratio * unit)) for unit in (1.0, STANDARD_GRAVITY)) > SCALED:
            yield Hypothesis(
                *("accelerometer size", IMU, f"the specific force were {ratio:.3g} times too large ({said})"),
                "check unit and scale of the accelerometer in the driver of imu/data (m/s^2)",
                Change(force=np.eye(3) / ratio),
                price=4.0,
                value=size,
                unit="m/s^2",
                mild=0.7 < ratio < 1.4,
            )
    parts = RATE_PARTS
    for factor, remedy in (
        (DEGREES, "deg/s? The driver must send rad/s, or set imu.units: [deg/s]"),
        (1.0 / DEGREES, "divided by 57.3 once too often? The driver must send rad/s"),
    ):
        yield Hypothesis(
            *("gyroscope scale", IMU, f"the angular rate were {factor:.3g} times too large"),
            remedy,
            Change(rate=np.eye(3) / factor),
            parts,
            1.0,
            factor,
            fix=Fix(parameters={"imu.units": ["deg/s"]}) if factor > 1.0 else NO_FIX,
        )
    fitted = fitted_rate(table)
    scale = 1.0 if fitted is None else max(fitted[1], 1e-6)
    if all(abs(math.log(scale * unit)) > NEAR_UNIT for unit in (1.0, DEGREES, 1.0 / DEGREES)):
        yield Hypothesis(
            *("gyroscope scale", IMU, f"the angular rate were {1.0 / scale:.3g} times too large"),
            "check its scale in the driver of imu/data, expected rad/s",
            Change(rate=scale * np.eye(3)),
            parts,
            4.0,
            1.0 / scale,
            mild=0.5 < scale < 2.0,
        )


def fitted_rate(table: Table) -> tuple[Array, float] | None:
    """Return axes and scale of the gyroscope that fit the rotation over the feet best; None where it says little.

    y = A G w is linear in G; axes are the nearest orthogonal matrix (Kabsch 1976), reflections allowed.
    """
    rows = rate_rows(table)
    if rows is None:
        return None
    w = table.signals.w[rows.rows]
    known = np.isfinite(w).all(axis=1)
    if known.sum() < 30:
        return None
    w = w[known] - np.median(w[known], axis=0)
    y, A, s = rows.y[known] - np.median(rows.y[known], axis=0), rows.A[known], np.sqrt(rows.weight[known])
    X = np.einsum("rij,rk->rijk", A, w).reshape(len(w), 3, 9) * s[:, None, None]
    flat, target = X.reshape(-1, 9), (y * s[:, None]).ravel()
    M = flat.T @ flat
    size = float(np.trace(M)) / 9.0
    if not size > 0.0 or linear_algebra.eigvalsh(M)[0] < 1e-3 * size:
        return None
    G = linear_algebra.solve(M, flat.T @ target).reshape(3, 3)
    U, values, Vt = linear_algebra.svd(G)
    return U @ Vt, float(values.mean())


def _imu_axes(table: Table, config: RobotConfig) -> Iterator[Hypothesis]:
    turned: dict[str, Array] = {}
    for i, P in enumerate(PERMUTATIONS[1:], 1):
        axes = axis_names(i)
        yield Hypothesis(
            *("gyroscope axes", IMU, f"the axes of the gyroscope were ({axes})"),
            "correct signs and axes of the gyroscope alone in the driver of imu/data; the accelerometer is right",
            Change(rate=P),
            RATE_PARTS,
            4.0,
            _degrees(P),
            "deg",
        )
        yield Hypothesis(
            *("accelerometer direction", IMU, f"the axes of the accelerometer were ({axes})"),
            f"check imu_frame and the axes of the accelerometer in the driver: ({axes}) would fit",
            Change(force=P),
            price=4.0,
            value=_degrees(P),
            unit="deg",
        )
        if np.cross(P[0], P[1]) @ P[2] > 0.0:
            turned[f"({axes}) of the readings"] = P
    pair, fitted = gravity_pair(table), fitted_rate(table)
    if fitted is not None and np.cross(fitted[0][0], fitted[0][1]) @ fitted[0][2] > 0.0:
        turned[""] = fitted[0]
    if pair is not None and math.acos(min(1.0, float(pair[0] @ pair[1]))) > TURNED:
        shortest = _shortest(*pair)
        for k in range(YAWS):
            turned[f"{360.0 * k / YAWS:.0f} deg about the vertical"] = (
                exp_so3(TURN * k / YAWS * pair[1]) @ shortest
            )
    for words, R in turned.items():
        if _degrees(R) < math.degrees(TURNED):
            continue
        values, rpy = added_frame(config, R)
        yield Hypothesis(
            *(
                "IMU mounting",
                IMU,
                f"the whole IMU were turned by {_degrees(R):.0f} deg" + (f", {words}" if words else ""),
            ),
            f"correct the pose of imu_frame in the description, or add a frame with roll, pitch and yaw {rpy[0]:g}, "
            f"{rpy[1]:g}, {rpy[2]:g} (frames.poses) and name it as imu_frame",
            Change(force=R, rate=R),
            price=3.0 if words.startswith("(") or not words else 5.0,
            value=_degrees(R),
            unit="deg",
            fix=Fix(parameters=values),
            mild=_degrees(R) < 14.0,
        )


def _degrees(R: Array) -> float:
    return 180.0 if np.cross(R[0], R[1]) @ R[2] < 0.0 else math.degrees(float(np.linalg.norm(log_so3(R))))


def _shortest(f: Array, n: Array) -> Array:
    """Return the smallest rotation that turns one unit vector into another one."""
    K, cosine = skew(np.cross(f, n)), float(f @ n)
    if cosine < -0.999:
        axis = np.eye(3)[int(np.argmin(np.abs(f)))]
        return exp_so3(math.pi * np.cross(f, axis) / np.linalg.norm(np.cross(f, axis)))
    R: Array = np.eye(3) + K + K @ K / (1.0 + cosine)
    return R


# --- contact wrenches


def _wrenches(table: Table) -> Iterator[Hypothesis]:
    names = table.robot.setup.contact_names
    k, every = len(names), tuple(range(len(names)))
    parts = ("wrenches", "torques")
    for a, b in itertools.combinations(every, 2):
        order = exchange(k, a, b).argmax(axis=1)
        yield Hypothesis(
            *("contact names", f"{names[a]}/wrench", f"'{names[a]}' and '{names[b]}' were exchanged"),
            "check the topics or the wiring of the force sensors: each has the other's readings",
            Change(contacts=tuple(order.tolist())),
            (*parts, "rotation"),
        )
    if all(axes is WrenchAxes.SENSOR for axes in table.signals.axes):
        for axes in (WrenchAxes.BASE, WrenchAxes.WORLD):
            yield Hypothesis(
                *("contact wrench axes", WRENCHES, f"all wrenches were in the axes of the {axes.value}"),
                f"set wrench_frames of all contacts to '{axes.value}', or send them in the axes of the sensors",
                Change(axes=axes),
                price=1.0,
                fix=Fix(parameters={"wrench_frames": [axes.value] * k}),
            )
    for contacts in [every] if k == 1 else [*((i,) for i in every), every]:
        yield from _of_contacts(table, contacts, parts)


def _of_contacts(table: Table, contacts: tuple[int, ...], parts: tuple[str, ...]) -> Iterator[Hypothesis]:
    names = table.robot.setup.contact_names
    whole = len(contacts) == len(names) and len(names) > 1
    whose = "of all contacts" if whole else f"of '{names[contacts[0]]}'"
    subject = WRENCHES if whole else f"{names[contacts[0]]}/wrench"
    price = 1.0 if whole else 2.0
    k, one = len(names), np.eye(3)

    def mapped(
        check: str, words: str, remedy: str, F: Array, M: Array, price: float, value: float = 0.0
    ) -> Hypothesis:
        forces, moments = np.tile(one, (k, 1, 1)), np.tile(one, (k, 1, 1))
        forces[list(contacts)], moments[list(contacts)] = F, M
        change = Change(wrench_force=forces, wrench_moment=moments)
        return Hypothesis(check, subject, words, remedy, change, parts, price, value)

    opposite = "wrong sign? The wrench must be that of the ground on the robot; check wrench_frames"
    yield mapped(
        "contact wrench sign", f"the wrenches {whose} had the other sign", opposite, -one, -one, price
    )
    for factor, unit in (
        (1e3, "in kN"),
        (MILLI, "in mN"),
        (STANDARD_GRAVITY, "in kgf"),
        (4.448, "in pounds"),
    ):
        remedy = "unit? Check the driver of the contact wrenches, expected N and Nm"
        words = f"the wrenches {whose} were {unit}"
        yield mapped("contact wrench unit", words, remedy, factor * one, factor * one, price, 1.0 / factor)
    check, remedy = (
        "contact wrench axes",
        "check wrench_frames, and the axes of the force sensor in its driver",
    )
    for i, P in enumerate(PERMUTATIONS[1:], 1):
        if not (np.negative(P) == one).all():
            yield mapped(check, f"the axes {whose} were ({axis_names(i)})", remedy, P, P, price + 3.0)
    R = _fitted_wrench(table, contacts)
    if R is not None:
        yield mapped(
            check, f"the sensors {whose} were turned by {_degrees(R):.0f} deg", remedy, R, R, price + 4.0
        )
    if table.points:
        return
    for signs in itertools.product((1.0, -1.0), repeat=3):
        D, axes = np.diag(signs), ", ".join(a for a, s in zip("xyz", signs, strict=True) if s < 0.0)
        if axes:
            words = f"the moments {whose} had the other sign about {axes}"
            yield mapped(check, words, remedy, one, D, price + 3.0)
        if axes and max(signs) > 0.0:
            words = f"the forces {whose} had the other sign along {axes}"
            yield mapped(check, words, remedy, D, one, price + 3.0)
    unit = "check the unit of the moments in the driver, expected Nm"
    yield mapped("contact wrench unit", f"the moments {whose} were in Nmm", unit, one, MILLI * one, price)


def _fitted_wrench(table: Table, contacts: tuple[int, ...]) -> Array | None:
    """Return the rotation of the sensors of some contacts after which the robot balances best (Gauss-Newton)."""
    wrenches = table.signals.wrenches
    known = np.isfinite(table.force[:, :6]).all(axis=1) & np.isfinite(wrenches).all(axis=(1, 2))
    scale = np.array([1.0] * 3 + [1.0 / LEVER] * 3) / max(table.robot.weight, 1e-9)
    needed, J, sent = table.force[known, :6] * scale, table.jacobians[known][..., :6], wrenches[known]
    R, own = np.eye(3), list(contacts)
    for _ in range(6):
        turned = sent.copy()
        turned[:, own] = (sent[:, own].reshape(len(sent), len(own), 2, 3) @ R.T).reshape(
            len(sent), len(own), 6
        )
        r = (needed - np.einsum("nkiv,nki->nv", J, turned) * scale).ravel()
        columns = []
        for axis in np.eye(3):
            spun = np.zeros_like(turned)
            halves = turned[:, own].reshape(len(sent), len(own), 2, 3)
            spun[:, own] = np.cross(axis, halves).reshape(len(sent), len(own), 6)
            columns.append((np.einsum("nkiv,nki->nv", J, spun) * scale).ravel())
        C = np.column_stack(columns)
        R = exp_so3(linear_algebra.solve(C.T @ C + 1e-3 * np.eye(3), C.T @ r)) @ R
    return R if _degrees(R) > math.degrees(TURNED) else None
