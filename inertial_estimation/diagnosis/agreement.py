"""What agrees, a line each, so that one knows what was looked at."""

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from inertial_estimation.diagnosis.causes import WHOLE
from inertial_estimation.diagnosis.finding import Finding, Verdict, cannot_tell
from inertial_estimation.diagnosis.hypotheses import COMMON, CURRENT
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
from inertial_estimation.models.contacts import WrenchAxes
from inertial_estimation.models.imu import STANDARD_GRAVITY

EXCESS = 20.0  # times the largest torque that is needed, beyond all friction
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
        silent = lacks_gravity(table)
        remedy = "sensor silent, or gravity subtracted? It must be the specific force" if silent else ""
        verdict = Verdict.WRONG if silent else Verdict.OK
        yield Finding("accelerometer size", IMU, verdict, size, "m/s^2", said, remedy)
    if table.robot.n_base != 6 or table.loads is None or weighed or table.sent.shares:
        return
    needed, carried = table.force[:, :3], table.contact_force[:, :3]
    factors = (needed * carried).sum(axis=1) / (needed**2).sum(axis=1)
    if np.isnan(factors).all():
        return
    contacts, z = table.robot.setup.contacts, table.rotations_BF[..., 2]  # which may point downwards
    down = (np.einsum("nki,ni->nk", z, needed) < 0.0) & [one.axes is WrenchAxes.SENSOR for one in contacts]
    down &= [axes is not WrenchAxes.WORLD for axes in table.sent.axes]
    upwards = table.sent.wrenches[:, :, 2] * np.where(down, -1.0, 1.0)
    pushed = np.nanmedian(upwards, axis=0) if table.sent.scalar else np.zeros(0)
    if (pushed < 0.0).any():
        names = [contacts[k].name for k in np.flatnonzero(pushed < 0.0)]
        said = f"the ground pulls at {listing(names)}: loads of {pushed.min():.3g} N in the median"
        subject = f"{names[0]}/wrench" if len(names) == 1 else WRENCHES
        remedy = "correct the sign in the driver; if it sends a vertical force, set contact.source: force"
        yield Finding("contact wrench sign", subject, Verdict.WRONG, float(pushed.min()), "N", said, remedy)
        return
    factor = float(np.nanmedian(factors))
    said = f"the contacts carry {factor:.3g} times the weight of the description"
    remedy, verdict = "", Verdict.OK
    if not np.nan_to_num(table.signals.wrenches).any():
        said, remedy, verdict = "all wrenches are exactly zero", "check their driver", Verdict.WRONG
    elif hangs(table):
        said += ": it hangs or lies"
    elif not 1.0 / COMMON < factor < COMMON:
        remedy = "scale or zero of the sensors, masses, another robot, or does something hold it?"
        verdict = Verdict.WARN
    yield Finding("contact weight", WRENCHES, verdict, factor, "", said, remedy)


def lacks_gravity(table: Table) -> bool:
    """Return whether the specific force is next to nothing."""
    size = specific_force(table)
    return size is not None and size < SUBTRACTED * STANDARD_GRAVITY


def excess_of_efforts(table: Table) -> float:
    """Return the median effort over the largest torque that weight and motion need; 0: nothing is known."""
    columns = torque_columns(table)
    if columns is None:
        return 0.0
    _y, X, _prior, _joints, _rows, size = columns
    return float(np.median(size)) / max(float((rms(X[:, :, 0]) * size).max()), 1e-9)


def _efforts(table: Table) -> Iterator[Finding]:
    if (times := excess_of_efforts(table)) > EXCESS:
        said = f"all efforts are {times:.2g} times the largest torque that weight and motion need"
        yield Finding("effort unit", JOINTS, Verdict.WARN, times, "", said, CURRENT)
