"""Starts of the tilt observer at random times of a walk: its error from one second after the start on."""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.referee.gait_sensors import START_NS, gait_recording
from benchmarks.referee.gaits import BEGUN_S as WALKING_S
from benchmarks.referee.gaits import quadruped, readings_of
from benchmarks.referee.row import Row, figure
from inertial_estimation import ImuSample, ReplayReaders, build_pipelines, replay_recording
from inertial_estimation.recordings.recording import MemoryRecording
from inertial_estimation.replay.metrics import angles_between, interpolated
from inertial_estimation.replay.replay import Replay

STARTS, LENGTH_S, BEGUN_S = 30, 3.0, 1.0  # number of starts; duration of each, start of the evaluation [s]
FASTEST_AT_REST = 0.1  # mean angular rate over a second below which a robot does not walk [rad/s]
Build = Callable[[], Any]
Truth = Callable[[np.ndarray], np.ndarray]  # verticals in the base frame by stamps [ns], NaN: not known


def gait_starts(robot: str, gait: str, seed: int) -> list[Row]:
    """Return the errors after starts in a synthetic gait."""
    setup, readings = readings_of(robot, gait, seed, WALKING_S + 12.0)
    file = quadruped(robot)[0].overridden([("tilt_observer", "contact.source", "wrench")])

    def build() -> Any:
        return build_pipelines(file, only=["tilt_observer"])

    def truth(stamps: np.ndarray) -> np.ndarray:
        return interpolated((stamps - START_NS) * 1e-9, readings.times_s, readings.up_B)

    recording = in_memory(gait_recording(setup, readings), build())
    return start_rows(f"{robot}, {gait}", recording, build, truth, seed)


def in_memory(recording: Any, pipelines: Any) -> MemoryRecording:
    """Return the messages that the pipelines use, in memory."""
    wanted = Replay(recording, pipelines.topics({}), ReplayReaders(pipelines.tilt, None)).topics
    return MemoryRecording(tuple(recording.entries(wanted)), recording.topics, recording.name)


def run(recording: Any, pipelines: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return stamps [ns] and verticals in the base frame of a run of the tilt observer."""
    base = replay_recording(recording, pipelines.topics({}), ReplayReaders(tilt=pipelines.tilt)).base
    stamps = np.array([estimate.stamp_ns for estimate in base], dtype=np.int64)
    return stamps, np.array([estimate.tilt_B for estimate in base]).reshape(-1, 3)


def times_of_walk(recording: Any) -> np.ndarray:
    """Return log times at which the robot walks, at least `LENGTH_S` before the end [ns]."""
    imu = [entry for entry in recording.messages if isinstance(entry.sample, ImuSample)]
    times = np.array([entry.log_ns for entry in imu])
    rates = np.array([np.linalg.norm(entry.sample.angular_rate_I) for entry in imu])
    total = np.concatenate(([0.0], np.cumsum(rates)))
    ends = np.searchsorted(times, times + 1e9)
    mean = (total[ends] - total[: len(times)]) / (ends - np.arange(len(times)))
    found: np.ndarray = times[(mean > FASTEST_AT_REST) & (times < times[-1] - 1e9 * LENGTH_S)]
    return found


def start_rows(name: str, recording: MemoryRecording, build: Build, truth: Truth, seed: int) -> list[Row]:
    """Return the largest and the rms error after each start, the worst and the median of the starts.

    The errors at the same times in one run from the beginning are for comparison: they have no start.
    """

    def errors_of(part: MemoryRecording) -> tuple[np.ndarray, np.ndarray]:
        stamps, tilts = run(part, build())
        return stamps, np.degrees(angles_between(tilts, truth(stamps)))

    times, (stamps, errors) = times_of_walk(recording), errors_of(recording)
    starts, running = [], []
    for begin in np.random.default_rng([seed, 41]).choice(times, STARTS, replace=False).tolist():
        kept = [e for e in recording.messages if begin <= e.log_ns < begin + 1e9 * LENGTH_S]
        begun = kept[0].sample.stamp_ns + 1e9 * np.array([BEGUN_S, LENGTH_S])
        own_stamps, own = errors_of(MemoryRecording(tuple(kept), recording.topics, recording.name))
        own = own[own_stamps > begun[0]]
        if np.isfinite(own).any():
            starts.append(rms_and_largest(own))
            running.append(rms_and_largest(errors[(stamps > begun[0]) & (stamps < begun[1])]))
    rows = []
    for text, found in (("starts in motion", starts), ("times of one run without a start", running)):
        title = f"{name}, {len(found)} {text}, tilt error from {BEGUN_S:g} s on"
        worst, median = np.max(found, axis=0), np.median(found, axis=0)
        for k, kind in enumerate(("rms", "maximum")):
            for which, values in (("worst", worst), ("median", median)):
                rows.append(figure(f"{title}: {which} {kind}", values[k], "deg", tolerance=0.3))
    return rows


def rms_and_largest(errors: np.ndarray) -> tuple[float, float]:
    """Return rms and maximum of the errors that are known."""
    return float(np.sqrt(np.nanmean(errors**2))), float(np.nanmax(errors))
