"""Speed of a replay with both pipelines: seconds of recording per second of wall clock, reading included.

The recording is iCub walking where the data sets are (``INERTIAL_ESTIMATION_DATASETS``), else a synthetic
one of Talos, written to a bag first. Run from the root of the project: ``python -m benchmarks.replay_speed``.
Bound: 50 times real time.
"""

import argparse
import os
import tempfile
import time
from pathlib import Path

import numpy as np

from inertial_estimation.configuration.config_file import load_config_file
from inertial_estimation.configuration.config_lookup import find_config
from inertial_estimation.configuration.pipelines import build_pipelines, replay_topics
from inertial_estimation.recordings.recording import BagRecording
from inertial_estimation.recordings.recording_writer import write_recording
from inertial_estimation.replay.replay import replay_recording
from inertial_estimation.replay.replay_run import ReplayRun
from inertial_estimation.simulation.sensor_noise_config import REALISTIC
from inertial_estimation.synthetic.synthetic_robots import synthetic_truth
from inertial_estimation.synthetic.synthetic_sensors import measure
from inertial_estimation.synthetic.synthetic_truth import Timing

ICUB_BAG = Path("icub_walking", "walk_front_back_2021")
ICUB_URDF = Path("icub_walking", "iCubGenova04.urdf")
TALOS_DURATION = 20.0  # of the synthetic recording [s]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--synthetic", action="store_true", help="take Talos even where the data sets are")
    args = parser.parse_args()
    datasets = Path(os.environ.get("INERTIAL_ESTIMATION_DATASETS", "../shared/datasets"))
    if (datasets / ICUB_BAG).exists() and not args.synthetic:
        report("icub", datasets / ICUB_BAG, str(datasets / ICUB_URDF), args.runs)
        return
    with tempfile.TemporaryDirectory() as folder:
        report("talos", talos_bag(Path(folder) / "talos"), "", args.runs)


def talos_bag(path: Path) -> Path:
    timing = Timing(duration_s=TALOS_DURATION)
    truth = synthetic_truth("talos", timing, np.random.default_rng(0), payload_time_s=5.0)
    write_recording(measure(truth, REALISTIC, np.random.default_rng(1)), path)
    return path


def report(robot: str, bag: Path, urdf: str, runs: int) -> None:
    timed = [one_run(robot, bag, urdf) for _ in range(runs)]
    results = [result for result, _cpu_s in timed]
    best = max(results, key=lambda result: result.realtime_factor)
    print(f"{robot}, {best.data_s:.1f} s, {len(best.base)} tilt and {len(best.inertial)} inertial steps")
    print(f"seconds of recording, {runs} runs         min   median      max")
    summarise("per second of wall clock", [result.realtime_factor for result in results])
    summarise("per second of CPU time", [result.data_s / cpu_s for result, cpu_s in timed])
    print("step p50 of the fastest run [us]:", end="")
    for name, durations in (("tilt", best.tilt_tick_ns), ("inertial", best.inertial_tick_ns)):
        print(f"   {name} {1e-3 * float(np.percentile(durations, 50)):.0f}", end="")
    print()


def summarise(name: str, factors: list[float]) -> None:
    print(f"{name:<32} {min(factors):8.1f} {np.median(factors):8.1f} {max(factors):8.1f}")


def one_run(robot: str, bag: Path, urdf: str) -> tuple[ReplayRun, float]:
    """Replay once; also the CPU time it took [s], which other programs disturb less."""
    pipelines = build_pipelines(load_config_file(find_config(robot)), urdf=urdf)
    topics = replay_topics(pipelines.values, {})
    with BagRecording(bag) as recording:
        begin = time.process_time()
        run = replay_recording(recording, topics, tilt=pipelines.tilt, inertial=pipelines.inertial)
        return run, time.process_time() - begin


if __name__ == "__main__":
    main()
