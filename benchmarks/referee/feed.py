"""Readings of a recording into pipelines, one after another, as a node is given them."""

from collections.abc import Iterator
from typing import Any, NamedTuple


class Step(NamedTuple):
    """What the pipelines returned after a reading: its log time [ns], estimates of base and of inertias."""

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
            inertial.push_base_state(estimate.state)
        found = list(inertial.tick(entry.log_ns)) if inertial is not None else []
        if base or found:
            yield Step(entry.log_ns, base, found)


def push(pipeline: Any, topic: str, sample: Any) -> None:
    """Give a reading to a pipeline, by its type; wrenches by the name of their contact in the topic."""
    from inertial_estimation import ImuSample, JointReading, WrenchSample

    if isinstance(sample, ImuSample):
        pipeline.push_imu(sample)
    elif isinstance(sample, JointReading):
        pipeline.push_joints(sample)
    elif isinstance(sample, WrenchSample):
        pipeline.push_wrench(topic.strip("/").split("/")[0], sample)
