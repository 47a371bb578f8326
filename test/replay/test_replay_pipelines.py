"""The real pipelines on synthetic recordings: ticks do not matter, truth is found, losses are survived."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inertial_estimation as ie
from inertial_estimation.configuration.config_file import parse_overrides
from inertial_estimation.recordings.bag_writer import write_recording
from inertial_estimation.recordings.recording import read_orientations
from inertial_estimation.replay.reference import ReplayReference
from inertial_estimation.replay.replay import ReplayWatcher
from inertial_estimation.replay.results import replay_results
from inertial_estimation.simulation.config import NOISE_FREE, SensorNoise
from inertial_estimation.synthetic.synthetic_sensors import GROUND_TRUTH_TOPIC
from inertial_estimation.synthetic.synthetic_truth import Truth


@pytest.fixture(scope="module")
def talos() -> Truth:
    timing = ie.Timing(duration_s=4.0, rate_hz=100.0)
    return ie.synthetic_truth("talos", timing, np.random.default_rng(1), payload_time_s=1.5)


def pipelines(robot: str = "talos", *overrides: str) -> ie.Pipelines:
    config = ie.load_config_file(ie.find_config(robot)).overridden(parse_overrides(overrides))
    return ie.build_pipelines(config)


def run_through(recording: ie.MemoryRecording, built: ie.Pipelines, **options: Any) -> ie.ReplayRun:
    topics = ie.replay_topics(built.values, {})
    return ie.replay_recording(
        recording, topics, ie.ReplayReaders(tilt=built.tilt, inertial=built.inertial), **options
    )


def numbers(run: ie.ReplayRun) -> tuple[np.ndarray, np.ndarray]:
    base = np.array([[e.state.stamp_ns, *e.state.quaternion_xyzw, *e.gyro_bias_I] for e in run.base])
    links = np.array([[e.stamp_ns, e.nis, *(x.estimate.mass for x in e.links)] for e in run.inertial])
    return base, links


@pytest.fixture(scope="module")
def noisy(talos: Truth) -> ie.MemoryRecording:
    return ie.measure(talos, ie.REALISTIC, np.random.default_rng(2))


def test_noise_free_tilt_and_mass_are_the_truth(talos: Truth) -> None:
    recording = ie.measure(talos, NOISE_FREE, np.random.default_rng(0))
    built = pipelines()
    run = run_through(recording, built)
    reference = read_orientations(recording, GROUND_TRUTH_TOPIC)
    evaluation = replay_results(run, pipelines=built, reference=ReplayReference(reference, settle_s=2.0))
    assert evaluation.metrics["tilt_error_deg"]["max"] < 0.05
    truth = talos.robot.total_mass + talos.payload.body.mass
    assert evaluation.metrics["total_mass_kg"] == pytest.approx(truth, abs=0.1)


class Onlooker(ReplayWatcher):
    """Counts what it sees; it is shown the estimates of every message before the next one is read."""

    def __init__(self) -> None:
        self.joints: list[int] = []
        self.base: list[ie.BaseEstimate] = []
        self.inertial: list[ie.InertialEstimate] = []

    def push_joints(self, reading: ie.JointReading) -> None:
        self.joints.append(reading.stamp_ns)

    def see(
        self,
        base: Sequence[ie.BaseEstimate],
        inertial: Sequence[ie.InertialEstimate],
        payload: Sequence[ie.PayloadEstimate],
    ) -> None:
        assert not payload
        self.base.extend(base)
        self.inertial.extend(inertial)


@pytest.fixture(scope="module")
def watched(noisy: ie.MemoryRecording) -> tuple[ie.ReplayRun, Onlooker]:
    onlooker = Onlooker()
    return run_through(noisy, pipelines(), watcher=onlooker), onlooker


def test_an_onlooker_sees_every_estimate(watched: tuple[ie.ReplayRun, Onlooker]) -> None:
    run, onlooker = watched
    assert (onlooker.base, onlooker.inertial) == (run.base, run.inertial)
    assert onlooker.joints == [reading.stamp_ns for reading in run.efforts]


def test_delay_that_is_told_is_made_up_for(talos: Truth) -> None:
    late = replace(NOISE_FREE, joint_delay_s=0.02, wrench_delay_s=0.02)
    recording = ie.measure(talos, late, np.random.default_rng(0))

    def rms(*overrides: str) -> float:
        built = pipelines("talos", *overrides)
        reference = read_orientations(recording, GROUND_TRUTH_TOPIC)
        run = ie.replay_recording(
            recording, ie.replay_topics(built.values, {}), ie.ReplayReaders(tilt=built.tilt)
        )
        metrics = replay_results(
            run, pipelines=built, reference=ReplayReference(reference, settle_s=2.0)
        ).metrics
        return float(metrics["tilt_error_deg"]["rms"])

    told = rms("/**.inputs.joint_delay=0.02", "/**.inputs.wrench_delay=0.02")
    assert told < 0.3 * rms()


def test_arm_predicts_its_torques_after_the_hold_out() -> None:
    timing = ie.Timing(duration_s=8.0, rate_hz=250.0, rest_s=0.2)
    truth = ie.synthetic_truth(
        "panda", timing, np.random.default_rng(1), payload_time_s=0.0, payload_mass=2.0
    )
    recording = ie.measure(truth, SensorNoise(effort=0.05), np.random.default_rng(0))
    built = pipelines("panda")
    run = run_through(recording, built, hold_out_s=6.0)
    hold_out_ns = recording.start_ns + 6_000_000_000
    metrics = replay_results(run, pipelines=built, hold_out_ns=hold_out_ns).metrics
    assert metrics["torque_error_relative"] < 0.01
    assert all(e.accepted is False for e in run.inertial if e.stamp_ns >= hold_out_ns)
    naive = pipelines("panda")
    assert naive.inertial is not None
    naive.inertial.set_enabled(False)
    unlearned = run_through(recording, naive, start_s=5.5)
    found = replay_results(unlearned, pipelines=naive, hold_out_ns=hold_out_ns).metrics
    assert found["torque_error_relative"] > 10 * metrics["torque_error_relative"]


def test_a_bag_without_velocities_gives_nearly_the_same(
    noisy: ie.MemoryRecording, watched: tuple[ie.ReplayRun, Onlooker], tmp_path: Path
) -> None:
    def stripped(entry: ie.RecordingEntry) -> ie.RecordingEntry:
        sample = entry.sample
        return (
            replace(entry, sample=replace(sample, velocity=None))
            if isinstance(sample, ie.JointReading)
            else entry
        )

    messages = tuple(stripped(entry) for entry in noisy.messages)
    write_recording(replace(noisy, messages=messages), tmp_path / "bag")
    with ie.BagRecording(tmp_path / "bag") as bag:
        tilt, links = numbers(run_through(bag, pipelines()))
    tilt_with, links_with = numbers(watched[0])
    both = np.isin(tilt_with[:, 0], tilt[:, 0])
    assert len(tilt_with) - 10 <= len(tilt) == both.sum()
    np.testing.assert_allclose(tilt[:, 1:5], tilt_with[both, 1:5], atol=2e-3)
    np.testing.assert_allclose(links[-1, 2:], links_with[-1, 2:], rtol=0.02)
