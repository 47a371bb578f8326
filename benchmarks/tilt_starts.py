"""Tilt after starts at random times of a walk: the iCub's recording and TALOS in simulation.

Run from the root of the project: ``python -m benchmarks.tilt_starts``. The iCub is compared with the same
observer started at rest, TALOS with the truth. The recording is found through INERTIAL_ESTIMATION_DATASETS.
"""

import argparse
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.fault_campaign.scenes import SCENES, build_pipeline, recorded
from benchmarks.tilt_accuracy import BAG, ICUB, ROOT
from inertial_estimation.configuration.config_file import load_config_file
from inertial_estimation.configuration.pipelines import build_pipelines, replay_topics
from inertial_estimation.estimators.tilt.tilt_pipeline import TiltPipeline
from inertial_estimation.recordings.recording import BagRecording
from inertial_estimation.replay.metrics import angles_between
from inertial_estimation.signals import Array

LENGTH_S = 3.0  # of data from each start
SETTLED_S = 1.0  # after which the error is to be below 1 deg
Sample = tuple[str, Any]  # stream and reading, in order of arrival


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--starts", type=int, default=30)
    starts = parser.parse_args().starts
    print("start of     first estimate [s]   its error [deg]   after 1 s [deg]   above 1 deg")
    for name, case in (("iCub", icub), ("TALOS", talos)):
        make, samples, stamps, truth, walking = case()
        found = [
            start(make(), samples, begin, stamps, truth)
            for begin in np.random.default_rng(5).uniform(*walking, starts)
        ]
        first, error, late = np.array(found).T
        print(
            f"{name:8s} p50 {np.median(first):5.2f} max {first.max():5.2f}   p50 {np.median(error):4.2f} "
            f"max {error.max():4.2f}   p50 {np.median(late):4.2f} max {late.max():4.2f}   "
            f"{np.sum(late > 1.0)} of {starts}"
        )


def start(
    pipeline: TiltPipeline, samples: Sequence[Sample], begin: float, stamps: Array, truth: Array
) -> tuple[float, float, float]:
    """Time of the first estimate [s], its error, and the largest one from 1 s on [deg]."""
    begin_ns = samples[0][1].stamp_ns + round(1e9 * begin)
    times, errors = [], []
    for stream, sample in samples:
        if not 0 <= sample.stamp_ns - begin_ns < 1e9 * LENGTH_S:
            continue
        for estimate in push(pipeline, stream, sample):
            k = int(np.argmin(np.abs(stamps - estimate.state.stamp_ns)))
            times.append(1e-9 * (estimate.state.stamp_ns - begin_ns))
            errors.append(np.degrees(angles_between(truth[k][None], estimate.tilt_B[None])[0]))
    late = [error for time, error in zip(times, errors, strict=True) if time > SETTLED_S]
    return times[0], errors[0], max(late)


def push(pipeline: TiltPipeline, stream: str, sample: Any) -> list[Any]:
    if stream == "imu":
        pipeline.push_imu(sample)
    elif stream == "joints":
        pipeline.push_joints(sample)
    else:
        pipeline.push_wrench(stream.removeprefix("wrench:"), sample)
    return pipeline.tick(sample.stamp_ns)


Case = tuple[Callable[[], TiltPipeline], list[Sample], Array, Array, tuple[float, float]]


def icub() -> Case:
    config = load_config_file(ROOT / "config" / "icub.yaml")
    urdf = str(ICUB / "iCubGenova04.urdf")

    def make() -> TiltPipeline:
        pipeline = build_pipelines(config, urdf=urdf).tilt
        assert pipeline is not None
        return pipeline

    topics = replay_topics(build_pipelines(config, urdf=urdf).values, {})
    streams = {topics.imu: "imu", topics.joints: "joints"}
    streams |= {topic: f"wrench:{contact}" for contact, topic in topics.wrenches.items()}
    with BagRecording(BAG) as bag:
        samples = [(streams[e.topic], e.sample) for e in bag.entries(list(streams), bag.start_ns)]
    pipeline = make()
    whole = [estimate for sample in samples for estimate in push(pipeline, *sample)]
    stamps = np.array([estimate.state.stamp_ns for estimate in whole])
    return make, samples, stamps, np.array([estimate.tilt_B for estimate in whole]), (20.0, 80.0)


def talos() -> Case:
    scene = SCENES["talos_walking"]
    data = recorded(scene)
    samples = [(message.stream, message.sample) for message in data.messages]
    return lambda: build_pipeline(scene), samples, data.stamps_ns, data.up_B, (2.0, 6.5)


if __name__ == "__main__":
    main()
