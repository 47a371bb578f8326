"""Checks of contact wrenches: their sum against the weight, signs, units, names of the contacts."""

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.data_checks.check_result import CheckResult, Verdict
from inertial_estimation.data_checks.data_table import CheckedRobot, DataTable
from inertial_estimation.data_checks.regression import scale_factor
from inertial_estimation.data_checks.wrench_balance import exchanged_contacts
from inertial_estimation.signals import Array

Mask = NDArray[np.bool_]

WARN_FACTOR, WRONG_FACTOR = 1.6, 2.5  # a load of 60 % of the weight is unusual, of 150 % not carried
PULL = 0.05  # share of the weight with which a contact may seem to pull: drift of a force sensor
HUGE = 3.0  # times the weight on one contact in the median
HANGS = 0.1  # share of the weight below which the contacts do not carry the robot
LIKE = 0.85  # cosine between small wrenches and the weight above which they are the weight in another unit
LEVER = 0.3  # at which moments count as much as forces [m]
QUIET, MISSING = 0.02, 0.08  # shares of the weight: a silent contact carries less, and must carry more
SOLE, POINT = 0.15, 0.06  # distance of the missing force from a sole, from a point [m]


def wrench_checks(table: DataTable, robot: CheckedRobot) -> list[CheckResult]:
    """Check contact wrenches against the weight and the moments that the description predicts.

    Args:
        table: The windows, with a correct accelerometer.
        robot: The robot.

    Returns:
        One result for every contact that is wrong, and for the sum; none where wrenches are not measured.
    """
    expected, measured = table.force[:, : table.n_base], table.contact_force[:, : table.n_base]
    known: Mask = np.isfinite(np.hstack((measured, expected))).all(axis=1).astype(bool)
    if table.n_base != 6 or not robot.contacts or known.sum() < 5:
        return []
    load = np.linalg.norm(table.wrenches[:, :, :3], axis=2).sum(axis=1)  # also where signs cancel
    carried = _carrying(expected, measured, load, known)
    if isinstance(carried, CheckResult):
        return [carried]
    expected, measured = expected[carried], measured[carried]
    weight = np.linalg.norm(expected[:, :3], axis=1)
    up = expected[:, :3] / weight[:, None]
    shares = np.einsum("nki,ni->nk", table.forces_B[carried], up) / weight[:, None]
    factor, sigma = scale_factor(_scalar(measured, up, weight), np.ones(len(up)))
    results = _contacts(table, carried, shares, robot, factor) or exchanged_contacts(table, robot)
    if results:
        return results
    return [_sum(factor, sigma)]


def _carrying(expected: Array, measured: Array, load: Array, known: Mask) -> Mask | CheckResult:
    """Return in which windows the contacts carry the robot, or what is wrong where they never do."""
    weight = np.linalg.norm(expected[:, :3], axis=1)
    with np.errstate(invalid="ignore"):
        carried: Mask = known & (load > HANGS * weight)
    if carried.sum() >= max(5, 0.05 * known.sum()):
        return carried
    if not load[known].any():
        said = "the wrenches of all contacts are exactly zero"
        remedy = "check the driver of the contact wrenches"
        return CheckResult("contact weight", "contact wrenches", Verdict.WRONG, 0.0, "", said, remedy)
    lever = np.array([1.0] * 3 + [1.0 / LEVER] * 3)
    m, e = measured[known] * lever, expected[known] * lever
    cosine = float(
        np.median(np.einsum("nv,nv->n", m, e) / np.linalg.norm(m, axis=1) / np.linalg.norm(e, axis=1))
    )
    factor = float(np.median(load[known] / weight[known]))
    said = f"the contacts carry {factor:.3g} times the weight of the description"
    if abs(cosine) < LIKE:
        return CheckResult("contact weight", "contact wrenches", Verdict.OK, factor, "", f"{said}: it hangs")
    remedy = "check the unit in the driver of the contact wrenches, expected N and Nm"
    return CheckResult("contact weight", "contact wrenches", Verdict.WRONG, factor, "", said, remedy)


def _scalar(measured: Array, up: Array, weight: Array) -> Array:
    along: Array = np.einsum("ni,ni->n", measured[:, :3], up) / weight
    return along


def _contacts(
    table: DataTable, known: Mask, shares: Array, robot: CheckedRobot, factor: float
) -> list[CheckResult]:
    """Return what is wrong with single contacts; nothing where all are wrong alike."""
    middle, top = np.median(shares, axis=0), np.quantile(shares, 0.9, axis=0)
    pulls = (middle < -PULL) | ((np.quantile(shares, 0.1, axis=0) < -4.0 * PULL) & (top < PULL))
    huge = top > HUGE
    results = []
    if pulls.any() and not (pulls.all() and len(pulls) > 1):
        for k in np.flatnonzero(pulls).tolist():
            said = f"the ground pulls it with {-100 * middle[k]:.3g} % of the weight in the median"
            remedy = "wrong sign? The wrench must be that of the ground on the robot; check wrench_frames"
            results.append(_result(robot, k, "contact wrench sign", float(middle[k]), said, remedy))
    if huge.any() and not (huge.all() and len(huge) > 1):
        for k in np.flatnonzero(huge).tolist():
            said = f"it carries {top[k]:.3g} times the weight"
            results.append(
                _result(robot, k, "contact wrench unit", float(top[k]), said, "unit? expected N, Nm")
            )
    if results or factor < 0.0 or len(robot.contacts) < 2:
        return results
    return _unsaid(table, known, shares, robot)


def _unsaid(table: DataTable, known: Mask, shares: Array, robot: CheckedRobot) -> list[CheckResult]:
    """Find contacts that report nothing while a force at them would balance the robot: zero, or kN."""
    missing = table.force[known][:, :6] - table.contact_force[known][:, :6]
    weight = np.linalg.norm(table.force[known][:, :3], axis=1)
    force = np.linalg.norm(missing[:, :3], axis=1)
    reach = POINT if table.point_contacts else SOLE
    results = []
    for k in range(len(robot.contacts)):
        silent = (np.abs(shares[:, k]) < QUIET) & (force > MISSING * weight)
        if silent.sum() < max(5, 0.1 * len(shares)):
            continue
        left = missing[silent, 3:] - np.cross(table.points_B[known][silent, k], missing[silent, :3])
        arm = float(np.median(np.linalg.norm(left, axis=1) / force[silent]))
        if arm < reach:
            share = float(np.median(force[silent] / weight[silent]))
            said = f"it reports next to nothing while {100 * share:.0f} % of the weight must rest on it"
            remedy = "zero, or another unit? Check its driver, expected N and Nm"
            results.append(_result(robot, k, "contact wrench unit", share, said, remedy))
    return results


def _sum(factor: float, sigma: float) -> CheckResult:
    said = f"the contacts carry {factor:.3g} times the weight of the description"
    verdict, remedy = Verdict.OK, ""
    if factor + 3.0 * sigma < 0.0:
        verdict = Verdict.WRONG
        remedy = "wrong sign? The wrench must be that of the ground on the robot; check wrench_frames"
    elif not 1.0 / WRONG_FACTOR < factor < WRONG_FACTOR:
        verdict = Verdict.WRONG if not 0.02 < factor < 0.4 else Verdict.WARN
        remedy = "check the unit (N), wrench_frames, and whether something else holds the robot"
    elif not 1.0 / WARN_FACTOR < factor < WARN_FACTOR:
        verdict = Verdict.WARN
        remedy = "check scale and zero of the force sensors, loads, and the masses of the description"
    return CheckResult("contact weight", "contact wrenches", verdict, factor, "", said, remedy)


def _result(robot: CheckedRobot, k: int, check: str, value: float, said: str, remedy: str) -> CheckResult:
    return CheckResult(check, f"{robot.contacts[k]}/wrench", Verdict.WRONG, value, "", said, remedy)
