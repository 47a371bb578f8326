"""A recording in memory that can be replayed with changed parameters."""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

from inertial_estimation.configuration.config_file import ConfigFile
from inertial_estimation.configuration.node_names import INERTIAL_NODE, TILT_NODE
from inertial_estimation.configuration.pipelines import Pipelines, build_pipelines
from inertial_estimation.errors import RecordingError
from inertial_estimation.inertial.estimator import StepOutcome
from inertial_estimation.recordings.recorded_topics import RecordedTopics
from inertial_estimation.recordings.recording import MemoryRecording, Recording
from inertial_estimation.replay.replay import Replay, ReplayReaders, no_cycle_collection
from inertial_estimation.signals import NANOSECONDS
from inertial_estimation.tilt.base_estimator import ObserverStep
from inertial_estimation.tilt.pipeline import TiltPipeline

Overrides = Sequence[tuple[str, str, Any]]  # node, dotted name and value


class RecordedRun:
    """A recording whose messages are in memory.

    Attributes:
        name: Name of the recording.
        configs: Parameters of the estimators that have a section in the files, by node, with the values of
            noise parameters that are derived from the robot.
        parameters: All parameters in effect, by node and dotted name.
        urdf: Text of the robot's description.
        recording: The messages.
        begin_ns: Stamp from which on it is replayed [ns].
        end_ns: Stamp of the end of the recording [ns].
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
            urdf: Source of the robot description, in place of the parameter ``urdf``.
            remappings: New topic by old one.
            start_s: Time from which on to replay, since the start of the recording [s].

        Raises:
            RecordingError: If a topic is missing, of the wrong type or without a message.
            ~inertial_estimation.errors.ConfigurationError: If parameters do not fit.
        """
        self._config, self._source, self._remappings = config, urdf, remappings or {}
        self.name = recording.name
        pipelines = self._take_parameters()
        self.urdf = pipelines.urdf
        readers = ReplayReaders(pipelines.tilt, pipelines.inertial)
        wanted = Replay(recording, self.topics(pipelines), readers).topics
        entries = tuple(recording.entries(wanted, recording.start_ns + round(start_s * NANOSECONDS)))
        if not entries:
            raise RecordingError(
                f"no message of the robot's inputs in '{recording.name}' after {start_s:g} s"
            )
        self.recording = MemoryRecording(entries, recording.topics, recording.name)
        self.begin_ns = min(entry.sample.stamp_ns for entry in entries)
        self.end_ns = max(entry.sample.stamp_ns for entry in entries)

    def _take_parameters(self) -> Pipelines:
        pipelines = self.pipelines()
        self.configs, self.parameters = dict[str, Any](), pipelines.parameters
        if pipelines.tilt is not None:
            self.configs[TILT_NODE] = pipelines.tilt.config
        if pipelines.inertial is not None:
            config = pipelines.inertial.config
            noise = config.noise.for_robot(pipelines.inertial.robot)
            self.configs[INERTIAL_NODE] = replace(config, noise=noise)
        return pipelines

    def overridden(self, overrides: Overrides) -> "RecordedRun":
        """Return the same recording, replayed with other parameters."""
        other = copy(self)
        other._config = self._config.overridden(overrides)
        other._take_parameters()
        return other

    def pipelines(self, overrides: Overrides = (), *, only: Sequence[str] = ()) -> Pipelines:
        """Build the pipelines.

        Args:
            overrides: Parameters that differ from those of the files.
            only: Nodes to build; empty: all that have a section.
        """
        return build_pipelines(self._config.overridden(overrides), urdf=self._source, only=only)

    def topics(self, pipelines: Pipelines) -> RecordedTopics:
        """Return the topics of the inputs of pipelines."""
        return pipelines.topics(self._remappings)

    def observer_steps(self) -> tuple[TiltPipeline, list[ObserverStep]]:
        """Replay the recording; return the tilt pipeline and the inputs of its observer at every step."""
        pipelines = self.pipelines(only=[TILT_NODE])
        assert pipelines.tilt is not None
        found: list[ObserverStep] = []
        pipelines.tilt.estimator.on_step = found.append
        replay = Replay(self.recording, self.topics(pipelines), ReplayReaders(pipelines.tilt))
        with no_cycle_collection():
            deque(replay.steps(), maxlen=0)
        return pipelines.tilt, found

    def updates(
        self, overrides: Overrides = (), *, adapting: bool = True
    ) -> Iterator[tuple[int, StepOutcome]]:
        """Replay the recording, and yield the updates of the inertial filter during the replay.

        Args:
            overrides: Parameters that differ from those of the files.
            adapting: Whether the filter may scale the stated noise.

        Yields:
            Stamp [ns] of every measurement, and the outcome of its update.
        """
        pipelines = self.pipelines(overrides)
        inertial = pipelines.inertial
        assert inertial is not None
        inertial.estimator.noise.adapting = adapting
        found: list[tuple[int, StepOutcome]] = []
        inertial.on_update = lambda step, update: found.append((step.stamp_ns, update))
        replay = Replay(self.recording, self.topics(pipelines), ReplayReaders(pipelines.tilt, inertial))
        with no_cycle_collection():
            for _now_ns in replay.steps():
                yield from found
                found.clear()
