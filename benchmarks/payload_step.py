"""A 12 lb weight handed to a forearm: how fast and how well the inertial filter finds it.

Synthetic TALOS in double support with realistic sensor noise, config/talos.yaml as it is, gate on; the
weight is attached at 5 s. Prints, over seeds, when the mass of the forearm enters 5 % of the truth for
good: the filter's estimate, and what is published through the hand-over. Run:
python benchmarks/payload_step.py
"""

import argparse

import numpy as np

from inertial_estimation.configuration.config_file import load_config_file
from inertial_estimation.configuration.config_lookup import find_config
from inertial_estimation.configuration.pipelines import build_pipelines, replay_topics
from inertial_estimation.replay.replay import replay_recording
from inertial_estimation.simulation.payload import TWELVE_POUNDS
from inertial_estimation.simulation.sensor_noise_config import REALISTIC
from inertial_estimation.synthetic.synthetic_robots import synthetic_truth
from inertial_estimation.synthetic.synthetic_sensors import measure
from inertial_estimation.synthetic.synthetic_truth import Timing

LINK = "arm_left_5_link"
ATTACHED_S = 5.0


def settled_after(times: np.ndarray, masses: np.ndarray, truth: float) -> float:
    """Time after the attachment from which the mass stays within 5 % of the truth [s]."""
    outside = np.abs(masses / truth - 1.0) > 0.05
    last = np.flatnonzero(outside)[-1]
    return float("inf") if last + 1 == len(times) else float(times[last + 1] - ATTACHED_S)


def one_seed(seed: int) -> tuple[float, float, float]:
    motion, noise = (np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(2))
    truth = synthetic_truth("talos", Timing(duration_s=9.0, rate_hz=250.0), motion, payload_time_s=ATTACHED_S)
    pipelines = build_pipelines(load_config_file(find_config("talos")))
    recording = measure(truth, REALISTIC, noise)
    run = replay_recording(
        recording, replay_topics(pipelines.values, {}), tilt=None, inertial=pipelines.inertial
    )
    index = pipelines.inertial.config.links.index(LINK)
    links = [estimate.links[index] for estimate in run.inertial]
    times = np.array([estimate.stamp_ns - int(truth.stamps_ns[0]) for estimate in run.inertial]) * 1e-9
    mass = links[0].estimate.mass - links[0].payload.mass + TWELVE_POUNDS
    estimate = np.array([link.estimate.mass for link in links])
    published = np.array([link.published.mass for link in links])
    return (
        settled_after(times, estimate, mass),
        settled_after(times, published, mass),
        estimate[-1] / mass - 1.0,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=10)
    args = parser.parse_args()
    rows = np.array([one_seed(seed) for seed in range(args.seeds)])
    print(f"{args.seeds} seeds, gate on, 5.44 kg at {ATTACHED_S:g} s      median      worst")
    print(f"estimate within 5 % for good after [s]    {np.median(rows[:, 0]):8.3f}   {rows[:, 0].max():8.3f}")
    print(f"published within 5 % for good after [s]   {np.median(rows[:, 1]):8.3f}   {rows[:, 1].max():8.3f}")
    last = 100.0 * np.abs(rows[:, 2])
    print(f"error of the mass at the end [%]          {np.median(last):8.3f}   {last.max():8.3f}")


if __name__ == "__main__":
    main()
