"""Hypotheses about units and axes of the IMU, and about signs, units, axes and names of contact wrenches."""

import itertools
import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from inertial_estimation.diagnosis.finding import Finding, Fix, Verdict, times
from inertial_estimation.diagnosis.frames import added_frame, axis_names, signed_permutations
from inertial_estimation.diagnosis.hypotheses import COMMON, HALF, UNIT, Hypothesis
from inertial_estimation.diagnosis.parts import (
    GRAVITY,
    LEVER,
    WRENCHES,
    gravity_pair,
    rate_rows,
    specific_force,
)
from inertial_estimation.diagnosis.table import Change, Signals, Table, exchange
from inertial_estimation.inputs.config import RobotGeometryConfig
from inertial_estimation.inputs.sensors import IMU
from inertial_estimation.models.contacts import WrenchAxes
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra
from inertial_estimation.spatial.rotations import DEGREES, exp_so3, log_so3

TURNED = math.radians(15.0)  # least rotation that is no small error, as causes and joint offsets are [rad]
YAWS = 24  # number of tried angles about the vertical at which an IMU may be mounted
MILLI = 1e-3
AXES, EXACT = "contact wrench axes", 0.5  # share of the disagreement that may remain with the right axes
FEWEST = 30  # least number of windows from which axes are fitted
RATE_PARTS = "rotation", "wrenches", "torques", "whole body"
WRENCH_PARTS = "wrenches", "torques"
PERMUTATIONS = signed_permutations()
ONE = np.eye(3)


def unit_hypotheses(table: Table) -> Iterator[Hypothesis]:
    """Yield hypotheses of units and scales of accelerometer and gyroscope."""
    size, force = specific_force(table), partial(Hypothesis, "accelerometer size", IMU)
    if size is not None:
        ratio, text = size / STANDARD_GRAVITY, f"(size {size:.4g} m/s^2, gravity {STANDARD_GRAVITY:.4g})"
        for unit, factor in (("g", STANDARD_GRAVITY), ("mg", MILLI * STANDARD_GRAVITY)):
            remedy = f"in {unit}? The driver must send m/s^2, or name {unit} in imu.units"
            change, fix = Change(force=factor * ONE), Fix(parameters={"imu.units": [unit]})
            words = f"the specific force were in {unit} {text}"
            yield force(words, remedy, change, 1.0, size, "m/s^2", fix=fix)
        if ratio > 0.05 and min(abs(math.log(ratio * unit)) for unit in (1.0, STANDARD_GRAVITY)) > GRAVITY:
            words = f"the specific force were {times(ratio)} {text}"
            remedy = "check unit and scale of the accelerometer in the driver of imu/data (m/s^2)"
            mild = 0.7 < ratio < 1.4
            yield force(words, remedy, Change(force=ONE / ratio), 4.0, size, "m/s^2", mild=mild)
    fitted = fitted_rate(table)
    if fitted is not None and abs(math.log(factor := 1.0 / max(fitted[1], 1e-6))) > UNIT:
        words, change = f"the angular rate were {times(factor)}", Change(rate=ONE / factor)
        texts, mild = (words, "check unit and scale of the driver, expected rad/s"), 0.5 < factor < 2.0
        yield Hypothesis("gyroscope scale", IMU, *texts, change, 4.0, factor, parts=RATE_PARTS, mild=mild)


def angular_rate_in_radians(signals: Signals) -> tuple[list[Finding], Signals]:
    """Find an angular rate in deg/s and correct it, whatever touches the robot: no contact is needed.

    The vertical that follows both readings then turns far more than the specific force, at rest by the noise.
    """
    before = signals.contradiction
    radians = signals.with_rate(1.0 / DEGREES) if before > TURNED else signals
    after = radians.contradiction
    if not before > 2.0 * after:
        return [], signals
    text = f"the vertical by the angular rate is {math.degrees(before):.0f} deg from the specific force, "
    text += f"{math.degrees(after):.0f} deg if the angular rate were in deg/s"
    remedy = "deg/s? The driver must send rad/s, or name deg/s in imu.units"
    fix = Fix(parameters={"imu.units": ["deg/s"]})
    return [Finding("gyroscope scale", IMU, Verdict.WRONG, DEGREES, "", text, remedy, fix)], radians


def fitted_rate(table: Table) -> tuple[Array, float] | None:
    """Return axes and scale of the gyroscope that fit the rotation over the feet best; None if undetermined.

    y = A G w is linear in G; axes are the nearest orthogonal matrix (Kabsch 1976), reflections included.
    """
    rows = rate_rows(table)
    if rows is None:
        return None
    w = table.signals.w[rows.rows]
    known = np.isfinite(w).all(axis=1)
    X = np.einsum("rij,rk->rijk", rows.A, w)[known].reshape(-1, 9)
    M = X.T @ X
    if known.sum() < FEWEST or linear_algebra.eigvalsh(M)[0] < 1e-3 * max(float(np.trace(M)) / 9.0, 1e-12):
        return None
    G = linear_algebra.solve(M, X.T @ rows.y[known].ravel()).reshape(3, 3)
    U, values, Vt = linear_algebra.svd(G)
    return U @ Vt, float(values.mean())


def imu_hypotheses(table: Table, config: RobotGeometryConfig) -> Iterator[Hypothesis]:
    """Yield hypotheses of axes of the gyroscope alone, of the accelerometer alone, and of the whole IMU."""
    from scipy.spatial.transform import Rotation  # a node starts without it

    turned: dict[str, tuple[Array, float]] = {}  # rotations and their penalties, by the phrase for them
    for i, P in enumerate(PERMUTATIONS[1:], 1):
        axes, angle = axis_names(i), _degrees(P)
        words = f"the axes of the gyroscope were ({axes})"
        remedy = "correct them in the driver; the accelerometer is right"
        yield Hypothesis("gyroscope axes", IMU, words, remedy, Change(rate=P), 4.0, angle, "deg", RATE_PARTS)
        words = f"the axes of the accelerometer were ({axes})"
        remedy = f"check imu_frame and the axes of the accelerometer in the driver: ({axes}) would fit"
        yield Hypothesis("accelerometer direction", IMU, words, remedy, Change(force=P), 4.0, angle, "deg")
        if np.linalg.det(P) > 0.0:
            turned[f", ({axes}) of the readings"] = P, 3.0
    pair, fitted = gravity_pair(table), fitted_rate(table)
    if fitted is not None and np.linalg.det(fitted[0]) > 0.0:
        turned[""] = fitted[0], 4.0
    if pair is not None:
        upright = Rotation.align_vectors(pair[1], pair[0])[0].as_matrix()  # the smallest rotation
        for k in range(YAWS):
            R = exp_so3(math.tau * k / YAWS * pair[1]) @ upright
            turned[f", {360 * k // YAWS} deg about the vertical"] = R, 5.0
    for words, (R, price) in turned.items():
        angle, (values, rpy) = _degrees(R), added_frame(config, R)
        remedy = (
            "correct the pose of imu_frame in the description, or add a frame with roll, pitch and yaw "
            f"{rpy[0]:g}, {rpy[1]:g}, {rpy[2]:g} (frames.poses) and name it as imu_frame"
        )
        change, words = Change(force=R, rate=R), f"the whole IMU were turned by {angle:.0f} deg{words}"
        if angle > math.degrees(TURNED):
            fix = Fix(parameters=values)
            yield Hypothesis("IMU mounting", IMU, words, remedy, change, price, angle, "deg", fix=fix)


def _degrees(R: Array) -> float:
    return 180.0 if np.linalg.det(R) < 0.0 else math.degrees(float(np.linalg.norm(log_so3(R))))


def wrench_hypotheses(table: Table) -> Iterator[Hypothesis]:
    """Yield hypotheses of exchanged contacts, and of signs, units and axes of wrenches of each and of all."""
    names = table.robot.setup.contact_names
    k, every = len(names), tuple(range(len(names)))
    for a, b in itertools.combinations(every, 2):
        words = f"'{names[a]}' and '{names[b]}' were exchanged"
        remedy = "check the topics or the wiring of the force sensors: each has the other's readings"
        order = exchange(k, a, b).argmax(axis=1)
        maps = np.eye(6 * k)[(6 * order[:, None] + np.arange(6)).ravel()]
        change, parts = Change(wrenches=maps), (*WRENCH_PARTS, "rotation")
        yield Hypothesis("contact names", f"{names[a]}/wrench", words, remedy, change, 2.0, parts=parts)
    for axes in (WrenchAxes.BASE, WrenchAxes.WORLD) if set(table.signals.axes) == {WrenchAxes.SENSOR} else ():
        words = f"all wrenches were in the axes of the {axes.value}"
        remedy = (
            f"set wrench_frames of all contacts to '{axes.value}', or send them in the axes of the sensors"
        )
        fix = Fix(parameters={"wrench_frames": [axes.value] * k})
        yield Hypothesis(AXES, WRENCHES, words, remedy, Change(axes=axes), 1.0, fix=fix)
    for contacts in [every] if k == 1 else [*((i,) for i in every), every]:
        yield from _of_contacts(table, contacts)


def _of_contacts(table: Table, contacts: tuple[int, ...]) -> Iterator[Hypothesis]:
    names = table.robot.setup.contact_names
    whole, k = len(contacts) == len(names) > 1, len(names)
    whose = "of all contacts" if whole else f"of '{names[contacts[0]]}'"
    subject, price = (WRENCHES, 1.0) if whole else (f"{names[contacts[0]]}/wrench", 2.0)

    def mapped(
        check: str, words: str, remedy: str, F: Array, M: Array, more: float, value: float = 0.0
    ) -> Hypothesis:
        maps = np.eye(6 * k)
        for i in contacts:
            for begin, part in ((6 * i, F), (6 * i + 3, M)):
                maps[begin : begin + 3, begin : begin + 3] = part
        change = Change(wrenches=maps)
        how: dict[str, Any] = {"parts": WRENCH_PARTS, "leaves": EXACT if check == AXES else HALF}
        return Hypothesis(check, subject, words, remedy, change, price + more, value, **how)

    remedy = "wrong sign? The wrench must be that of the ground on the robot; check wrench_frames"
    yield mapped("contact wrench sign", f"the wrenches {whose} had the other sign", remedy, -ONE, -ONE, 0.0)
    remedy = "unit? Check the driver of the contact wrenches, expected N and Nm"
    for factor, unit in ((1e3, "kN"), (MILLI, "mN"), (STANDARD_GRAVITY, "kgf")):
        words, F = f"the wrenches {whose} were in {unit}", factor * ONE
        yield mapped("contact wrench unit", words, remedy, F, F, 0.0, 1.0 / factor)
    check, remedy = AXES, "check wrench_frames, and the axes of the force sensor in its driver"
    for i, P in enumerate(PERMUTATIONS[1:], 1):
        if float(np.trace(P)) > -3.0:
            yield mapped(check, f"the axes {whose} were ({axis_names(i)})", remedy, P, P, 3.0)
    gain, R = _fitted_wrench(table, contacts)
    if gain > 0.0 and not 1.0 / COMMON < gain < COMMON:  # zero: there are no readings
        words, F = f"the wrenches {whose} were {1.0 / gain:.3g} times the true ones", gain * ONE
        mend = "check its gain, and the unit, in the driver of the force sensor"
        yield mapped("contact wrench scale", words, mend, F, F, 2.0, 1.0 / gain)
    if _degrees(R) > math.degrees(TURNED):
        yield mapped(check, f"the sensors {whose} were turned by {_degrees(R):.0f} deg", remedy, R, R, 4.0)
    for signs in itertools.product((1.0, -1.0), repeat=3) if not table.points else ():
        D, axes = np.diag(signs), ", ".join(a for a, s in zip("xyz", signs, strict=True) if s < 0.0)
        if axes:
            yield mapped(check, f"the moments {whose} had the other sign about {axes}", remedy, ONE, D, 3.0)
    if not table.points:
        remedy = "check the unit of the moments in the driver, expected Nm"
        yield mapped("contact wrench unit", f"the moments {whose} were in Nmm", remedy, ONE, MILLI * ONE, 0.0)


def _fitted_wrench(table: Table, contacts: tuple[int, ...]) -> tuple[float, Array]:
    """Return the gain and the rotation of some contacts' sensors, each fitted alone, that balance best.

    The gain is found by least squares, the rotation by the Gauss-Newton method.
    """
    wrenches = table.signals.wrenches
    known = np.isfinite(table.force[:, :6]).all(axis=1) & np.isfinite(wrenches).all(axis=(1, 2))
    scale = np.array([1.0] * 3 + [1.0 / LEVER] * 3) / max(table.robot.weight, 1e-9)
    needed, J = table.force[known, :6] * scale, table.jacobians[known][..., :6] * scale
    own, others = list(contacts), [i for i in range(wrenches.shape[1]) if i not in contacts]
    halves = wrenches[known][:, own].reshape(int(known.sum()), len(own), 2, 3)
    left = needed - np.einsum("nkiv,nki->nv", J[:, others], wrenches[known][:, others])

    def carried(values: Array) -> Array:
        pushed: Array = np.einsum("nkiv,nki->nv", J[:, own], values.reshape(len(values), len(own), 6)).ravel()
        return pushed

    sent = carried(halves)
    forces, R = sent.reshape(left.shape)[:, :3], np.eye(3)  # moments hardly inform a gain
    gain = float(np.sum(forces * left[:, :3])) / max(float(np.sum(forces**2)), 1e-12)
    for _ in range(6):
        turned = halves @ R.T
        C = np.column_stack([carried(np.cross(axis, turned)) for axis in ONE])
        step = linear_algebra.solve(C.T @ C + 1e-3 * ONE, C.T @ (left.ravel() - carried(turned)))
        R = exp_so3(step) @ R
    return gain, R
