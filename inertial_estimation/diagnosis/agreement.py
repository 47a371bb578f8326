"""What agrees, a line each, so that one knows what was looked at; and efforts that are no torques."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from inertial_estimation.diagnosis.finding import Finding, Verdict, cannot_tell
from inertial_estimation.diagnosis.hypotheses import factors_of_efforts
from inertial_estimation.diagnosis.parts import BEYOND, Part, hangs, specific_force, torque_columns
from inertial_estimation.diagnosis.table import Table, rms
from inertial_estimation.models.imu import STANDARD_GRAVITY

LIGHT, HEAVY = (
    0.5,
    1.6,
)  # times the weight on the contacts, beyond which loads and tolerances do not explain it
EXCESS, ABSENT = 20.0, 0.6  # times the largest predicted torque; share of it that no effort shows
SLOPED = math.radians(16.0)  # of the ground against the vertical, beyond which it is doubtful


def agreements(table: Table, parts: Mapping[str, Part], said: Sequence[Finding]) -> list[Finding]:
    """Return a finding about each part that is not named wrong otherwise."""
    wrong = {one.check for one in said if one.failed}
    found = [
        *_positions(table, parts),
        *_velocities(table, parts),
        *_imu(table, parts),
        *_wrenches(table, parts),
        *_efforts(table, parts),
    ]
    return [one for one in found if one.check not in wrong]


def _ok(check: str, subject: str, value: float, unit: str, said: str) -> Finding:
    return Finding(check, subject, Verdict.OK, value, unit, said)


def _positions(table: Table, parts: Mapping[str, Part]) -> list[Finding]:
    beyond, found = parts["positions"].left, []
    for j in np.flatnonzero(beyond > BEYOND).tolist():
        low, high = np.quantile(table.signals.q[:, j], (0.02, 0.98))
        said = f"{low:.4g} to {high:.4g} rad is {beyond[j]:.3g} rad outside the limits of the description"
        remedy = "check its zero position (joint_offsets), the order of the names and the description"
        found.append(
            Finding(
                "joint positions", table.robot.names[j], Verdict.WARN, float(beyond[j]), "rad", said, remedy
            )
        )
    return found or [_ok("joint positions", "joint_states", float(beyond.max()), "rad", "within the limits")]


def _velocities(table: Table, parts: Mapping[str, Part]) -> list[Finding]:
    if "velocities" not in parts:
        sent = np.nan_to_num(table.signals.v).any()
        why = (
            "no joint moves enough to compare them with the positions"
            if sent
            else "none are sent; the nodes derive them"
        )
        return [cannot_tell("joint velocities", "joint_states", why)]
    worst = float(parts["velocities"].left.max())
    return [
        _ok(
            "joint velocities",
            "joint_states",
            worst,
            "",
            f"velocities fit the slopes of the positions to {100 * worst:.0f} %",
        )
    ]


def _imu(table: Table, parts: Mapping[str, Part]) -> list[Finding]:
    size, found = specific_force(table), []
    if size is None:
        return []
    ratio = size / STANDARD_GRAVITY
    said = f"the specific force has {size:.4g} m/s^2, gravity {STANDARD_GRAVITY:.4g}"
    if ratio < 0.05:
        remedy = "sensor silent, or gravity subtracted? The driver must send the specific force"
        found.append(Finding("accelerometer size", "imu/data", Verdict.WRONG, size, "m/s^2", said, remedy))
        return found
    found.append(_ok("accelerometer size", "imu/data", size, "m/s^2", said))
    if "direction of gravity" in parts:
        angle = float(parts["direction of gravity"].left[0])
        said = f"the mean specific force is {math.degrees(angle):.3g} deg from the normal of the ground under the feet"
        found.append(_ok("accelerometer direction", "imu/data", math.degrees(angle), "deg", said))
    else:
        found.append(cannot_tell("accelerometer direction", "imu/data", "no contact says where down is"))
    if "rotation" in parts:
        share = 100.0 * max(1.0 - float(parts["rotation"].left[0]) ** 2, 0.0)
        said = f"the rotation over the feet explains {share:.0f} % of the rate"
        found.append(_ok("gyroscope axes", "imu/data", share, "%", said))
    else:
        why = "the base hardly turns over standing feet: let the robot squat, lean and twist"
        found.append(cannot_tell("gyroscope axes", "imu/data", why))
    return found


def _wrenches(table: Table, parts: Mapping[str, Part]) -> list[Finding]:
    wrenches = "contact wrenches"
    if table.robot.n_base != 6 or not table.measures_wrenches:
        return []
    needed, carried = table.force[:, :3], table.contact_force[:, :3]
    size = np.linalg.norm(needed, axis=1)
    factor = float(np.nanmedian((needed * carried).sum(axis=1) / size**2))
    said = f"the contacts carry {factor:.3g} times the weight of the description"
    if not np.nan_to_num(table.signals.wrenches).any():
        remedy = "check the driver of the contact wrenches"
        return [
            Finding(
                "contact weight",
                wrenches,
                Verdict.WRONG,
                0.0,
                "",
                "the wrenches of all contacts are exactly zero",
                remedy,
            )
        ]
    if hangs(table):
        return [_ok("contact weight", wrenches, factor, "", f"{said}: it hangs")]
    found = [_ok("contact weight", wrenches, factor, "", said)]
    if not LIGHT < factor < HEAVY:
        remedy = "check scale and zero of the force sensors, loads, the masses, and whether something else holds the robot"
        found = [Finding("contact weight", wrenches, Verdict.WARN, factor, "", said, remedy)]
    if "wrenches" in parts:
        share = 100.0 * float(parts["wrenches"].left[0])
        found.append(
            _ok(
                "sensor axes",
                wrenches,
                share,
                "%",
                f"they balance weight and motion to {share:.2g} % of the weight",
            )
        )
    return found


def _efforts(table: Table, parts: Mapping[str, Part]) -> list[Finding]:
    if not np.isfinite(table.signals.tau).any():
        return [cannot_tell("effort", "joint_states", "no efforts are sent")]
    silent = [
        name
        for j, name in enumerate(table.robot.names)
        if not np.nan_to_num(table.signals.tau[:, j]).any() and np.nan_to_num(table.signals.tau).any()
    ]
    found = []
    factors = factors_of_efforts(table) if "torques" in parts else None
    if factors is not None:
        k, sigma, strong = factors
        for name in silent:
            j = table.robot.names.index(name)
            wanted = float(rms(np.nan_to_num(table.torques[:, j])))
            if wanted > 0.04 * min(float(table.robot.effort[j]), 1e9) and wanted > 0.1:
                said = f"its effort is zero while {wanted:.3g} Nm are predicted"
                remedy = "check the driver, or leave it out of torque_rows"
                found.append(Finding("effort silent", name, Verdict.WRONG, 0.0, "", said, remedy))
        good = k[strong & (k > 4.0 * sigma)]
        if len(good):
            said = f"{len(good)} of {len(k)} joints measure {good.min():.2g} to {good.max():.2g} times the predicted torque"
            return [*found, _ok("effort", "joint_states", float(good.min()), "", said)]
    elif "whole body" in parts:
        share = 100.0 * float(parts["whole body"].left[0])
        return [
            _ok("effort", "joint_states", share, "%", f"they carry weight and motion but for {share:.0f} %")
        ]
    why = "no predicted torque stands out from friction, or the contact forces are unknown: move the joints"
    return [*found, cannot_tell("effort", "joint_states", why)]


def excessive_efforts(table: Table, parts: Mapping[str, Part]) -> list[Finding]:
    """Return the finding that efforts exceed by far all that weight, motion and friction can need."""
    made = torque_columns(table) if "torques" in parts else None
    if made is None:
        return []
    _y, X, _prior, joints, _rows, size = made
    largest, typical = float((rms(X[:, :, 0]) * size).max()), float(np.median(size))
    if typical < EXCESS * largest or float(np.median(parts["torques"].left[joints])) < ABSENT:
        return []
    times = typical / max(largest, 1e-9)
    said = f"all efforts ({typical:.3g} Nm rms) are {times:.2g} times the largest torque that weight and motion need"
    remedy = "percent of a servo, or a current? Expected Nm at the joint; set drive_gains"
    return [Finding("effort unit", "joint_states", Verdict.WARN, times, "", said, remedy)]
