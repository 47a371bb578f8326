"""Readings of recordings: simulated, changed, written, and fed to pipelines as by a node."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from inertial_estimation import (
    REALISTIC,
    BaseState,
    ImuSample,
    JointReading,
    Timing,
    WrenchSample,
    measure,
    synthetic_truth,
)

Change = Callable[[Any], Any]


def measured(
    robot: str, length_s: float, rng: np.random.Generator, noise: np.random.Generator | None = None, **options
) -> tuple[Any, Any]:
    """Return truth and recording at 250 Hz of a robot that moves its joints.

    `rng` is the generator of motion and load, `noise` (None: the same) that of the sensor errors; `options`
    are those of `synthetic_truth`.
    """
    truth = synthetic_truth(robot, Timing(length_s, 250.0), rng, **options)
    return truth, measure(truth, REALISTIC, noise or rng)


def walked(robot: Any, command: Any, length_s: float, **options: Any) -> Any:
    """Return the recording of a simulated robot (`RobotLoop`) that walks with its estimates from 1 s on."""
    from inertial_estimation.closed_loop.closed_loop import walk_at
    from inertial_estimation.closed_loop.loop_watch import LoopRecording

    loop = robot.build(adaptation=False, inertial=False, **options)
    recorder = LoopRecording(loop)
    loop.release()
    loop.run(length_s, walk_at(1.0, command))
    return recorder.recording()


def changed(recording: Any, change: Change) -> Any:
    """Return a recording with every entry changed, in the order of its new times."""
    messages = sorted(map(change, recording.messages), key=lambda entry: entry.log_ns)
    return replace(recording, messages=tuple(messages))


def of_type(kind: type, change: Change, topic: str = "") -> Change:
    """Return a change of the samples of a type, on one topic or on all."""

    def act(entry: Any) -> Any:
        wanted = isinstance(entry.sample, kind) and topic in ("", entry.topic)
        return replace(entry, sample=change(entry.sample)) if wanted else entry

    return act


def written(recording: Any, bag: Path, leave_out: Sequence[str] = ()) -> Path:
    """Write a recording as a bag, without the topics whose names contain some texts."""
    from inertial_estimation.recordings.bag_writer import write_recording

    kept = {topic: kind for topic, kind in recording.topics.items() if not any(p in topic for p in leave_out)}
    messages = tuple(entry for entry in recording.messages if entry.topic in kept)
    write_recording(replace(recording, messages=messages, topics=kept), bag, overwrite=True)
    return bag


class Step(NamedTuple):
    """Estimates after a reading: its log time [ns], estimates of the base and of inertias."""

    now_ns: int
    base: list[Any]
    inertial: list[Any]


def fed(recording: Any, tilt: Any = None, inertial: Any = None) -> Iterator[Step]:
    """Push the readings of a recording and tick after each; base estimates go to the inertial filter, too."""
    pipelines = [pipeline for pipeline in (tilt, inertial) if pipeline is not None]
    for entry in recording.entries([name for name in recording.topics if "ground" not in name]):
        for pipeline in pipelines:
            push(pipeline, entry.topic, entry.sample)
        base = list(tilt.tick(entry.log_ns)) if tilt is not None else []
        for estimate in base if inertial is not None else ():
            push(inertial, "", estimate.state)
        found = list(inertial.tick(entry.log_ns)) if inertial is not None else []
        if base or found:
            yield Step(entry.log_ns, base, found)


def push(pipeline: Any, topic: str, sample: Any) -> None:
    """Push a reading to a pipeline by its type; of a wrench, the topic begins with the contact's name."""
    if isinstance(sample, WrenchSample):
        pipeline.push_wrench(topic.strip("/").split("/")[0], sample)
    else:
        kinds = {ImuSample: "imu", JointReading: "joints", BaseState: "base_state"}
        getattr(pipeline, f"push_{kinds[type(sample)]}")(sample)
