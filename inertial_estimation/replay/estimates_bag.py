"""Estimates of a replay as a bag of the nodes' topics, with the messages that they were made from."""

import heapq
from collections.abc import Collection, Iterator
from operator import itemgetter
from pathlib import Path
from typing import Any

from inertial_estimation.configuration.pipelines import Pipelines
from inertial_estimation.recordings.bag_writer import BagWriter
from inertial_estimation.recordings.recording import BagRecording
from inertial_estimation.replay.node_outputs import node_outputs
from inertial_estimation.replay.replay_run import ReplayRun


def write_estimates_bag(
    path: Path, recording: BagRecording, inputs: Collection[str], run: ReplayRun, pipelines: Pipelines
) -> None:
    """Write the estimates of a replay and its inputs as a rosbag2 folder (mcap, compressed).

    Topics and message types are those that the nodes publish in the root namespace. The log time of an
    estimate is its stamp, by the clock of the recording's log times.

    Args:
        path: Folder to make.
        recording: The recording.
        inputs: Topics of it that are copied, other than those of the estimates.
        run: The replay.
        pipelines: What was replayed.

    Raises:
        ~inertial_estimation.errors.RecordingError: If the recording is damaged.
        ~inertial_estimation.errors.MissingDependencyError: If `rosbags` is not installed.
    """
    nodes = node_outputs(run, pipelines)
    made = {topic: kind for node in nodes for topic, kind in node.topics.items()}
    copied = {topic: recording.topics[topic] for topic in inputs if topic not in made}
    begin_ns = run.begin_ns - run.clock_offset_ns
    with BagWriter(path, {**copied, **made}, compressed=True) as writer:
        outputs = heapq.merge(*(node.outputs(writer.new) for node in nodes), key=itemgetter(0))
        estimates = ((stamp_ns - run.clock_offset_ns, *output) for stamp_ns, *output in outputs)
        inputs_again = _copied(recording, copied, begin_ns)
        for log_ns, topic, content in heapq.merge(inputs_again, estimates, key=itemgetter(0)):
            if topic in made:
                writer.write(topic, log_ns, content)
            else:
                writer.write_bytes(topic, log_ns, content)


def _copied(
    recording: BagRecording, topics: Collection[str], begin_ns: int
) -> Iterator[tuple[int, str, Any]]:
    for topic, _kind, log_ns, data in recording.raw_messages(topics, begin_ns):
        yield log_ns, topic, data
