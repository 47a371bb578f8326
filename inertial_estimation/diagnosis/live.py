"""Check of the data of a running pipeline against the robot's description, after its start and on request.

The steps of the pipeline are not slowed: new rows of the inputs are copied when health is requested (if the
readings of an input are mostly impossible, as in degrees, the impossible ones). Once the rows span five
seconds, one call judges them; a node has another process execute it. A failed check is a suspicion, and the
next five seconds are judged in its place: a load that is handed over, or a hand on the robot, contradicts the
description only for a short time.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from inertial_estimation.diagnosis.diagnose import diagnose
from inertial_estimation.diagnosis.finding import Finding, health_of
from inertial_estimation.inputs.config import RobotGeometryConfig
from inertial_estimation.inputs.joints import JOINTS
from inertial_estimation.inputs.robot_inputs import RobotInputs
from inertial_estimation.inputs.robot_streams import RobotStreams, StreamCollector, StreamNotes, joint_rows
from inertial_estimation.inputs.sensors import IMU, ContactSource
from inertial_estimation.models.robot_config import RobotSetup
from inertial_estimation.signals import Health, HealthLevel

SPAN_S = 5.0  # time span of the data that are judged [s]
SLACK_NS = 50_000_000  # most by which the other inputs may arrive later than the joint states [ns]

Results: TypeAlias = list[Finding]
Execution: TypeAlias = Callable[[Callable[[], Results]], Callable[[], Results | None]]


def at_once(call: Callable[[], Results]) -> Callable[[], Results | None]:
    """Execute a call at once; return a function that returns its results."""
    results = call()
    return lambda: results


def judged(streams: RobotStreams, setup: RobotSetup, config: RobotGeometryConfig) -> Results:
    """Return the findings of rows of the inputs of a pipeline."""
    return diagnose(streams, setup, config).findings


class LiveChecks:
    """Checks the inputs of a pipeline as the pipeline uses them.

    Attributes:
        execute: Executes a call; returns a function that returns its results, or None until they are there.
            None disables the checks, as in a replay, which checks the recording itself.
    """

    def __init__(self, setup: RobotSetup, config: RobotGeometryConfig, inputs: RobotInputs) -> None:
        """Begin without data; the inputs of the robot must contain joint states."""
        self.execute: Execution | None = at_once
        self._robot, self._inputs = (setup, config), inputs
        self.begin()

    def begin(self) -> None:
        """Begin to check the data that arrive from now on."""
        self._suspected: Results = []  # findings of the first five seconds if a check failed
        self._begin_span()

    def _begin_span(self) -> None:
        self._rows = StreamCollector(self._robot[0], SPAN_S)
        self._rows.sources = {name: one.source for name, one in self._inputs.contacts.items()}
        newest = {name: self._inputs.streams[name].raw()[0][-1:] for name in self._names()}
        self._copied = {name: int(times[0]) for name, times in newest.items() if len(times)}
        self._clears = self._inputs.streams[JOINTS].ring.clears
        self._pending: Callable[[], Results | None] | None = None
        self._results: Results | None = None

    def health(self) -> Health:
        """Copy new data, continue the checks, and return their result."""
        if self.execute is None:
            return health_of([], "not checked here")
        if self._pending is None and self._results is None:
            self._collect(self.execute)
        if self._pending is not None and (results := self._pending()) is not None:
            self._pending = None
            self._conclude(results)
        if self._results is not None:
            return health_of(self._results)
        if self._suspected:
            suspicion = health_of(self._suspected)
            return replace(
                suspicion, level=HealthLevel.WARN, message=f"suspected, checked again: {suspicion.message}"
            )
        if self._pending is not None:
            return health_of([], "the data are being checked")
        if not self._rows.duration_s:
            return health_of([], "waiting for data")
        return health_of([], f"{self._rows.duration_s:.0f} s of data, they are checked after {SPAN_S:g} s")

    def _conclude(self, results: Results) -> None:
        """Keep the results, or judge another time span if a check has failed in the first one."""
        if self._suspected or not any(one.failed for one in results):
            self._results = results
            return
        self._suspected = results
        self._begin_span()

    def _names(self) -> dict[str, str]:
        """Return the names of collected rows, by the names of the streams that they come from."""
        # Checks assume the wrench axes of the parameters: wrenches in axes of a message's frame are left out.
        axes = {one.name: one.axes for one in self._robot[0].contacts}
        contacts = [c for c in self._inputs.contacts.values() if c.source is not ContactSource.DESIRED]
        sensed = [c for c in contacts if c.axes is axes[c.name]]
        names = {name: name for name in (JOINTS, IMU) if name in self._inputs.streams}
        return names | {c.stream.spec.name: f"{c.name}/wrench" for c in sensed}

    def _collect(self, execute: Execution) -> None:
        """Copy new rows of the inputs; start the checks once the rows span five seconds."""
        if self._inputs.streams[JOINTS].ring.clears != self._clears:
            self.begin()  # the joint states have restarted, and their times with them
        joints, names = self._inputs.joints, self._names()
        assert joints is not None
        for name, kept in names.items():
            times, rows = self._inputs.streams[name].raw()
            new = times > self._copied.get(name, 0)
            if not new.any():
                continue
            fresh, self._copied[name] = rows[new], int(times[-1])
            self._rows.push(kept, times[new], joint_rows(fresh, joints.columns) if name == JOINTS else fresh)
        if self._rows.duration_s < SPAN_S - 2e-9 * SLACK_NS:
            return
        self._rows.notes = {kept: StreamNotes.of(self._inputs.streams[name]) for name, kept in names.items()}
        streams = self._rows.streams()
        if streams is not None:
            self._pending = execute(partial(judged, streams, *self._robot))
