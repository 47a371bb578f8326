"""Readings of a recording into pipelines, one after another, as a node is given them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

NANOSECONDS = 1_000_000_000


@dataclass(frozen=True)
class Step:
    """What the pipelines returned after a reading.

    Attributes:
        now_ns: Log time of the reading [ns].
        base: Estimates of the base.
        inertial: Estimates of the inertias.
    """

    now_ns: int
    base: list[Any]
    inertial: list[Any]


def fed(recording: Any, tilt: Any = None, inertial: Any = None) -> Iterator[Step]:
    """Push the readings of a recording and tick after each; estimates of the base go to the inertial filter.

    Args:
        recording: The recording; what is not an input of the pipelines is passed over.
        tilt: Tilt pipeline, or None.
        inertial: Inertial pipeline, or None.

    Yields:
        A step for every reading after which there is an estimate.
    """
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
