"""What agrees, a line each, so that one knows what was looked at; and efforts that are no torques."""

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from inertial_estimation.diagnosis.finding import Finding, Verdict, cannot_tell
from inertial_estimation.diagnosis.hypotheses import factors_of_efforts
from inertial_estimation.diagnosis.parts import BEYOND, STRONG, Part, hangs, specific_force, torque_columns
from inertial_estimation.diagnosis.table import Table, rms
from inertial_estimation.inputs.imu import IMU
from inertial_estimation.inputs.joints import JOINTS
from inertial_estimation.models.imu import STANDARD_GRAVITY

LIGHT, HEAVY = (
    0.5,
    1.6,
)  # times the weight on the contacts, beyond which loads and tolerances do not explain it
EXCESS, ABSENT = 20.0, 0.6  # times the largest predicted torque; share of it that no effort shows
SUBTRACTED = 0.05  # of gravity, below which it is missing in the specific force
SIGMAS = 4.0
WRENCHES = "contact wrenches"


def agreements(table: Table, parts: Mapping[str, Part], said: Sequence[Finding]) -> list[Finding]:
    """Return a finding about each part that is not named wrong otherwise."""
    wrong = {one.check for one in said if one.failed}
    found = [*_joints(table, parts), *_imu(table, parts), *_wrenches(table, parts), *_efforts(table, parts)]
    return [one for one in found if one.check not in wrong]


def _ok(check: str, subject: str, value: float, unit: str, said: str) -> Finding:
    return Finding(check, subject, Verdict.OK, value, unit, said)


def _joints(table: Table, parts: Mapping[str, Part]) -> Iterator[Finding]:
    beyond = parts["positions"].left
    for j in np.flatnonzero(beyond > BEYOND).tolist():
        low, high = np.quantile(table.signals.q[:, j], (0.02, 0.98))
        said = f"{low:.4g} to {high:.4g} rad is {beyond[j]:.3g} rad outside the limits of the description"
        remedy = "check its zero position (joint_offsets), the order of the names and the description"
        name, value = table.robot.names[j], float(beyond[j])
        yield Finding("joint positions", name, Verdict.WARN, value, "rad", said, remedy)
    if not (beyond > BEYOND).any():
        yield _ok("joint positions", JOINTS, float(beyond.max()), "rad", "within the limits")
    if "velocities" in parts:
        worst = float(parts["velocities"].left.max())
        yield _ok(
            "joint velocities",
            JOINTS,
            worst,
            "",
            f"they fit the slopes of the positions to {100 * worst:.0f} %",
        )
    else:
        yield cannot_tell(
            "joint velocities", JOINTS, "none are sent, or no joint moves enough to compare them"
        )


def _imu(table: Table, parts: Mapping[str, Part]) -> Iterator[Finding]:
    size = specific_force(table)
    if size is None:
        return
    said = f"the specific force has {size:.4g} m/s^2, gravity {STANDARD_GRAVITY:.4g}"
    if size < SUBTRACTED * STANDARD_GRAVITY:
        remedy = "sensor silent, or gravity subtracted? The driver must send the specific force"
        yield Finding("accelerometer size", IMU, Verdict.WRONG, size, "m/s^2", said, remedy)
        return
    yield _ok("accelerometer size", IMU, size, "m/s^2", said)
    if "direction of gravity" in parts:
        angle = math.degrees(float(parts["direction of gravity"].left[0]))
        said = f"the mean specific force is {angle:.3g} deg from the normal of the ground under the feet"
        yield _ok("accelerometer direction", IMU, angle, "deg", said)
    else:
        yield cannot_tell("accelerometer direction", IMU, "no contact says where down is")
    if "rotation" in parts:
        share = 100.0 * max(1.0 - float(parts["rotation"].left[0]) ** 2, 0.0)
        yield _ok(
            "gyroscope axes",
            IMU,
            share,
            "%",
            f"the rotation over the feet explains {share:.0f} % of the rate",
        )
    else:
        why = "the base hardly turns over standing feet: let the robot squat, lean and twist"
        yield cannot_tell("gyroscope axes", IMU, why)


def _wrenches(table: Table, parts: Mapping[str, Part]) -> Iterator[Finding]:
    if table.robot.n_base != 6 or not table.measures_wrenches:
        return
    needed, carried = table.force[:, :3], table.contact_force[:, :3]
    factor = float(np.nanmedian((needed * carried).sum(axis=1) / (needed**2).sum(axis=1)))
    said, remedy, verdict = (
        f"the contacts carry {factor:.3g} times the weight of the description",
        "",
        Verdict.OK,
    )
    if not np.nan_to_num(table.signals.wrenches).any():
        said, remedy, verdict = (
            "the wrenches of all contacts are exactly zero",
            "check their driver",
            Verdict.WRONG,
        )
    elif hangs(table):
        said += ": it hangs"
    elif not LIGHT < factor < HEAVY:
        remedy = "check scale and zero of the sensors, loads, masses; does something else hold the robot?"
        verdict = Verdict.WARN
    yield Finding("contact weight", WRENCHES, verdict, factor, "", said, remedy)
    if "wrenches" in parts:
        share = 100.0 * float(parts["wrenches"].left[0])
        yield _ok(
            "sensor axes",
            WRENCHES,
            share,
            "%",
            f"they balance weight and motion to {share:.2g} % of the weight",
        )


def _efforts(table: Table, parts: Mapping[str, Part]) -> Iterator[Finding]:
    tau, names = table.signals.tau, table.robot.names
    factors = factors_of_efforts(table) if "torques" in parts else None
    if factors is not None:
        k, sigma, strong = factors
        wanted = rms(np.nan_to_num(table.torques))
        silent = np.isfinite(tau).any(axis=0) & ~np.nan_to_num(tau).any(axis=0)
        silent &= wanted > STRONG * np.where(
            np.isfinite(table.robot.effort), table.robot.effort, wanted.max()
        )
        for j in np.flatnonzero(silent).tolist():
            said, remedy = f"its effort is zero while {wanted[j]:.3g} Nm are predicted", "check the driver"
            yield Finding(
                "effort silent", names[j], Verdict.WRONG, 0.0, "", said, f"{remedy}, or torque_rows"
            )
        good = k[strong & (k > SIGMAS * sigma)]
        if len(good):
            span = f"{good.min():.2g} to {good.max():.2g}"
            said = f"{len(good)} of {len(k)} joints measure {span} times the predicted torque"
            yield _ok("effort", JOINTS, float(good.min()), "", said)
            return
    if "whole body" in parts:
        share = 100.0 * float(parts["whole body"].left[0])
        yield _ok("effort", JOINTS, share, "%", f"they carry weight and motion but for {share:.0f} %")
        return
    why = "no predicted torque stands out from friction, or the contact forces are unknown: move the joints"
    yield cannot_tell("effort", JOINTS, why if np.isfinite(tau).any() else "no efforts are sent")


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
    said = f"all efforts ({typical:.3g} Nm rms) are {times:.2g} times the largest torque needed"
    remedy = "percent of a servo, or a current? Expected Nm at the joint; set drive_gains"
    return [Finding("effort unit", JOINTS, Verdict.WARN, times, "", said, remedy)]
