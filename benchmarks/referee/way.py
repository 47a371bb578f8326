"""Files on the way of a message to the published estimate: a run-time trace, nothing compiled."""

import os

os.environ["NUMBA_DISABLE_JIT"] = "1"  # read when numba is imported, in the process of this task

import sys
import tempfile
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from benchmarks.referee.readings import measured, written
from benchmarks.referee.row import Row, figure
from inertial_estimation import BagRecording, build_pipelines, load_configs

LENGTH_S, TRACED_FROM_S, TRACED_FOR_S = 3.0, 2.0, 0.05  # once the estimators have started
WAYS = (
    ("IMU message to a published orientation", "/imu/data", "tilt"),
    ("joint state to published inertias", "/joint_states", "inertial"),
)


def ways() -> list[Row]:
    """Return the number of files of the package that process a message until there is an estimate.

    Counted are files whose functions run between a message and the estimate of its step; a node adds four
    (its own, ros/robot_node.py, ros/pipeline_node.py, ros/node_inputs.py).
    """
    recording = measured("talos", LENGTH_S, np.random.default_rng(0))[1]
    built, rows = build_pipelines(load_configs(["talos"])), []
    with tempfile.TemporaryDirectory() as folder:
        bag = written(recording, Path(folder, "bag"), ["ground"])
        for name, topic, pipeline in WAYS:
            with BagRecording(bag) as opened:
                files = sorted(traced(opened, topic, getattr(built, pipeline)))
            rows.append(figure(f"way of a {name}: files", len(files), note=", ".join(files)))
    return rows


def traced(bag: Any, traced_topic: str, pipeline: Any) -> set[str]:
    """Return the files that process messages of a topic, and the steps after them, in `TRACED_FOR_S`."""
    files: set[str] = set()
    package = str(Path(sys.modules["inertial_estimation"].__file__ or "").parent)

    def note(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(package):
            files.add(frame.f_code.co_filename[len(package) + 1 :])

    takers = {
        topic: pipeline.inputs.connect(topic.strip("/"), kind, bag.deserializer(topic))
        for topic, kind in bag.topics.items()
        if topic.strip("/") in pipeline.inputs.topics
    }
    begin_ns = bag.start_ns + round(TRACED_FROM_S * 1e9)
    for topic, log_ns, data in bag.unread(list(takers)):
        counted = begin_ns <= log_ns < begin_ns + round(TRACED_FOR_S * 1e9)
        sys.setprofile(note if counted and topic == traced_topic else None)
        takers[topic](data, log_ns)
        sys.setprofile(note if counted else None)
        pipeline.tick(log_ns)
        sys.setprofile(None)
    return files
