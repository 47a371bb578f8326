"""What agrees, a line each, so that one knows what was looked at; and efforts that are no torques."""

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from inertial_estimation.diagnosis.causes import WHOLE
from inertial_estimation.diagnosis.finding import Finding, Verdict, cannot_tell
from inertial_estimation.diagnosis.hypotheses import COMMON
from inertial_estimation.diagnosis.parts import (
    BEYOND,
    MOUNTED,
    PARTS,
    WRENCHES,
    Part,
    hangs,
    outside,
    specific_force,
    torque_columns,
)
from inertial_estimation.diagnosis.table import Table, rms
from inertial_estimation.errors import listing
from inertial_estimation.inputs.joints import JOINTS
from inertial_estimation.inputs.sensors import IMU
from inertial_estimation.models.imu import STANDARD_GRAVITY

EXCESS, ABSENT = 20.0, 0.6  # times the largest predicted torque; share of it that no effort shows
SUBTRACTED = 0.05  # of gravity, below which it is missing in the specific force


def agreements(table: Table, parts: Mapping[str, Part], said: Sequence[Finding]) -> list[Finding]:
    """Return a finding about each part that is not named wrong otherwise."""
    wrong = {one.check for one in said if one.failed}
    found = [*_positions(table), *_sizes(table, weighed=WHOLE.check in wrong), *_efforts(table)]
    seen = {PARTS[name].check for name in parts}
    for name, how in PARTS.items():
        if name in parts and how.check:
            left = parts[name].left * (100.0 if how.is_share else math.degrees(1.0))
            least, most = float(left[left > 0.0].min(initial=left.max())), float(left.max())
            span = f"{least:.2g} to {most:.2g}" if least < most else f"{most:.2g}"
            unit, sure = ("%", 100.0 * how.sure) if how.is_share else ("deg", math.degrees(2.0 * MOUNTED))
            verdict = Verdict.OK if least < sure else Verdict.UNKNOWN
            differ = f"{how.says} differ by {span} {unit}"
            found.append(Finding(how.check, how.subject, verdict, most, unit, differ))
        elif how.without and how.check not in seen and (how.subject == JOINTS or "size of gravity" in parts):
            found.append(cannot_tell(how.check, how.subject, how.without))
    return [one for one in found if one.check not in wrong]


def _positions(table: Table) -> Iterator[Finding]:
    beyond = outside(table)
    for j in np.flatnonzero(beyond > BEYOND).tolist():
        low, high = np.quantile(table.signals.q[:, j], (0.02, 0.98))
        said = f"{low:.4g} to {high:.4g} rad is {beyond[j]:.3g} rad outside the limits of the description"
        remedy = "check its zero position (joint_offsets), the order of the names and the description"
        value = float(beyond[j])
        yield Finding("joint positions", table.robot.names[j], Verdict.WARN, value, "rad", said, remedy)
    if not (beyond > BEYOND).any():
        most = max(float(beyond.max(initial=0.0)), 0.0)
        yield Finding("joint positions", JOINTS, Verdict.OK, most, "rad", "within the limits")


def _sizes(table: Table, *, weighed: bool) -> Iterator[Finding]:
    """Judge the sizes of specific force and, where masses are not judged by them, of contact forces."""
    size = specific_force(table)
    if size is not None:
        said = f"the specific force has {size:.4g} m/s^2, gravity {STANDARD_GRAVITY:.4g}"
        wrong = lacks_gravity(table)
        remedy = (
            "sensor silent, or gravity subtracted? The driver must send the specific force" if wrong else ""
        )
        verdict = Verdict.WRONG if wrong else Verdict.OK
        yield Finding("accelerometer size", IMU, verdict, size, "m/s^2", said, remedy)
    if table.robot.n_base != 6 or not table.measures_loads or weighed:
        return
    pushed = np.nanmedian(table.sent.wrenches[:, :, 2], axis=0) if table.sent.scalar else np.zeros(0)
    if (pushed < 0.0).any():
        names = [table.robot.setup.contact_names[k] for k in np.flatnonzero(pushed < 0.0)]
        said = f"the ground pulls at {listing(names)}: loads of {pushed.min():.3g} N in the median"
        subject = f"{names[0]}/wrench" if len(names) == 1 else WRENCHES
        remedy = "correct the sign in the driver"
        yield Finding("contact wrench sign", subject, Verdict.WRONG, float(pushed.min()), "N", said, remedy)
        return
    needed, carried = table.force[:, :3], table.contact_force[:, :3]
    factor = float(np.nanmedian((needed * carried).sum(axis=1) / (needed**2).sum(axis=1)))
    said = f"the contacts carry {factor:.3g} times the weight of the description"
    remedy, verdict = "", Verdict.OK
    if not np.nan_to_num(table.signals.wrenches).any():
        said, remedy = "the wrenches of all contacts are exactly zero", "check their driver"
        verdict = Verdict.WRONG
    elif hangs(table):
        said += ": it hangs or lies"
    elif not 1.0 / COMMON < factor < COMMON:
        remedy = (
            "scale or zero of the sensors, masses, another robot's description, or does something hold it?"
        )
        verdict = Verdict.WARN
    yield Finding("contact weight", WRENCHES, verdict, factor, "", said, remedy)


def lacks_gravity(table: Table) -> bool:
    """Return whether the specific force is next to nothing."""
    size = specific_force(table)
    return size is not None and size < SUBTRACTED * STANDARD_GRAVITY


def _efforts(table: Table) -> Iterator[Finding]:
    tau = table.signals.tau
    if np.isfinite(tau).any() and not np.nan_to_num(tau).any():
        said, remedy = "the efforts of all joints are exactly zero", "are they measured? Check the driver"
        yield Finding("effort silent", JOINTS, Verdict.WARN, 0.0, "", said, remedy)


def excessive_efforts(table: Table, parts: Mapping[str, Part]) -> list[Finding]:
    """Return the finding that efforts exceed by far all that weight, motion and friction can need."""
    columns = torque_columns(table) if "torques" in parts else None
    if columns is None:
        return []
    _y, X, _prior, joints, _rows, size = columns
    largest, typical = float((rms(X[:, :, 0]) * size).max()), float(np.median(size))
    if typical < EXCESS * largest or float(np.median(parts["torques"].left[joints])) < ABSENT:
        return []
    times = typical / max(largest, 1e-9)
    said = f"all efforts ({typical:.3g} Nm rms) are {times:.2g} times the largest torque needed"
    remedy = "percent of a servo, or a current? Expected Nm at the joint; set drive_gains"
    return [Finding("effort unit", JOINTS, Verdict.WARN, times, "", said, remedy)]
