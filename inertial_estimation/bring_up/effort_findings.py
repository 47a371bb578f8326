"""Joint efforts: signs, units, order, and how late they are against the motion."""

from dataclasses import replace
from functools import partial

import numpy as np

from inertial_estimation.bring_up.case import Case
from inertial_estimation.bring_up.delay_findings import lag_verdict
from inertial_estimation.bring_up.finding import Finding, cannot_tell, finding, plain
from inertial_estimation.bring_up.lag_search import Lag
from inertial_estimation.bring_up.streams import RobotStreams
from inertial_estimation.bring_up.time_offsets import effort_lag
from inertial_estimation.data_checks.check_result import CheckResult, Verdict
from inertial_estimation.data_checks.effort_checks import effort_checks, telling_joints

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
