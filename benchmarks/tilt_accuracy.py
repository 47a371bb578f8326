"""Tilt error of all observers and of IMU-only filters on the iCub walking recording, in one run.

Run from the root of the project: ``python -m benchmarks.tilt_accuracy``. The recording is found through
INERTIAL_ESTIMATION_DATASETS. All filters get the raw gyroscope; nothing is fitted to the reference but
the constant alignment of the metric.
"""

import argparse
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from ahrs.filters import Madgwick, Mahony
from vqf import VQF

from inertial_estimation.configuration.config_file import load_config_file
from inertial_estimation.configuration.pipelines import Pipelines, build_pipelines, replay_topics
from inertial_estimation.recordings.recording import (
    BagRecording,
    MemoryRecording,
    Recording,
    RecordingEntry,
    read_orientations,
)
from inertial_estimation.replay.metrics import TiltErrors, tilt_errors, verticals
from inertial_estimation.replay.replay import replay_recording
from inertial_estimation.replay.result_files import read_trusted
from inertial_estimation.signals import ImuSample

ROOT = Path(__file__).resolve().parents[1]
DATASETS = Path(os.environ.get("INERTIAL_ESTIMATION_DATASETS", ROOT.parent / "shared" / "datasets"))
ICUB = DATASETS / "icub_walking"
BAG = ICUB / "walk_front_back_2021"


def gains(observer: str, **values: float) -> list[tuple[str, str, object]]:
    """Overrides that choose an observer, at a fixed rate, and its gains."""
    chosen = [("tilt_observer", "observer", observer), ("tilt_observer", "adaptation.enabled", False)]
    return chosen + [("tilt_observer", f"{observer}.{gain}", value) for gain, value in values.items()]


# Equally tuned: the velocity follows at 20 1/s and the slowest error decays at 1 1/s, whatever the observer.
OBSERVERS: dict[str, list[tuple[str, str, object]]] = {
    "kalman (default)": [],
    "two_stage, adaptive": [("tilt_observer", "observer", "two_stage")],
    "two_stage, 20 / 100 / 1, fixed": gains("two_stage"),
    "r3s2, equally tuned, 20 / 20": gains("r3s2", k1v=20.0, k1r=20.0),
    "hua, equally tuned, 10 / 10 / 20": gains("hua", k1v=10.0, k2v=10.0, k1r=20.0),
    "invariant_ekf, its defaults": gains("invariant_ekf"),
    "two_stage, gains of the paper": gains("two_stage", alpha1=100.0, alpha2=20.0, gamma=3.0),
    "r3s2, gains of the paper": gains("r3s2"),
    "hua, gains of the paper": gains("hua"),
}
SCALES = (0.95, 1.05)  # of a wrong accelerometer
Tilts = tuple[np.ndarray, np.ndarray]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--start", type=float, default=0.0, help="begin here [s]")
    parser.add_argument("--settle", type=float, default=0.0, help="compare from this much later on [s]")
    arguments = parser.parse_args()
    with BagRecording(BAG) as recording:
        reference = read_orientations(recording, "/vicon/root_link/pose")
    trusted = read_trusted(ICUB / "walk_front_back_2021_vicon_ok.csv")
    print(f"{'tilt error [deg]':34s}   mean    rms    p95    max")
    for name, (stamps, tilts) in estimates(arguments.start):
        settle_ns = round(1e9 * arguments.settle)
        _report(name, tilt_errors(stamps, tilts, reference, trusted, settle_ns=settle_ns))


def estimates(start: float) -> Iterator[tuple[str, Tilts]]:
    """Verticals in the base frame by every estimator, with their stamps."""
    for name, overrides in OBSERVERS.items():
        yield name, observer_tilts(overrides, start)
    yield "default, stamps in bursts", bursty_tilts(start)
    for scale in SCALES:
        yield f"default, specific force x {scale:g}", scaled_tilts(start, scale)
    stamps, forces, rates = imu_readings(start)
    R_BI = imu_orientation()
    for name, xyzw in imu_only(stamps, forces, rates).items():
        yield name, (stamps, verticals(xyzw) @ R_BI.T)
    with BagRecording(BAG) as recording:
        samples = read_orientations(recording, "/xsens/orientation")
    begin = stamps[0]
    kept = [sample for sample in samples if sample.stamp_ns >= begin]
    xyzw = np.array([sample.quaternion_xyzw for sample in kept])
    yield (
        "the IMU's own filter (higher rate)",
        (
            np.array([sample.stamp_ns for sample in kept]),
            verticals(xyzw) @ R_BI.T,
        ),
    )


def observer_tilts(overrides: list[tuple[str, str, object]], start: float) -> Tilts:
    """Run the tilt pipeline over the recording."""
    with BagRecording(BAG) as recording:
        return tilts_of(shipped(overrides), recording, start)


def bursty_tilts(start: float) -> Tilts:
    """Run it over the same messages stamped on arrival, by a transport that stalls up to 160 ms."""
    pipelines, entries, types = read_messages(start)
    true = sorted({entry.sample.stamp_ns for entry in entries})
    arrival = arrivals(np.array(true), np.random.default_rng(0))
    late = dict(zip(true, arrival.tolist(), strict=True))
    stamped = tuple(
        replace(entry, log_ns=at, sample=replace(entry.sample, stamp_ns=at))
        for entry in entries
        if (at := late[entry.sample.stamp_ns])
    )
    known = {at: stamp for stamp, at in late.items()}
    stamps, tilts = tilts_of(pipelines, MemoryRecording(stamped, types))
    return np.array([known[at] for at in stamps]), tilts


def scaled_tilts(start: float, scale: float) -> Tilts:
    """Run it over the same messages of an accelerometer with an error of scale."""
    pipelines, entries, types = read_messages(start)
    scaled = tuple(
        replace(entry, sample=replace(entry.sample, specific_force_I=scale * entry.sample.specific_force_I))
        if isinstance(entry.sample, ImuSample)
        else entry
        for entry in entries
    )
    return tilts_of(pipelines, MemoryRecording(scaled, types))


def read_messages(start: float) -> tuple[Pipelines, list[RecordingEntry], dict[str, str]]:
    """Pipelines by the shipped parameters, the messages they need, and the types of these."""
    pipelines = shipped()
    topics = replay_topics(pipelines.values, {})
    with BagRecording(BAG) as recording:
        wanted = [topics.imu, topics.joints, *topics.wrenches.values()]
        begin = recording.start_ns + round(1e9 * start)
        entries = list(recording.entries(wanted, begin))
        return pipelines, entries, {topic: recording.topics[topic] for topic in wanted}


def shipped(overrides: Sequence[tuple[str, str, object]] = ()) -> Pipelines:
    """Build the pipelines by the shipped parameters, some of them overridden."""
    config = load_config_file(ROOT / "config" / "icub.yaml").overridden(list(overrides))
    return build_pipelines(config, urdf=str(ICUB / "iCubGenova04.urdf"))


def tilts_of(pipelines: Pipelines, recording: Recording, start: float = 0.0) -> Tilts:
    """Stamps and verticals of the tilt pipeline over a recording, from so many seconds on."""
    topics = replay_topics(pipelines.values, {})
    run = replay_recording(recording, topics, tilt=pipelines.tilt, start_s=start)
    stamps = np.array([estimate.state.stamp_ns for estimate in run.base])
    return stamps, np.array([estimate.tilt_B for estimate in run.base])


def arrivals(stamps: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Stamps on arrival: now and then up to 16 messages are held back, then come 0.05 ms apart."""
    late, k = stamps.copy(), 0
    while k < len(stamps):
        n = int(rng.integers(2, 17)) if rng.random() < 0.1 else 1
        held = late[k : k + n]
        held[:] = held[-1] + 50_000 * np.arange(len(held))
        k += n
    return np.maximum.accumulate(late + np.arange(len(late)))


def imu_readings(start: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Stamps, specific forces and rates of the recording."""
    with BagRecording(BAG) as recording:
        begin = recording.start_ns + round(1e9 * start)
        entries = list(recording.entries(["/imu/data"], begin))
    samples = [entry.sample for entry in entries if isinstance(entry.sample, ImuSample)]
    return (
        np.array([sample.stamp_ns for sample in samples]),
        np.array([sample.specific_force_I for sample in samples]),
        np.array([sample.angular_rate_I for sample in samples]),
    )


def imu_only(stamps: np.ndarray, forces: np.ndarray, rates: np.ndarray) -> dict[str, np.ndarray]:
    """Orientations (x y z w) of the IMU by filters that know no contacts, their default gains."""
    period = 1e-9 * float(np.median(np.diff(stamps)))
    order = [1, 2, 3, 0]
    return {
        "VQF": VQF(period).updateBatch(rates.copy(), forces.copy())["quat6D"][:, order],
        "Mahony": Mahony(gyr=rates, acc=forces, frequency=1.0 / period).Q[:, order],
        "Madgwick": Madgwick(gyr=rates, acc=forces, frequency=1.0 / period).Q[:, order],
    }


def imu_orientation() -> np.ndarray:
    """Orientation of the IMU in the base."""
    pipelines = shipped()
    assert pipelines.tilt is not None
    robot = pipelines.tilt.robot
    T_BI = robot.fixed_transform(robot.base_link, str(pipelines.values["imu_frame"]))
    return np.array(T_BI.rotation)


def _report(name: str, errors: TiltErrors) -> None:
    s = errors.summary
    print(f"{name:34s} " + " ".join(f"{np.degrees(v):6.3f}" for v in (s.mean, s.rms, s.p95, s.max)))


if __name__ == "__main__":
    main()
