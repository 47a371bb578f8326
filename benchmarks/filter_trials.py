"""Time of a run of the inertial filter over steps recorded once, as a search for parameters makes it.

The recording is a synthetic TALOS at 100 Hz. Compared, in turn in one process: a replay of the readings, and
the steps kept by a pipeline filtered again (updates alone, and with the estimates handed over). Printed is
the processor time. Run from the root of the project: ``python -m benchmarks.filter_trials --duration 60``.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np

from benchmarks.inertial_update import talos_pipeline
from benchmarks.telemetry_cost import push
from inertial_estimation.estimators.inertial.inertial_pipeline import InertialPipeline
from inertial_estimation.estimators.inertial.recorded_steps import RecordedSteps
from inertial_estimation.recordings.recording import RecordingEntry
from inertial_estimation.simulation.sensor_noise_config import REALISTIC
from inertial_estimation.synthetic.synthetic_robots import synthetic_truth
from inertial_estimation.synthetic.synthetic_sensors import measure
from inertial_estimation.synthetic.synthetic_truth import Timing

RATE_HZ = 100.0
TRIALS, CORES = 200, 2  # of the bound in docs/results.md


def entries_of(duration_s: float) -> list[RecordingEntry]:
    timing = Timing(duration_s=duration_s, rate_hz=RATE_HZ)
    truth = synthetic_truth("talos", timing, np.random.default_rng(0), payload_time_s=0.5 * duration_s)
    recording = measure(truth, REALISTIC, np.random.default_rng(1))
    return list(recording.entries([topic for topic in recording.topics if "ground" not in topic], 0))


def replayed(entries: list[RecordingEntry], pipeline: InertialPipeline) -> int:
    steps = 0
    for entry in entries:
        push(pipeline, entry.topic, entry.sample)
        steps += len(pipeline.tick(entry.sample.stamp_ns))
    return steps


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--duration", type=float, default=60.0, help="of the recording [s]")
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    entries = entries_of(args.duration)
    pipeline = talos_pipeline()
    pipeline.kept_steps = []
    replayed(entries, pipeline)
    recorded = RecordedSteps(pipeline)
    calls: dict[str, Callable[[], int]] = {
        "replay of the readings": lambda: replayed(entries, talos_pipeline()),
        "updates of kept steps": lambda: sum(1 for _ in recorded.updates(pipeline.config)),
        "estimates of kept steps": lambda: sum(1 for _ in recorded.estimates(pipeline.config)),
    }
    least = dict.fromkeys(calls, np.inf)
    for _ in range(args.runs):
        for name, call in calls.items():
            begin = time.process_time()
            steps = call()
            least[name] = min(least[name], time.process_time() - begin)
    print(f"TALOS, 3 bodies, {len(recorded.steps)} steps at {RATE_HZ:.0f} Hz; the least of {args.runs} runs")
    for name, seconds in least.items():
        print(
            f"{name:<24} {seconds:6.2f} s, {1e6 * seconds / steps:6.0f} us a step, {TRIALS} on {CORES} cores "
            f"{TRIALS / CORES * seconds / 60.0:5.1f} min"
        )


if __name__ == "__main__":
    main()
