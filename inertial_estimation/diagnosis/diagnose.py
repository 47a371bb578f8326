"""The order of inference: streams, sensors and loads, masses; what is wrong is mended at once."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from inertial_estimation.diagnosis.agreement import agreements, excessive_efforts
from inertial_estimation.diagnosis.delays import Delay, delay_findings
from inertial_estimation.diagnosis.finding import Finding, cannot_tell
from inertial_estimation.diagnosis.masses import MassReport, mass_findings
from inertial_estimation.diagnosis.parts import judged
from inertial_estimation.diagnosis.search import WINDOWS, search, something_else
from inertial_estimation.diagnosis.sensors import stream_findings, value_findings
from inertial_estimation.diagnosis.table import STEP_S, Robot, Signals, Table, spread
from inertial_estimation.inputs.config import RobotGeometryConfig
from inertial_estimation.inputs.robot_streams import RobotStreams
from inertial_estimation.models.robot_config import RobotSetup
from inertial_estimation.signals import NANOSECONDS

FEWEST = 50  # times of 20 ms: 1 s of data
REFINED = "joint offset", "IMU mounting"  # of which the forces may find a little more
APART = 5  # times from one window of the forces to the next; smoothed, they hardly vary in between


@dataclass(eq=False)
class Diagnosis:
    """All findings, and what the figures show."""

    findings: list[Finding]  # in the order of inference, in which errors are to be mended
    streams: RobotStreams  # the inputs as they are
    robot: Robot  # the robot
    recorded: Signals | None = None  # the signals as they are sent; None where there were too few
    corrected: Signals | None = None  # the same with everything mended that was found
    delays: dict[str, Delay] = field(default_factory=dict)  # what is left of them in the mended signals
    masses: MassReport | None = None  # what the forces say; None where they were not judged

    @cached_property
    def mended(self) -> Table | None:
        """The corrected signals with predictions at all their times."""
        return None if self.corrected is None else self.robot.table(self.corrected)

    @property
    def duration_s(self) -> float:
        """Time between the first and the last joint state [s]."""
        times = self.streams.joints.times_ns
        return float(times[-1] - times[0]) / NANOSECONDS


def diagnose(streams: RobotStreams, setup: RobotSetup, config: RobotGeometryConfig) -> Diagnosis:
    """Check the data of a robot against its description."""
    with np.errstate(all="ignore"):  # numbers out of range are judged by the checks
        return _diagnosed(streams, Robot(setup), config)


def _diagnosed(streams: RobotStreams, robot: Robot, config: RobotGeometryConfig) -> Diagnosis:
    values, cleaned = value_findings(streams, robot.names)
    diagnosis = Diagnosis([*stream_findings(streams, config.inputs.timeout), *values], streams, robot)
    if streams.missing:
        why = "joints of the description are missing in the joint states"
        diagnosis.findings.append(cannot_tell("all other checks", "recording", why))
        return diagnosis
    signals = Signals.of(cleaned, robot.setup)
    if signals.size < FEWEST:
        why = f"fewer than {FEWEST * STEP_S:g} s of joint states of all joints without gaps"
        diagnosis.findings.append(cannot_tell("all other checks", "recording", why))
        return diagnosis
    diagnosis.recorded = signals
    _examine(diagnosis, signals, config)
    return diagnosis


def _examine(diagnosis: Diagnosis, signals: Signals, config: RobotGeometryConfig) -> None:
    """Find and mend what is wrong with the sensors, then judge the masses."""
    robot, found = diagnosis.robot, diagnosis.findings
    wrong, signals, diagnosis.delays, unsure = search(signals, robot, config)
    found += wrong
    diagnosis.corrected = signals
    final = robot.table(signals.at(spread(signals.size, WINDOWS)))
    parts = judged(final)
    in_time = delay_findings(signals, diagnosis.delays, wrong)
    excess = [] if any("effort" in one.check for one in wrong) else excessive_efforts(final, parts)
    found += [*agreements(final, parts, found), *in_time, *excess, *something_else(final, parts)]
    silent = [
        one
        for one in found
        if one.check == "silent"
        or (one.check == "accelerometer size" and one.value < 0.5)
        or (one.check == "effort silent" and robot.n_base and not final.measures_wrenches)
    ]
    spoiled = [f"{one.check} of {one.subject}" for one in silent]
    spoiled += [unsure] if unsure else [f"{one.check} of {one.subject}" for one in excess]
    if spoiled:
        found.append(
            cannot_tell("masses", "description", f"they rely on what cannot be mended exactly: {spoiled[0]}")
        )
        return
    said, diagnosis.masses = mass_findings(robot.table(signals.at(np.arange(0, signals.size, APART))), config)
    already = {one.subject for one in found if one.failed}
    found += [one for one in said if one.check not in REFINED or one.subject not in already]
