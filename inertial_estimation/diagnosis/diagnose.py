"""The order of inference: streams, sensors and loads, masses; an error that is found is corrected at once."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from inertial_estimation.diagnosis.agreement import agreements
from inertial_estimation.diagnosis.delays import Delay, delay_findings
from inertial_estimation.diagnosis.finding import Finding, cannot_tell
from inertial_estimation.diagnosis.masses import MassReport
from inertial_estimation.diagnosis.parts import judged
from inertial_estimation.diagnosis.search import WINDOWS, search, something_else
from inertial_estimation.diagnosis.sensors import stream_findings, value_findings
from inertial_estimation.diagnosis.table import STEP_S, Robot, Signals, Table, evenly_spaced
from inertial_estimation.diagnosis.wirings import angular_rate_in_radians
from inertial_estimation.inputs.config import RobotGeometryConfig
from inertial_estimation.inputs.robot_streams import RobotStreams
from inertial_estimation.models.robot_config import RobotSetup

FEWEST = 50  # times of 20 ms: 1 s of data


@dataclass(eq=False)
class Diagnosis:
    """All findings, and the data that the figures of a report show."""

    findings: list[Finding]  # in the order of inference, in which errors should be mended
    streams: RobotStreams  # the inputs as recorded
    robot: Robot  # the robot and the predictions of its description
    recorded: Signals | None = None  # the signals as sent; None if there are too few
    corrected: Signals | None = None  # the signals after correction of all errors that were found
    delays: dict[str, Delay] = field(default_factory=dict)  # remaining delays of the corrected signals
    masses: MassReport | None = None  # comparison of causes by the forces; None if they were not judged

    @cached_property
    def mended(self) -> Table | None:
        """The corrected signals with predictions at all their times."""
        return None if self.corrected is None else self.robot.table(self.corrected)


def diagnose(streams: RobotStreams, setup: RobotSetup, config: RobotGeometryConfig) -> Diagnosis:
    """Check the data of a robot against its description."""
    with np.errstate(all="ignore"):  # numbers out of range are judged by the checks
        diagnosis = Diagnosis([], streams, Robot(setup))
        diagnosis.findings += _found(diagnosis, config)
    return diagnosis


def _found(diagnosis: Diagnosis, config: RobotGeometryConfig) -> Iterator[Finding]:
    """Judge the streams, then find and correct errors, then report what agrees."""
    robot, streams = diagnosis.robot, diagnosis.streams
    values, cleaned = value_findings(streams, robot.names)
    of_streams = [*stream_findings(streams, config.inputs.timeout), *values]
    yield from of_streams
    signals, why = Signals.of(cleaned, robot.setup), ""
    if signals.size < FEWEST:
        joints = "the joints of contacts and IMU"
        why = f"fewer than {FEWEST * STEP_S:g} s of joint states of {joints} without gaps"
    if any(one.check == "rivals" for one in values):
        why = "values of two publishers are mixed: mend this first"
    if why:
        yield cannot_tell("all other checks", "recording", why)
        return
    diagnosis.recorded = signals
    units, signals = angular_rate_in_radians(signals)
    named, of_forces, signals, delays, diagnosis.masses = search(signals, robot, config, of_streams)
    named = [*units, *named]
    diagnosis.corrected, diagnosis.delays = signals, delays
    final = robot.table(signals.at(evenly_spaced(signals.size, WINDOWS)))
    parts = judged(final)
    yield from named
    yield from agreements(final, parts, [*of_streams, *named, *of_forces])
    yield from delay_findings(signals, delays, named)
    yield from something_else(final, parts)
    yield from of_forces
