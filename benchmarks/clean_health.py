"""Health on clean recordings of real robots: how often it warns although nothing is wrong.

The iCub that walks (both estimators) and the Panda that moves (the inertial filter), replayed with their
parameter files as they are; health is sampled every 0.05 s of data from 2 s on. Run from the root of the
project, with INERTIAL_ESTIMATION_DATASETS set: python -m benchmarks.clean_health
"""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from benchmarks.telemetry_cost import push
from inertial_estimation.configuration.config_file import load_config_file
from inertial_estimation.configuration.config_lookup import find_config
from inertial_estimation.configuration.pipelines import Pipelines, build_pipelines
from inertial_estimation.recordings.recording import BagRecording, RecordingEntry
from inertial_estimation.signals import NANOSECONDS, Health

ROOT = Path(__file__).resolve().parents[1]
DATASETS = Path(os.environ.get("INERTIAL_ESTIMATION_DATASETS", ROOT / "../shared/datasets"))
RECORDINGS = {  # robot: recording, description, seconds that are replayed
    "icub": ("icub_walking/walk_front_back_2021", "icub_walking/iCubGenova04.urdf", 71.5),
    "panda": ("panda_gaz2019/exciting_trajectory", "", 21.9),
}
FROM_S, EVERY_S = 2.0, 0.05


def feed(pipelines: Pipelines, entry: RecordingEntry) -> None:
    """Give one message to the pipelines, and the tilt pipeline's estimates to the inertial filter."""
    for pipeline in (pipelines.tilt, pipelines.inertial):
        if pipeline is not None:
            push(pipeline, entry.topic, entry.sample)
    if pipelines.tilt is not None:
        for estimate in pipelines.tilt.tick(entry.log_ns):
            if pipelines.inertial is not None:
                pipelines.inertial.push_base_state(estimate.state)
    if pipelines.inertial is not None:
        pipelines.inertial.tick(entry.log_ns)


def samples(robot: str) -> Iterator[list[Health]]:
    """Yield what is not OK, sampled over the recording of a robot."""
    folder, urdf, length_s = RECORDINGS[robot]
    config = load_config_file(find_config(robot))
    pipelines = build_pipelines(config, urdf=str(DATASETS / urdf) if urdf else "")
    with BagRecording(DATASETS / folder) as recording:
        wanted = [t for t in recording.topics if t in ("/imu/data", "/joint_states") or t.endswith("/wrench")]
        due_ns = recording.start_ns + round(FROM_S * NANOSECONDS)
        for entry in recording.entries(wanted):
            feed(pipelines, entry)
            if entry.log_ns >= due_ns:
                due_ns += round(EVERY_S * NANOSECONDS)
                found = [p for p in (pipelines.tilt, pipelines.inertial) if p is not None]
                yield [health for p in found for health in p.health(entry.log_ns) if health.level]
            if entry.log_ns - recording.start_ns > length_s * NANOSECONDS:
                return


def main() -> None:
    for robot in RECORDINGS:
        all_of_them = list(samples(robot))
        said = Counter(f"{h.level.name} {h.name}: {h.message}" for bad in all_of_them for h in bad)
        print(f"{robot}: {sum(map(bool, all_of_them))} of {len(all_of_them)} samples not OK")
        for text, times in said.most_common(10):
            print(f"  {times} times {text}")


if __name__ == "__main__":
    main()
