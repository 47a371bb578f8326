"""Contact wrenches: time offset, signs and units, direction of their sum."""

import math
from functools import partial

import numpy as np

from inertial_estimation.bring_up.case import Case
from inertial_estimation.bring_up.delay_findings import delay_finding, lag_verdict
from inertial_estimation.bring_up.finding import Finding, cannot_tell, finding, plain
from inertial_estimation.bring_up.lag_search import Lag
from inertial_estimation.bring_up.streams import RobotStreams
from inertial_estimation.bring_up.time_offsets import wrench_lag
from inertial_estimation.data_checks.check_result import CheckResult, Verdict
from inertial_estimation.data_checks.wrench_checks import wrench_checks
from inertial_estimation.signals import Array

SUBJECT = "contact wrenches"
BALANCED = 0.85  # agreement after the shift; wrenches that a model estimates balance at any shift alike
LEANS_WARN = math.radians(5.0)  # of the sum of the contact forces against the force that the motion needs
LEANS_WRONG = math.radians(20.0)
CARRIED = 0.3  # share of the weight on the contacts, from which their sum has a direction
FEWEST = 20
LEAST = 0.1  # share of the windows, in which a contact reads least
JUDGED_WITH_AXES = "contact names"  # by `sensor_axes`, which compares an exchange with other errors
ZERO_WARN, ALIKE = 0.05, 0.3  # of the weight, that it reads then; of that, by which the sum is too large


def wrench_lag_findings(case: Case) -> tuple[list[Finding], Lag | None]:
    """Find how late the contact wrenches are against joints and IMU."""
    if not case.streams.wrenches or not case.setup.robot.floating_base:
        return [], None
    lag = wrench_lag(case.signals, case.setup)
    verdict = lag_verdict(lag, BALANCED)
    if lag is None or verdict is None:
        why = "the load hardly moves between the contacts, so nothing dates the wrenches"
        if lag is not None and lag.score < BALANCED:
            why = "the wrenches balance weight and motion too badly to date them"
        return [cannot_tell("wrench delay", SUBJECT, why)], lag
    found = delay_finding(
        "wrench delay",
        SUBJECT,
        lag,
        verdict,
        f"they come {lag.words} against joint states and IMU",
        parameter="inputs.wrench_delay",
        present_s=case.config.inputs.wrench_delay,
        inputs=[f"{name}/wrench" for name in case.streams.wrenches],
        also="; a filter in the sensor?",
    )
    return [found], lag


def wrench_findings(case: Case) -> list[Finding]:
    """Check signs, units and direction of the contact wrenches."""
    if not case.streams.wrenches or not case.setup.robot.floating_base:
        return []
    results = wrench_checks(case.signals.windows, case.robot)
    found = [_with_mend(result, case) for result in results if result.check != JUDGED_WITH_AXES]
    if not results:
        return [cannot_tell("contact weight", SUBJECT, "joints, IMU and all wrenches are not known together")]
    if any(item.wrong for item in found):
        return found
    return [*found, *_direction(case), *wrench_zeros(case)]


def _with_mend(result: CheckResult, case: Case) -> Finding:
    """Attach what corrects a sign or a unit."""
    contact = result.subject.removesuffix("/wrench")
    wanted = (contact,) if contact in case.streams.wrenches else tuple(case.streams.wrenches)
    if not result.failed or not result.value:
        return plain(result)
    factor = None
    if "sign" in result.remedy:
        factor = -1.0
    elif result.check == "contact wrench unit" and result.value > 100.0:
        factor = 1e-3
    elif result.check == "contact weight" and result.verdict is Verdict.WRONG:
        factor = 10.0 ** -round(math.log10(abs(result.value)))
    return (
        plain(result) if factor is None else Finding(result, partial(_scaled, contacts=wanted, factor=factor))
    )


def contact_lean(case: Case) -> float:
    """Return the angle between the sum of the contact forces and what the motion needs [rad]; NaN: unknown.

    Args:
        case: The recording.
    """
    windows = case.signals.windows
    expected, carried = windows.force[:, :3], windows.contact_force[:, :3]
    weight = 9.81 * case.setup.robot.total_mass
    known = np.isfinite(expected).all(axis=1) & np.isfinite(carried).all(axis=1)
    with np.errstate(invalid="ignore"):
        known &= np.linalg.norm(carried, axis=1) > CARRIED * weight
    if known.sum() < FEWEST:
        return math.nan
    a, b = np.median(expected[known], axis=0), np.median(carried[known], axis=0)
    cosine = float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))
    return math.acos(min(1.0, max(-1.0, cosine)))


def _direction(case: Case) -> list[Finding]:
    """Judge the direction of the sum of the contact forces."""
    angle = contact_lean(case)
    if math.isnan(angle):
        return []
    degrees = math.degrees(angle)
    said = f"the sum of the contact forces leans {degrees:.3g} deg against what gravity and motion need"
    if angle < LEANS_WARN:
        return [finding("contact wrench direction", SUBJECT, Verdict.OK, degrees, "deg", said)]
    verdict = Verdict.WRONG if angle > LEANS_WRONG else Verdict.WARN
    remedy = (
        "check wrench_frames, the zero of the force sensors and the mounting of the IMU (imu_frame); or are "
        "the wrenches estimates of a model?"
    )
    return [finding("contact wrench direction", SUBJECT, verdict, degrees, "deg", said, remedy)]


def wrench_zeros(case: Case) -> list[Finding]:
    """Find sensors that read a force while the other contacts carry the whole robot.

    Where a contact reads least, in a tenth of the windows, the sum of all must be too large by what it reads.
    """
    windows = case.signals.windows
    needed, forces_B = windows.force[:, :3], windows.forces_B
    known = np.isfinite(needed).all(axis=1) & np.isfinite(forces_B).all(axis=(1, 2))
    if forces_B.shape[1] < 2 or known.sum() < FEWEST:
        return []
    weight = np.linalg.norm(needed[known], axis=1)
    shares = np.einsum("nki,ni->nk", forces_B[known], needed[known]) / weight[:, None] ** 2
    total, found = shares.sum(axis=1), []
    for k, contact in enumerate(case.setup.contact_names):
        lifted = shares[:, k] <= np.quantile(shares[:, k], LEAST)
        own, excess = float(np.median(shares[lifted, k])), float(np.median(total[lifted])) - 1.0
        if abs(own) > ZERO_WARN and abs(excess - own) < ALIKE * abs(own):
            newtons = own * float(np.median(weight))
            said = f"it reads {newtons:.3g} N while the other contacts carry the whole robot"
            remedy = "tare the force sensor with the foot in the air"
            zero = np.median(windows.wrenches[known][lifted, k], axis=0)
            mend = partial(_tared, contact=contact, zero=zero)
            result = CheckResult(
                "contact wrench zero", f"{contact}/wrench", Verdict.WARN, newtons, "N", said, remedy
            )
            found.append(Finding(result, mend))
    return found


def _tared(streams: RobotStreams, contact: str, zero: Array) -> RobotStreams:
    return streams.changed_wrenches([contact], lambda values: values - zero)


def _scaled(streams: RobotStreams, contacts: tuple[str, ...], factor: float) -> RobotStreams:
    return streams.changed_wrenches(contacts, lambda values: factor * values)
