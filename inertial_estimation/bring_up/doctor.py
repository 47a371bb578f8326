"""The order of inference: each check relies on what those before it found right, or mended.

Time comes first, because everything compares streams; then units and signs of each stream, then the mounting
of the IMU, then contact wrenches and efforts, and masses last. What is found wrong is mended in the streams
where it can be, so that one error is named once and does not mislead the later checks. Where it cannot be
mended, the checks that rely on it are left out, and say so.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from inertial_estimation.bring_up.case import Case
from inertial_estimation.bring_up.cause import CauseKind
from inertial_estimation.bring_up.cause_words import (
    check_of,
    remedy_of,
    sentence_of,
    tilt_of,
    value_of,
)
from inertial_estimation.bring_up.delay_findings import lag_verdict
from inertial_estimation.bring_up.finding import Finding, cannot_tell, finding, plain
from inertial_estimation.bring_up.force_rows import force_rows
from inertial_estimation.bring_up.held_findings import HeldFindings
from inertial_estimation.bring_up.imu_findings import (
    accelerometer_findings,
    gyroscope_lag_findings,
    mounting_findings,
)
from inertial_estimation.bring_up.inertia_findings import CERTAIN, InertiaReport, inertia_findings, possible
from inertial_estimation.bring_up.inertia_hypotheses import fit_forces
from inertial_estimation.bring_up.joint_findings import position_findings, velocity_findings
from inertial_estimation.bring_up.joint_hypotheses import joint_hypotheses
from inertial_estimation.bring_up.lag_search import Lag
from inertial_estimation.bring_up.load_change import load_change_findings
from inertial_estimation.bring_up.sensor_axes import sensor_axes_findings
from inertial_estimation.bring_up.sensor_checks import sensor_checks
from inertial_estimation.bring_up.stamp_findings import stream_findings
from inertial_estimation.bring_up.streams import RobotStreams
from inertial_estimation.bring_up.time_offsets import effort_lag
from inertial_estimation.bring_up.wrench_findings import wrench_findings, wrench_lag_findings
from inertial_estimation.data_checks.check_result import CheckResult, Verdict
from inertial_estimation.data_checks.effort_checks import effort_checks, telling_joints
from inertial_estimation.models.geometry_slopes import GravityTorques
from inertial_estimation.models.robot_config import RobotConfig, RobotSetup
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import NANOSECONDS, Array

COMMON = (
    (-1.0, "effort sign", "the sign of all efforts is changed"),
    (1e-3, "effort unit", "all efforts are in mNm"),
    (1e3, "effort unit", "all efforts are in kNm"),
    (-1e-3, "effort unit", "all efforts are in mNm and their sign is changed"),
    (-1e3, "effort unit", "all efforts are in kNm and their sign is changed"),
)
FEWEST_COMMON, LEFT = 2, 0.2  # joints that fail, and share of them that may still fail after a common factor
POWER_OF_TEN = 0.5  # decades from a unit (1e3, 1e-3) within which it is that unit


def effort_findings(case: Case) -> tuple[list[Finding], Lag | None]:
    """Check the efforts against the torques that the description predicts, then how late they are."""
    windows = case.signals.windows
    if not np.isfinite(windows.tau).any():
        return [cannot_tell("effort", "joint_states", "no efforts are sent")], None
    results = effort_checks(windows, case.robot)
    if not results:
        why = (
            "no predicted torque stands out from friction, or the contact forces are unknown: move the joints"
        )
        return [cannot_tell("effort", "joint_states", why)], None
    common = _common_factor(results, case)
    if common is not None:
        return [common], None
    found = [_with_gain(result, case) for result in results]
    if any(item.wrong and item.result.check != "effort zero" for item in found):
        return found, None
    telling = np.isin(case.robot.names, telling_joints(windows, case.robot))
    lag = effort_lag(case.signals, telling)
    verdict = lag_verdict(lag)
    if lag is None or verdict is None:
        why = "the torques change too slowly, or agree too little with the prediction, to date them"
        return [*found, cannot_tell("effort delay", "joint_states", why)], lag
    said = f"they come {lag.words} against the torques of the motion"
    value = 1e3 * lag.seconds
    if verdict is Verdict.OK:
        return [*found, finding("effort delay", "joint_states", verdict, value, "ms", said)], lag
    remedy = "a filter, or commanded instead of measured torques? Send both of one time in one message"
    mend = partial(RobotStreams.advanced_joints, part=2, seconds=lag.seconds)
    late = finding("effort delay", "joint_states", verdict, value, "ms", said, remedy, mend=mend, exact=False)
    return [*found, late], lag


def _common_factor(results: list[CheckResult], case: Case) -> Finding | None:
    """Return the finding that all efforts have another sign or unit, where that mends several joints."""
    before = [result for result in results if result.failed]
    if len(before) < FEWEST_COMMON:
        return None
    windows = case.signals.windows
    for factor, check, said in COMMON:
        after = effort_checks(replace(windows, tau=windows.tau * factor), case.robot)
        if len([result for result in after if result.failed]) <= LEFT * len(before):
            sentence = f"{len(before)} joints do not measure the predicted torque, and do if {said}"
            gains = dict.fromkeys(case.robot.names, factor)
            remedy = "correct the driver of joint_states, or set drive_gains of all joints"
            result = CheckResult(check, "joint_states", Verdict.WRONG, factor, "", sentence, remedy)
            mend = partial(RobotStreams.scaled_joints, part=2, factors=np.full(len(gains), factor))
            return Finding(result, mend, drive_gains=gains)
    return None


def _with_gain(result: CheckResult, case: Case) -> Finding:
    """Attach the drive gain that corrects a sign or a unit; a zero may be explained by any other cause."""
    if result.check == "effort zero":
        return Finding(result, explained_by=lambda _cause: True)
    if not result.failed or result.subject not in case.robot.names:
        return plain(result)
    gain, exact = None, True
    if result.check == "effort sign":
        gain = -1.0
    elif (
        result.check == "effort unit"
        and result.value
        and np.isfinite(result.value)
        and "limit" not in result.sentence
    ):
        decades = np.log10(abs(result.value))
        thousand = 3.0 * round(decades / 3.0)
        close = abs(decades - thousand) < POWER_OF_TEN and thousand != 0.0
        gain, exact = (float(10.0**-thousand), True) if close else (1.0 / result.value, False)
    if gain is None:
        return plain(result)
    mend = partial(
        RobotStreams.scaled_joint, part=2, joint=case.robot.names.index(result.subject), factor=gain
    )
    return Finding(result, mend, drive_gains={result.subject: gain}, exact=exact)


EXPLAINS = 0.5  # of what the torques leave unexplained, at least
AHEAD = 1.1  # times the evidence of every other cause, a wrong sign of all efforts among them
WRONG = 5.0  # smaller tilts [deg] are compared with masses, as they do not mislead the checks of efforts


def base_mounting_findings(case: Case) -> list[Finding]:
    """Look for a gravity that points elsewhere in a fixed base, before the efforts are judged.

    Args:
        case: The recording, with correct positions.

    Returns:
        The finding, mended by the torques of the other gravity; nothing where the base is as described, or
        where a sign or a scale of the efforts explains them as well.
    """
    robot = case.setup.robot
    rows = None if robot.floating_base else force_rows(case.signals, case.setup)
    if rows is None:
        return []
    fit = fit_forces(rows, robot)
    mounting = next(cause for cause in fit.causes if cause.kind is CauseKind.MOUNTING)
    others = max(cause.evidence for cause in fit.causes if cause is not mounting)
    if not possible(mounting, fit) or mounting.evidence < max(CERTAIN, AHEAD * others):
        return []
    angle, _gravity = tilt_of(mounting)
    if angle < WRONG or mounting.explained < EXPLAINS:
        return []
    share = 100 * mounting.explained
    said = f"{sentence_of(mounting, rows)} explains {share:.0f} % of what the torques leave unexplained"
    mend = partial(_upright, robot=robot, change=mounting.amplitude)
    check, value, remedy = check_of(mounting), value_of(mounting), remedy_of(mounting)
    return [finding(*check, Verdict.WRONG, *value, said, remedy, mend=mend)]


def _upright(streams: RobotStreams, robot: RobotModel, change: Array) -> RobotStreams:
    """Take the torques of a change of gravity [m/s^2] from the efforts."""
    n, columns = streams.n_joints, GravityTorques(robot)
    values = streams.joints.values.copy()
    known = np.flatnonzero(np.isfinite(values[:, :n]).all(axis=1))
    for i in known.tolist():
        values[i, 2 * n :] -= columns.at(values[i, :n]) @ change
    return streams.with_joints(values)


FEWEST_WINDOWS = 20  # 2 s of data
OF_MASSES = {"link mass", "link centre of mass", "masses", "effort scale", "contact wrench scale", "friction"}
OF_EFFORTS = {"effort sign", "effort unit", "effort order", "effort zero"}
NOT_MENDED = ", which is wrong and cannot be corrected with certainty"


@dataclass(eq=False)
class Diagnosis:
    """All findings, and what the figures show.

    Attributes:
        findings: In the order of inference, in which errors are to be mended.
        case: The recording as it is.
        mended: The recording with all mends.
        lags: Searches for time offsets, also those that determine none, by check.
        inertia: What the forces say; None where they were not judged.
        examined: Whether there were enough data for more than names and stamps.
    """

    findings: list[Finding]
    case: Case
    mended: Case
    lags: dict[str, Lag] = field(default_factory=dict)
    inertia: InertiaReport | None = None
    examined: bool = False

    @property
    def duration_s(self) -> float:
        """Time between the first and the last joint state [s]."""
        stamps = self.case.streams.joints.stamps_ns
        return float(stamps[-1] - stamps[0]) / NANOSECONDS

    @property
    def results(self) -> list[CheckResult]:
        """The results of all findings."""
        return [item.result for item in self.findings]


def diagnose(streams: RobotStreams, setup: RobotSetup, config: RobotConfig) -> Diagnosis:
    """Check a recording.

    Args:
        streams: Its inputs.
        setup: The robot.
        config: Its parameters.

    Returns:
        The findings.
    """
    case = Case(streams, setup, config)
    diagnosis = Diagnosis([], case, case)
    _add(diagnosis, stream_findings(streams, config.inputs.max_gap))
    _add(diagnosis, sensor_checks(diagnosis.mended.streams, setup.robot.joint_names))
    if streams.missing:
        why = "joints of the description are missing in the joint states"
        diagnosis.findings.append(cannot_tell("all other checks", "recording", why))
        return diagnosis
    with np.errstate(all="ignore"):  # numbers out of range are judged, they are no warnings of numpy
        if diagnosis.mended.signals.windows.size < FEWEST_WINDOWS:
            why = f"fewer than {FEWEST_WINDOWS} windows of 0.1 s have joint states without gaps"
            diagnosis.findings.append(cannot_tell("all other checks", "recording", why))
            return diagnosis
        diagnosis.examined = True
        _examine(diagnosis)
    return diagnosis


def _examine(diagnosis: Diagnosis) -> None:
    """Execute the checks; where several inputs contradict the description, look for one joint that is why."""
    begin, before = len(diagnosis.findings), diagnosis.mended
    _execute(diagnosis)
    found = diagnosis.findings[begin:]
    if _spoiled(diagnosis):
        return
    suspected = any(item.wrong and item.result.check in OF_EFFORTS for item in found)
    why = joint_hypotheses(before, suspected=suspected)
    if not any(item.wrong for item in why):
        diagnosis.findings += why
        return
    other = Diagnosis([], diagnosis.case, before, examined=True)
    _add(other, why)
    _execute(other)
    fewer = _count(other.findings) <= max(_count(found), 1)
    nothing_new = _failed(other.findings) - _failed(why) <= _failed(found)
    if fewer or (nothing_new and not suspected and _remains(why, diagnosis.mended, found)):
        diagnosis.findings[begin:] = other.findings
        diagnosis.mended, diagnosis.lags, diagnosis.inertia = other.mended, other.lags, other.inertia


def _spoiled(diagnosis: Diagnosis) -> list[CheckResult]:
    """Return the sensors that say nothing, or always the same: then neither joints nor masses are judged."""
    found = [item.result for item in diagnosis.findings if item.wrong and item.mend is None]
    return [result for result in found if result.check in ("stuck", "silent")]


def _remains(why: list[Finding], mended: Case, found: list[Finding]) -> bool:
    """Return whether a joint is to blame also where all that was found otherwise has been mended.

    An error beside it that cannot be mended, such as a silent accelerometer, makes every assumption about the
    joints a fit to wrong data.
    """
    if any(item.wrong and item.mend is None for item in found):
        return False
    remaining = [item.result for item in joint_hypotheses(mended) if item.wrong]
    return [(one.check, one.subject) for one in remaining] == [
        (item.result.check, item.result.subject) for item in why if item.wrong
    ]


def _count(found: list[Finding]) -> int:
    """Return how many checks failed; masses are left out, as they are not judged after some failures."""
    return sum(item.result.failed and item.result.check not in OF_MASSES for item in found)


def _failed(found: list[Finding]) -> set[tuple[str, str]]:
    """Return which checks failed, of what, as `_count` does."""
    failed = [item.result for item in found if item.result.failed]
    return {(result.check, result.subject) for result in failed if result.check not in OF_MASSES}


def _execute(diagnosis: Diagnosis) -> None:
    """Execute the checks in their order, until one finds what it cannot mend."""
    stages: list[tuple[str, Callable[[Case], list[Finding]]]] = [
        ("load change", load_change_findings),
        ("joint positions", position_findings),
        ("joint velocities", velocity_findings),
        ("accelerometer", accelerometer_findings),
        ("IMU delay", lambda case: _with_lag(diagnosis, "IMU delay", gyroscope_lag_findings(case))),
        ("IMU mounting", mounting_findings),
        ("sensor axes", sensor_axes_findings),
        ("wrench signs and units", wrench_findings),
        ("wrench delay", lambda case: _with_lag(diagnosis, "wrench delay", wrench_lag_findings(case))),
        ("base mounting", base_mounting_findings),
        ("efforts", lambda case: _with_lag(diagnosis, "effort delay", effort_findings(case))),
    ]
    spoiled = _spoiled(diagnosis)
    blocked, doubtful = "", f"the {spoiled[0].check} value of {spoiled[0].subject}" if spoiled else ""
    held = HeldFindings()
    for name, stage in stages:
        if blocked or (doubtful and name in ("base mounting", "efforts")):
            why = f"it relies on {blocked or doubtful}{NOT_MENDED}"
            diagnosis.findings.append(cannot_tell(name, "recording", why))
            continue
        found = held.sift(stage(held.mended(diagnosis.mended)))
        _add(diagnosis, found)
        rough = [item.result for item in found if _is_rough(item)]
        if not rough or name == "joint velocities":
            continue  # later checks take the slopes of the positions
        doubtful = doubtful or f"the {rough[0].check} of {rough[0].subject}"
        if any(item.wrong and item.mend is None for item in found):
            blocked = doubtful
    if doubtful:
        why = f"they rely on {doubtful}{NOT_MENDED}"
        _add(diagnosis, [*held.unexplained(), cannot_tell("masses", "description", why)])
        return
    _judge_masses(diagnosis, held)


def _judge_masses(diagnosis: Diagnosis, held: HeldFindings) -> None:
    """Compare what may be wrong about masses, sensors and geometry, and say what these do not explain."""
    found, diagnosis.inertia = inertia_findings(diagnosis.mended)
    report = diagnosis.inertia
    left = held.unexplained([] if report is None else [group[0] for group in report.named])
    _add(diagnosis, left)
    if any(item.mend is not None for item in left):
        found, diagnosis.inertia = inertia_findings(diagnosis.mended)
    said = {(item.result.check, item.result.subject) for item in left}
    _add(diagnosis, [item for item in found if (item.result.check, item.result.subject) not in said])


def _is_rough(item: Finding) -> bool:
    """Return whether masses cannot be judged after a finding."""
    if item.result.check in ("contact weight", "contact wrench direction"):
        return item.result.failed and item.mend is None  # or something else holds the robot
    return item.wrong and (item.mend is None or not item.exact)


def _with_lag(diagnosis: Diagnosis, check: str, found: tuple[list[Finding], Lag | None]) -> list[Finding]:
    findings, lag = found
    if lag is not None:
        diagnosis.lags[check] = lag
    return findings


def _add(diagnosis: Diagnosis, found: list[Finding]) -> None:
    """Keep findings, and mend the streams by them."""
    diagnosis.findings += found
    streams = diagnosis.mended.streams
    for item in found:
        if item.mend is not None:
            streams = item.mend(streams)
    if streams is not diagnosis.mended.streams:
        diagnosis.mended = diagnosis.mended.mended(streams)
