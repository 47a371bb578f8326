"""Joint positions and velocities: units, turns, signs, order, and how late velocities are."""

import math
from functools import partial

import numpy as np

from inertial_estimation.bring_up.case import Case
from inertial_estimation.bring_up.delay_findings import lag_verdict
from inertial_estimation.bring_up.finding import Finding, cannot_tell, finding, plain
from inertial_estimation.bring_up.streams import RobotStreams
from inertial_estimation.bring_up.time_offsets import velocity_lag
from inertial_estimation.data_checks.check_result import Verdict
from inertial_estimation.data_checks.position_checks import position_checks, turns_off, velocity_checks
from inertial_estimation.spatial.vectors import DEGREES

IN_DEGREES = 0.5  # share of the joints outside their limits that degrees explain, for all to be in degrees


def position_findings(case: Case) -> list[Finding]:
    """Check positions against the limits; turns are mended by an offset, degrees and signs by a factor."""
    windows = case.signals.windows
    results = position_checks(windows, case.robot)
    found = []
    for result in results:
        turns = turns_off(windows, case.robot, result.subject) if "turn(s)" in result.remedy else 0
        if turns:
            offset = -2.0 * math.pi * turns
            mend = partial(_offset, joint=case.robot.names.index(result.subject), offset=offset)
            found.append(Finding(result, mend, joint_offsets={result.subject: offset}))
        elif result.remedy.startswith("degrees"):
            joint = case.robot.names.index(result.subject)
            mend = partial(RobotStreams.scaled_joint, part=0, joint=joint, factor=1.0 / DEGREES)
            found.append(Finding(result, mend))
        elif result.check == "joint sign":
            mend = partial(RobotStreams.mirrored_joint, joint=case.robot.names.index(result.subject))
            found.append(Finding(result, mend, exact=False))
        else:
            found.append(plain(result))
    return _all_degrees(found, case)


def velocity_findings(case: Case) -> list[Finding]:
    """Check velocities against the slopes of the positions: sign, unit, order, delay."""
    found = [plain(result) for result in velocity_checks(case.signals.windows, case.robot)]
    if not np.isfinite(case.signals.table.v).any() or not np.nan_to_num(case.signals.table.v).any():
        return [
            cannot_tell(
                "joint velocities", "joint_states", "none are sent; the nodes derive them from the positions"
            )
        ]
    if not found:
        return [
            cannot_tell(
                "joint velocities", "joint_states", "no joint moves enough to compare them with the positions"
            )
        ]
    if any(item.wrong for item in found):
        return found
    lag = velocity_lag(case.signals)
    verdict = lag_verdict(lag)
    if lag is None or verdict is None:
        return found
    said = f"they come {lag.words} against the slopes of the positions"
    remedy = ""
    parameters: dict[str, str] = {}
    if verdict is not Verdict.OK:
        remedy = "a filter in the drive? Set inputs.joint_velocity to 'derived', or shorten the filter"
        parameters = {"inputs.joint_velocity": "derived"}
    value = 1e3 * lag.seconds
    return [
        *found,
        finding("velocity delay", "joint_states", verdict, value, "ms", said, remedy, parameters=parameters),
    ]


def _all_degrees(found: list[Finding], case: Case) -> list[Finding]:
    """Replace many joints in degrees by one finding about all: a driver sends all of them alike."""
    failed = [item for item in found if item.result.failed]
    degrees = [item for item in failed if item.result.remedy.startswith("degrees")]
    if len(degrees) < 2 or len(degrees) < IN_DEGREES * len(failed):
        return found
    worst = max(item.result.value for item in degrees)
    count = f"{len(degrees)} of {len(case.robot.names)}"
    said = f"{count} joints are outside their limits, and inside them if they are degrees"
    remedy = "degrees? The driver must send radians"
    return [
        finding(
            "joint positions", "joint_states", Verdict.WRONG, worst, "rad", said, remedy, mend=_all_radians
        )
    ]


def _all_radians(streams: RobotStreams) -> RobotStreams:
    return streams.scaled_joints(0, np.full(streams.n_joints, 1.0 / DEGREES))


def _offset(streams: RobotStreams, joint: int, offset: float) -> RobotStreams:
    values = streams.joints.values.copy()
    values[:, joint] += offset
    return streams.with_joints(values)
