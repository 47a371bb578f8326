"""One recording in memory, replayed with parameters of one's choice."""

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

from inertial_estimation.configuration.config_file import ConfigFile
from inertial_estimation.configuration.node_names import INERTIAL_NODE, TILT_NODE
from inertial_estimation.configuration.pipelines import Pipelines, build_pipelines
from inertial_estimation.errors import RecordingError
from inertial_estimation.inertial.estimator import MeasuredStep, StepOutcome
from inertial_estimation.recordings.recorded_topics import RecordedTopics
from inertial_estimation.recordings.recording import MemoryRecording, Recording
from inertial_estimation.replay.replay import Replay, ReplayReaders, no_cycle_collection, replay_recording
from inertial_estimation.replay.replay_run import ReplayRun
from inertial_estimation.signals import NANOSECONDS
from inertial_estimation.tilt.base_estimator import StepReadings

Overrides = Sequence[tuple[str, str, Any]]  # node, dotted name and value


@dataclass(frozen=True, eq=False)
class Replayed:
    """A replay, and what its pipelines have kept.

    Attributes:
        run: The estimates.
        pipelines: What was replayed.
        steps: What the tilt observer took, where it was kept.
    """

    run: ReplayRun
    pipelines: Pipelines
    steps: Sequence[StepReadings] = ()


class RecordedRun:
    """A recording whose messages are in memory.

    Attributes:
        name: What to call it.
        configs: Parameters of the estimators that have a section, by node; noise that follows from the robot
            has its value.
        parameters: All parameters in effect, by node and dotted name.
        urdf: Text of the robot's description.
        recording: The messages.
        begin_ns: Stamp from which on it is replayed [ns].
        end_ns: Stamp of its end [ns].
    """

    def __init__(
        self,
        recording: Recording,
        config: ConfigFile,
        *,
        urdf: str = "",
        remappings: Mapping[str, str] | None = None,
        start_s: float = 0.0,
    ) -> None:
        """Read the messages.

        Args:
            recording: The recording.
            config: The parameter files.
            urdf: Where the robot description comes from, in place of the parameter ``urdf``.
            remappings: New topic by old one.
            start_s: Where to begin, after the start of the recording [s].

        Raises:
            RecordingError: If a topic is missing, of the wrong type or without a message.
            ~inertial_estimation.errors.ConfigurationError: If parameters do not fit.
        """
        self._config, self._source, self._remappings = config, urdf, remappings or {}
        self.name = recording.name
        pipelines = build_pipelines(config, urdf=urdf)
        self.configs, self.parameters, self.urdf = _configs(pipelines), pipelines.parameters, pipelines.urdf
        topics = self._topics(pipelines)
        wanted = Replay(recording, topics, ReplayReaders(pipelines.tilt, pipelines.inertial)).topics
        entries = tuple(recording.entries(wanted, recording.start_ns + round(start_s * NANOSECONDS)))
        if not entries:
            raise RecordingError(
                f"no message of the robot's inputs in '{recording.name}' after {start_s:g} s"
            )
        self._entries, self.recording = entries, MemoryRecording(entries, recording.topics, recording.name)
        self.begin_ns = min(entry.sample.stamp_ns for entry in entries)
        self.end_ns = max(entry.sample.stamp_ns for entry in entries)

    def overridden(self, overrides: Overrides) -> "RecordedRun":
        """Return the same recording, replayed with other parameters."""
        other = copy(self)
        other._config = self._config.overridden(overrides)
        pipelines = build_pipelines(other._config, urdf=self._source)
        other.configs, other.parameters = _configs(pipelines), pipelines.parameters
        return other

    def replayed(
        self,
        overrides: Overrides = (),
        *,
        only: Sequence[str] = (),
        keep: bool = False,
        until_ns: int | None = None,
    ) -> Replayed:
        """Replay the recording.

        Args:
            overrides: Parameters that differ from those of the files.
            only: Nodes to run; empty: all that have a section.
            keep: Whether what the tilt observer takes is kept.
            until_ns: Stamp after which nothing is replayed [ns]; None: all is.
        """
        pipelines = build_pipelines(self._config.overridden(overrides), urdf=self._source, only=only)
        steps: list[StepReadings] = []
        if pipelines.tilt is not None and keep:
            pipelines.tilt.estimator.on_step = steps.append
        recording = self.recording if until_ns is None else self._begin_of_recording(until_ns)
        run = replay_recording(
            recording, self._topics(pipelines), tilt=pipelines.tilt, inertial=pipelines.inertial
        )
        return Replayed(run, pipelines, steps)

    def _begin_of_recording(self, until_ns: int) -> MemoryRecording:
        entries = tuple(e for e in self._entries if e.sample.stamp_ns <= until_ns)
        return MemoryRecording(entries, self.recording.topics, self.name)

    def updates(
        self, overrides: Overrides = (), learn_until_ns: int | None = None
    ) -> Iterator[tuple[MeasuredStep, StepOutcome]]:
        """Replay the recording, and yield what the inertial filter makes of it while it is replayed.

        Args:
            overrides: Parameters that differ from those of the files.
            learn_until_ns: Stamp from which on the parameters are frozen and only innovations computed [ns];
                None: never.

        Yields:
            Every measurement, and the outcome of its update.
        """
        pipelines = build_pipelines(self._config.overridden(overrides), urdf=self._source)
        tilt, inertial, topics = pipelines.tilt, pipelines.inertial, self._topics(pipelines)
        assert inertial is not None
        found: list[tuple[MeasuredStep, StepOutcome]] = []
        last_ns: int | None = None

        def keep(step: MeasuredStep, update: StepOutcome) -> None:
            nonlocal last_ns
            found.append((step, update))
            interval_ns = round(step.dt * NANOSECONDS) if last_ns is None else step.stamp_ns - last_ns
            last_ns, next_ns = step.stamp_ns, step.stamp_ns + interval_ns
            if learn_until_ns is not None and next_ns >= learn_until_ns:
                inertial.set_enabled(False)

        inertial.on_update = keep
        if learn_until_ns is not None and learn_until_ns <= self.begin_ns:
            inertial.set_enabled(False)
        replay = Replay(self.recording, topics, ReplayReaders(tilt, inertial))
        with no_cycle_collection():
            for _now_ns in replay.steps():
                yield from found
                found.clear()

    def _topics(self, pipelines: Pipelines) -> RecordedTopics:
        return pipelines.topics(self._remappings)


def _configs(pipelines: Pipelines) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if pipelines.tilt is not None:
        found[TILT_NODE] = pipelines.tilt.config
    if pipelines.inertial is not None:
        config = pipelines.inertial.config
        found[INERTIAL_NODE] = replace(config, noise=config.noise.for_robot(pipelines.inertial.robot))
    return found
