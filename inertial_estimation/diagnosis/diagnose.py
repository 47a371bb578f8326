"""The order of inference: streams, times, signs and axes, then masses; what is wrong is mended before what follows."""

import math
from dataclasses import dataclass, field, replace

import numpy as np

from inertial_estimation.diagnosis import lags
from inertial_estimation.diagnosis.agreement import agreements, excessive_efforts
from inertial_estimation.diagnosis.finding import Finding, Fix, Verdict, cannot_tell
from inertial_estimation.diagnosis.lags import Lag
from inertial_estimation.diagnosis.load_change import load_change
from inertial_estimation.diagnosis.masses import MassReport, mass_findings
from inertial_estimation.diagnosis.search import WINDOWS, judged, search, something_else
from inertial_estimation.diagnosis.sensors import stream_findings, value_findings
from inertial_estimation.diagnosis.streams import RobotStreams
from inertial_estimation.diagnosis.parts import limits
from inertial_estimation.diagnosis.table import STEP_S, Change, Robot, Signals, Table, spread
from inertial_estimation.models.robot_config import RobotConfig, RobotSetup
from inertial_estimation.signals import NANOSECONDS

FEWEST = 100  # times of 20 ms: 2 s of data
APART = 5  # times from one window of the forces to the next; smoothed, they hardly vary in between
MORE_TIMES = 2  # searches for how late the IMU is; the first leaves a little


@dataclass(eq=False)
class Diagnosis:
    """All findings, and what the figures show.

    Attributes:
        findings: In the order of inference, in which errors are to be mended.
        streams: The inputs as they are.
        robot: The robot.
        recorded: The signals as they are; None where there were too few.
        mended: The signals with everything mended that was found.
        lags: Searches for time offsets, also those that determine none, by check.
        masses: What the forces say; None where they were not judged.
    """

    findings: list[Finding]
    streams: RobotStreams
    robot: Robot
    recorded: Signals | None = None
    mended: Signals | None = None
    lags: dict[str, Lag] = field(default_factory=dict)
    masses: MassReport | None = None

    @property
    def duration_s(self) -> float:
        """Time between the first and the last joint state [s]."""
        times = self.streams.joints.times_ns
        return float(times[-1] - times[0]) / NANOSECONDS


def diagnose(streams: RobotStreams, setup: RobotSetup, config: RobotConfig) -> Diagnosis:
    """Check the data of a robot against its description.

    Args:
        streams: Its inputs.
        setup: The robot.
        config: Its parameters.

    Returns:
        The findings.
    """
    robot = Robot(setup)
    values, cleaned = value_findings(streams, robot.names)
    diagnosis = Diagnosis([*stream_findings(streams, config.inputs.max_gap), *values], streams, robot)
    if streams.missing:
        why = "joints of the description are missing in the joint states"
        diagnosis.findings.append(cannot_tell("all other checks", "recording", why))
        return diagnosis
    with np.errstate(all="ignore"):  # numbers out of range are judged, they are no warnings of numpy
        signals = Signals.of(cleaned, setup)
        if signals.size < FEWEST:
            why = f"fewer than {FEWEST * STEP_S:g} s of joint states without gaps"
            diagnosis.findings.append(cannot_tell("all other checks", "recording", why))
            return diagnosis
        diagnosis.recorded = signals
        _examine(diagnosis, signals, config)
    return diagnosis


def _examine(diagnosis: Diagnosis, signals: Signals, config: RobotConfig) -> None:
    """Find and mend delays, then signs, units and axes, then delays that need these, then judge the masses."""
    robot, found = diagnosis.robot, diagnosis.findings
    late, signals = _imu_delay(diagnosis, signals, config)
    wrong, signals, doubt = search(signals, robot, config)
    found += wrong
    change = load_change(robot.table(signals.at(np.arange(0, signals.size, APART))))
    if change is not None:
        found.append(change[0])
        signals = change[1].of(signals)
    others, signals = _other_delays(diagnosis, signals, config, late)
    final = robot.table(signals.at(spread(signals.size, WINDOWS)))
    parts = judged(final)
    found += agreements(final, parts, [*wrong, *found])
    found += others
    excess = [] if any("effort" in one.check for one in wrong) else excessive_efforts(final, parts)
    found += excess
    found += something_else(final, parts)
    diagnosis.mended = signals
    silent = [
        one
        for one in found
        if one.check == "silent" or (one.check == "accelerometer size" and one.value < 0.5)
    ]
    spoiled = [f"{one.check} of {one.subject}" for one in silent]
    spoiled += [doubt] if doubt else [f"{one.check} of {one.subject}" for one in excess]
    if spoiled:
        found.append(
            cannot_tell("masses", "description", f"they rely on what cannot be mended exactly: {spoiled[0]}")
        )
        return
    said, diagnosis.masses = mass_findings(robot.table(signals.at(np.arange(0, signals.size, APART))), config)
    already = {one.subject for one in found if one.failed and one.verdict is Verdict.WRONG}
    found += [one for one in said if not (one.check == "IMU mounting" and one.subject in already)]


def _keep(diagnosis: Diagnosis, finding: Finding, lag: Lag | None) -> None:
    diagnosis.findings.append(finding)
    if lag is not None:
        diagnosis.lags[finding.check] = lag


def _imu_delay(diagnosis: Diagnosis, signals: Signals, config: RobotConfig) -> tuple[Finding | None, Signals]:
    """Judge how late the IMU is by the kinematics; return the finding if it is not determined."""
    if diagnosis.streams.imu is None or not diagnosis.robot.n_base:
        return None, signals
    table = diagnosis.robot.table(signals)
    beyond = limits(table)
    if beyond is not None and beyond.log < 0.0:
        return cannot_tell("IMU delay", "imu/data", "the joint positions are wrong"), signals
    finding, lag, change = lags.imu_offset(table, config.inputs)
    if finding.verdict is Verdict.UNKNOWN:
        if lag is not None:
            diagnosis.lags[finding.check] = lag
        return finding, signals
    _keep(diagnosis, finding, lag)
    return None, signals if change is None else change.of(signals)


def _other_delays(
    diagnosis: Diagnosis, signals: Signals, config: RobotConfig, undated: Finding | None
) -> tuple[list[Finding], Signals]:
    """Judge how late wrenches, efforts and velocities are.

    Where the kinematics do not date the IMU, but efforts agree in time with the contact wrenches and these do not
    with weight and motion, it is the IMU that is late.
    """
    robot, found, table = diagnosis.robot, [], diagnosis.robot.table(signals)
    effort, effort_lag, effort_change = lags.effort_offset(table)
    if diagnosis.streams.wrenches and robot.n_base:
        wrench, lag, change = lags.wrench_offset(table, config.inputs)
        together = (
            effort_lag is not None and effort.verdict is Verdict.OK and effort_lag.score > lags.BALANCED
        )
        if undated is not None and wrench.failed and lag is not None and together:
            imu, signals = _by_forces(table, lag, config)
            found.append(imu)
            undated, wrench = (
                None,
                replace(
                    wrench,
                    verdict=Verdict.OK,
                    sentence="they agree in time with the efforts",
                    remedy="",
                    fix=Fix(),
                ),
            )
        elif change is not None:
            signals = change.of(signals)
        if lag is not None:
            diagnosis.lags[wrench.check] = lag
        found.append(wrench)
    if undated is not None:
        found.append(undated)
    if np.isfinite(signals.tau).any():
        found.append(effort)
        if effort_lag is not None:
            diagnosis.lags[effort.check] = effort_lag
        signals = signals if effort_change is None else effort_change.of(signals)
    velocity, lag, change = lags.velocity_offset(table)
    if velocity.verdict is not Verdict.UNKNOWN:
        found.append(velocity)
        if lag is not None:
            diagnosis.lags[velocity.check] = lag
    return found, signals if change is None else change.of(signals)


def _by_forces(table: Table, lag: Lag, config: RobotConfig) -> tuple[Finding, Signals]:
    """Return how late the IMU is by what the contact wrenches carry, and the signals mended."""
    signals, seconds = table.signals, 0.0
    for _ in range(MORE_TIMES):
        seconds -= lag.seconds
        signals = Change(later=dict.fromkeys(("f", "w", "wd"), seconds)).of(table.signals)
        again = lags.wrench_lag(table.robot.table(signals))
        if again is None or math.isnan(again.seconds):
            break
        lag = again
    return lags.imu_by_forces(seconds, lag.sigma, config.inputs), signals
