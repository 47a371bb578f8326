"""The order of inference: streams, times, signs and axes, masses; what is wrong is mended at once."""

from dataclasses import dataclass, field, replace

import numpy as np

from inertial_estimation.diagnosis.agreement import agreements, excessive_efforts
from inertial_estimation.diagnosis.finding import NO_FIX, Finding, Verdict, cannot_tell
from inertial_estimation.diagnosis.lags import (
    BALANCED,
    EFFORT,
    FORCES,
    KINEMATICS,
    VELOCITY,
    WRENCH,
    Dated,
    Lag,
    effort_lag,
    imu_lag,
    judged_lag,
    velocity_lag,
    wrench_lag,
)
from inertial_estimation.diagnosis.load_change import load_change
from inertial_estimation.diagnosis.masses import MassReport, mass_findings
from inertial_estimation.diagnosis.parts import limits
from inertial_estimation.diagnosis.search import WINDOWS, judged, search, something_else
from inertial_estimation.diagnosis.sensors import stream_findings, value_findings
from inertial_estimation.diagnosis.streams import RobotStreams
from inertial_estimation.diagnosis.table import STEP_S, Change, Robot, Signals, Table, spread
from inertial_estimation.models.robot_config import RobotGeometryConfig, RobotSetup
from inertial_estimation.signals import NANOSECONDS

FEWEST = 50  # times of 20 ms: 1 s of data
APART = 5  # times from one window of the forces to the next; smoothed, they hardly vary in between
MORE_TIMES = 1  # further searches for how late the IMU is


@dataclass(eq=False)
class Diagnosis:
    """All findings, and what the figures show."""

    findings: list[Finding]  # in the order of inference, in which errors are to be mended
    streams: RobotStreams  # the inputs as they are
    robot: Robot  # the robot
    recorded: Signals | None = None  # the signals as they are sent; None where there were too few
    mended: Table | None = None  # the same with everything mended that was found, and predictions
    # searches for time offsets, also those that determine none, by check
    lags: dict[str, Lag] = field(default_factory=dict)
    masses: MassReport | None = None  # what the forces say; None where they were not judged

    @property
    def duration_s(self) -> float:
        """Time between the first and the last joint state [s]."""
        times = self.streams.joints.times_ns
        return float(times[-1] - times[0]) / NANOSECONDS


def diagnose(streams: RobotStreams, setup: RobotSetup, config: RobotGeometryConfig) -> Diagnosis:
    """Check the data of a robot against its description."""
    robot = Robot(setup)
    values, cleaned = value_findings(streams, robot.names)
    diagnosis = Diagnosis([*stream_findings(streams, config.inputs.timeout), *values], streams, robot)
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


def _examine(diagnosis: Diagnosis, signals: Signals, config: RobotGeometryConfig) -> None:
    """Find and mend delays, signs, units and axes, then delays that need these; then judge the masses."""
    robot, found = diagnosis.robot, diagnosis.findings
    late, signals = _imu_delay(diagnosis, signals, config)
    wrong, signals, doubt = search(signals, robot, config)
    found += wrong
    table = robot.table(signals)
    change = load_change(table.at(np.arange(0, table.size, APART)))
    if change is not None:
        found.append(change[0])
        table = table.changed(change[1])
    others, table = _other_delays(diagnosis, table, config, late)
    final = table.at(spread(table.size, WINDOWS))
    parts = judged(final)
    found += agreements(final, parts, found)
    found += others
    excess = [] if any("effort" in one.check for one in wrong) else excessive_efforts(final, parts)
    found += excess
    found += something_else(final, parts)
    diagnosis.mended = table
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
    said, diagnosis.masses = mass_findings(table.at(np.arange(0, table.size, APART)), config)
    already = {one.subject for one in found if one.failed and one.verdict is Verdict.WRONG}
    found += [one for one in said if not (one.check == "IMU mounting" and one.subject in already)]


def _dated(
    diagnosis: Diagnosis, stream: Dated, lag: Lag | None, config: RobotGeometryConfig
) -> tuple[Finding, Change | None]:
    """Judge a time offset, and keep its search for the figures."""
    if lag is not None:
        diagnosis.lags[stream.check] = lag
    return judged_lag(stream, lag, config.inputs)


def _imu_delay(
    diagnosis: Diagnosis, signals: Signals, config: RobotGeometryConfig
) -> tuple[Finding | None, Signals]:
    """Judge how late the IMU is by the kinematics; return the finding if it is not determined."""
    if diagnosis.streams.imu is None or not diagnosis.robot.n_base:
        return None, signals
    table = diagnosis.robot.table(signals)
    beyond = limits(table)
    stream, lag = (KINEMATICS, None) if beyond is None or beyond.log < 0.0 else imu_lag(table)
    finding, change = _dated(diagnosis, stream, lag, config)
    if finding.verdict is Verdict.UNKNOWN:
        return finding, signals
    diagnosis.findings.append(finding)
    return None, signals if change is None else change.of(signals)


def _other_delays(
    diagnosis: Diagnosis, table: Table, config: RobotGeometryConfig, undated: Finding | None
) -> tuple[list[Finding], Table]:
    """Judge how late wrenches, efforts and velocities are.

    Where the kinematics do not date the IMU, but efforts agree in time with the contact wrenches and these do
    not with weight and motion, it is the IMU that is late.
    """
    found, changes = list[Finding](), list[Change | None]()
    effort = effort_lag(table)
    said, late_efforts = _dated(diagnosis, EFFORT, effort, config)
    if diagnosis.streams.wrenches and diagnosis.robot.n_base:
        lag = wrench_lag(table)
        wrench, change = _dated(diagnosis, WRENCH, lag, config)
        together = said.verdict is Verdict.OK and effort is not None and effort.score > BALANCED
        if undated is not None and wrench.failed and lag is not None and together:
            undated, change = _dated(diagnosis, FORCES, _by_forces(table, lag), config)
            wrench = replace(
                wrench,
                verdict=Verdict.OK,
                sentence="they agree in time with the efforts",
                remedy="",
                fix=NO_FIX,
            )
        found.append(wrench)
        changes.append(change)
    found += [undated] if undated is not None else []
    if np.isfinite(table.signals.tau).any():
        found.append(said)
        changes.append(late_efforts)
    velocity, change = _dated(diagnosis, VELOCITY, velocity_lag(table), config)
    if velocity.verdict is not Verdict.UNKNOWN:
        found.append(velocity)
        changes.append(change)
    for one in changes:
        table = table if one is None else table.changed(one)
    return found, table


def _by_forces(table: Table, lag: Lag) -> Lag:
    """Return how late the IMU is by what the contact wrenches carry; the first search leaves a little."""
    seconds = -lag.seconds
    for _ in range(MORE_TIMES):
        again = wrench_lag(table.changed(Change(later=dict.fromkeys(FORCES.arrays, seconds))))
        seconds -= 0.0 if again is None or again.score < lag.score else again.seconds
    return replace(lag, seconds=seconds, score=1.0, unshifted=0.0)
