"""Connects the inputs of a robot with the topics of a recording."""

from collections.abc import Callable, Collection
from typing import Any

from inertial_estimation.errors import ConfigurationError, RecordingError
from inertial_estimation.inputs.messages import CONVERSIONS
from inertial_estimation.inputs.robot_inputs import Readers, RobotInputs
from inertial_estimation.recordings.recorded_topics import RecordedTopics
from inertial_estimation.recordings.recording import Recording, check_topic
from inertial_estimation.signals import NANOSECONDS

CLOCK_OFFSET_NS = 10 * NANOSECONDS  # log times further than this from the stamps are of another clock
Take = Callable[[Any, int], None]
"""Takes the content of a message and its arrival on the clock of the stamps [ns]."""


def connect(
    inputs: RobotInputs,
    recording: Recording,
    topics: RecordedTopics,
    without: Collection[str] = (),
    readers: Readers | None = None,
) -> dict[str, Take]:
    """Return what takes the content of the messages of the topics of a recording, but of some inputs.

    Inputs that are given the same readers decode a message once for all of them.

    Raises:
        RecordingError: If a topic is missing or of the wrong type.
    """
    takers: dict[str, Take] = {}
    for name in inputs.topics:
        if name in without:
            continue
        topic, recorded = topics.of(name), recording.topics
        check_topic(recording, topic, recorded.values())
        try:
            deserialize = recording.deserializer(topic)
            takers[topic] = inputs.connect(name, recorded[topic], deserialize, readers)
        except ConfigurationError as error:
            raise RecordingError(f"in '{recording.name}', {error}") from error
    return takers


def clock_offset_ns(recording: Recording, topics: Collection[str], begin_ns: int | None = None) -> int:
    """Return what is to be added to log times for the clock of the stamps, of most inputs [ns]."""
    offsets = []
    for topic in topics:
        if recording.topics[topic] in CONVERSIONS:
            first = next(iter(recording.entries([topic], begin_ns)), None)
            if first is not None and first.sample.stamp_ns:
                offsets.append(first.sample.stamp_ns - first.log_ns)
    offset = min(offsets, key=abs, default=0)
    return offset if abs(offset) > CLOCK_OFFSET_NS else 0
