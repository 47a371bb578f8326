"""Findings about what agrees, one line each, so that a report shows everything that was checked."""

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from inertial_estimation.diagnosis.causes import WHOLE
from inertial_estimation.diagnosis.finding import Finding, Verdict, cannot_tell, rounded
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

EXCESS = 20.0  # ratio of efforts to the largest predicted torque that no friction explains
SUBTRACTED = 0.05  # share of gravity below which the specific force lacks gravity


def agreements(table: Table, parts: Mapping[str, Part], others: Sequence[Finding]) -> list[Finding]:
    """Return a finding about each compared part that no other finding has reported as wrong."""
    wrong = {one.check for one in others if one.failed}
    found = [*_positions(table), *_sizes(table, weighed=WHOLE.check in wrong), *_efforts(table)]
    compared = {name: part for name, part in parts.items() if part.left.any()}  # zero: nothing to compare
    seen = {PARTS[name].check for name in compared}
    for name, one in PARTS.items():
        if name in compared and one.check:
            left = compared[name].left * (100.0 if one.is_share else math.degrees(1.0))
            least, most = float(left[left > 0.0].min(initial=left.max())), float(left.max())
            span = f"{rounded(least, 2)} to {rounded(most, 2)}" if least < most else rounded(most, 2)
            unit, sure = ("%", 100.0 * one.sure) if one.is_share else ("deg", math.degrees(2.0 * MOUNTED))
            verdict = Verdict.OK if least < sure else Verdict.UNKNOWN
            differ = f"{one.pair} differ by {span} {unit}"
            found.append(Finding(one.check, one.subject, verdict, most, unit, differ))
        elif one.without and one.check not in seen and (one.subject == JOINTS or "size of gravity" in parts):
            found.append(cannot_tell(one.check, one.subject, one.without))
    return [one for one in found if one.check not in wrong]


def _positions(table: Table) -> Iterator[Finding]:
    beyond = outside(table)
    for j in np.flatnonzero(beyond > BEYOND).tolist():
        low, high = np.quantile(table.signals.q[:, j], (0.02, 0.98))
        text = f"{low:.4g} to {high:.4g} rad is {beyond[j]:.3g} rad outside the limits of the description"
        remedy = "check its zero position (joint_offsets), the order of the names and the description"
        value = float(beyond[j])
        yield Finding("joint positions", table.robot.names[j], Verdict.WARN, value, "rad", text, remedy)
    if not (beyond > BEYOND).any():
        most = max(float(beyond.max(initial=0.0)), 0.0)
        yield Finding("joint positions", JOINTS, Verdict.OK, most, "rad", "within the limits")


def _sizes(table: Table, *, weighed: bool) -> Iterator[Finding]:
    """Judge the magnitude of the specific force and, unless masses are wrong, the sum of contact forces."""
    size = specific_force(table)
    if size is not None:
        text = f"the specific force has {size:.4g} m/s^2, gravity {STANDARD_GRAVITY:.4g}"
        silent = lacks_gravity(table)
        remedy = "sensor silent, or gravity subtracted? It must be the specific force" if silent else ""
        verdict = Verdict.WRONG if silent else Verdict.OK
        yield Finding("accelerometer size", IMU, verdict, size, "m/s^2", text, remedy)
    if table.robot.n_base != 6 or table.loads is None or weighed or table.sent.shares:
        return
    needed, carried = table.force[:, :3], table.contact_force[:, :3]
    factors = (needed * carried).sum(axis=1) / (needed**2).sum(axis=1)
    if np.isnan(factors).all():
        return
    contacts, z = table.robot.setup.contacts, table.rotations_BF[..., 2]  # sensor axes, some point downwards
    down = (np.einsum("nki,ni->nk", z, needed) < 0.0) & [one.axes is WrenchAxes.SENSOR for one in contacts]
    down &= [axes is not WrenchAxes.WORLD for axes in table.sent.axes]
    upwards = table.sent.wrenches[:, :, 2] * np.where(down, -1.0, 1.0)
    pushed = np.nanmedian(upwards, axis=0) if table.sent.scalar else np.zeros(0)
    if (pushed < 0.0).any():
        names = [contacts[k].name for k in np.flatnonzero(pushed < 0.0)]
        text = f"the ground pulls at {listing(names)}: loads of {pushed.min():.3g} N in the median"
        subject = f"{names[0]}/wrench" if len(names) == 1 else WRENCHES
        remedy = "correct the sign in the driver; if it sends a vertical force, set contact.source: force"
        yield Finding("contact wrench sign", subject, Verdict.WRONG, float(pushed.min()), "N", text, remedy)
        return
    factor = float(np.nanmedian(factors))
    text = f"the contacts carry {factor:.2f} times the weight of the description"
    remedy, verdict = "", Verdict.OK
    if not np.nan_to_num(table.signals.wrenches).any():
        text, remedy, verdict = "all wrenches are exactly zero", "check their driver", Verdict.WRONG
    elif hangs(table):
        text += ": the robot hangs or lies"
    elif not 1.0 / COMMON < factor < COMMON:
        remedy = "scale or zero of the sensors, masses, another robot, or does something hold it?"
        verdict = Verdict.WARN
    yield Finding("contact weight", WRENCHES, verdict, factor, "", text, remedy)


def lacks_gravity(table: Table) -> bool:
    """Return whether the specific force is nearly zero, as if gravity had been subtracted."""
    size = specific_force(table)
    return size is not None and size < SUBTRACTED * STANDARD_GRAVITY


def excess_of_efforts(table: Table) -> float:
    """Return the ratio of the median effort to the largest predicted torque, zero if that is unknown."""
    columns = torque_columns(table)
    if columns is None:
        return 0.0
    _y, _X, _prior, _joints, rows, size = columns
    return float(np.median(size)) / max(float(rms(table.torques[rows]).max()), 1e-9)


def _efforts(table: Table) -> Iterator[Finding]:
    if (times := excess_of_efforts(table)) > EXCESS:
        text = f"all efforts are {times:.2g} times the largest torque that weight and motion need"
        yield Finding("effort unit", JOINTS, Verdict.WARN, times, "", text, CURRENT)
