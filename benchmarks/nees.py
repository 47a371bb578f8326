"""Consistency of the inertial filter on synthetic TALOS: NEES and NIS over seeds, with 95 % bounds.

Each seed draws the true inertias of three bodies from the filter's prior, writes them into the URDF,
simulates a double-support motion with realistic sensor noise, and runs the pipeline on the nominal URDF.
The filter's noise parameters follow from the sensors' and the window, nothing is fitted. Run:
python benchmarks/nees.py
"""

import argparse
from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2

from inertial_estimation.estimators.inertial_pipeline import InertialPipeline, InertialPipelineConfig
from inertial_estimation.models.differentiation import window_weights
from inertial_estimation.models.urdf_inertia import urdf_with_bodies
from inertial_estimation.parameters import build_config
from inertial_estimation.replay.sensor_noise import REALISTIC, SensorNoise, measure
from inertial_estimation.replay.synthetic import Timing
from inertial_estimation.replay.synthetic_robots import synthetic_truth
from inertial_estimation.replay.urdf_source import read_urdf
from inertial_estimation.signals import ImuSample, JointReading, WrenchSample

RATE = 250.0
WINDOW = 0.05
LINKS = ("torso_2_link", "arm_left_5_link", "arm_right_5_link")


def window_noise(sensors: SensorNoise) -> dict[str, float]:
    """Standard deviations of window means and slopes of white noise, from the window's own weights."""
    half = int(0.5 * WINDOW * RATE)
    weights = window_weights(np.arange(-half, half + 1) / RATE)
    mean, slope = (float(np.linalg.norm(part)) for part in (weights.mean, weights.slope))
    return {
        "noise.torque": sensors.effort * mean,
        "noise.contact_force": sensors.force * mean,
        "noise.contact_moment": sensors.torque * mean,
        "noise.proper_acceleration": sensors.specific_force * mean,
        "noise.angular_acceleration": sensors.angular_rate * slope,
        "noise.joint_acceleration": sensors.velocity * slope,
        "noise.base_force": 0.05,
        "noise.base_moment": 0.05,
    }


def talos_pipeline(**changes: object) -> InertialPipeline:
    values = {
        "imu_frame": "imu_link",
        "contacts": ("left_foot", "right_foot"),
        "contact_frames": ("left_sole_link", "right_sole_link"),
        "links": LINKS,
        "rate": 125.0,
        "window": WINDOW,
        "prior.mass": 0.2,
        "prior.com": 0.02,
        "prior.radii": 0.1,
        "prior.memory": 1e9,
        **window_noise(REALISTIC),
        **changes,
    }
    urdf = read_urdf("example-robot-data:talos_reduced")
    return InertialPipeline(build_config(InertialPipelineConfig, values), urdf)


@dataclass
class Consistency:
    """Of one seed: NEES and NIS per update, and the share accepted."""

    times: np.ndarray
    nees: np.ndarray
    nis: np.ndarray
    accepted: float


def one_seed(seed: int, duration_s: float) -> Consistency:
    rng = np.random.default_rng(seed)
    pipeline = talos_pipeline()
    filter_ = pipeline.filter
    x_true = filter_.x + filter_.prior_factor @ rng.normal(size=len(filter_.x))
    pi_C, _jacobian = filter_._body_map(x_true.reshape(-1, 10))
    bodies = filter_.bodies
    truth_L = [body.to_link @ pi for body, pi in zip(bodies, pi_C, strict=True)]
    urdf = urdf_with_bodies(read_urdf("example-robot-data:talos_reduced"), pipeline.robot, bodies, truth_L)
    timing = Timing(duration_s=duration_s, rate_hz=RATE)
    truth = synthetic_truth("talos", timing, rng, urdf=urdf, payload_time_s=None)
    recording = measure(truth, REALISTIC, rng)
    times, nees, nis, accepted = [], [], [], []
    wanted = [topic for topic in recording.topics if "ground" not in topic]
    for entry in recording.entries(wanted):
        sample = entry.sample
        if isinstance(sample, ImuSample):
            pipeline.push_imu(sample)
        elif isinstance(sample, JointReading):
            pipeline.push_joints(sample)
        elif isinstance(sample, WrenchSample):
            pipeline.push_wrench(entry.topic.split("/")[1], sample)
        for estimate in pipeline.tick(sample.stamp_ns):
            error = filter_.x - x_true
            times.append((estimate.stamp_ns - int(truth.stamps_ns[0])) * 1e-9)
            nees.append(float(error @ np.linalg.solve(filter_.P, error)))
            nis.append(estimate.nis)
            accepted.append(estimate.accepted)
    return Consistency(np.array(times), np.array(nees), np.array(nis), float(np.mean(accepted)))


def mean_bounds(dof: int, runs: int) -> tuple[float, float]:
    """Two-sided 95 % bounds of the mean over runs of a chi-square variable."""
    low, high = chi2.ppf([0.025, 0.975], dof * runs) / runs
    return float(low), float(high)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--duration", type=float, default=6.0)
    args = parser.parse_args()
    runs = [one_seed(seed, args.duration) for seed in range(args.seeds)]
    shortest = min(len(run.times) for run in runs)
    pipeline = talos_pipeline()
    dofs = {"NEES": len(pipeline.filter.x), "NIS": len(pipeline.row_names)}
    print(f"{args.seeds} seeds, accepted {np.mean([run.accepted for run in runs]):.4f}")
    for name, dof in dofs.items():
        table = np.array([getattr(run, name.lower())[:shortest] for run in runs])
        low, high = mean_bounds(dof, args.seeds)
        mean = table.mean(axis=0)
        print(f"{name}: {dof} degrees of freedom, bounds of the mean [{low:.2f}, {high:.2f}]")
        for fraction in (0.1, 0.25, 0.5, 0.75, 1.0):
            k = min(shortest - 1, int(fraction * shortest))
            print(f"  t = {runs[0].times[k]:5.2f} s  mean {mean[k]:7.2f}")
        inside = np.mean((mean > low) & (mean < high))
        print(f"  mean over time {mean.mean():.2f}; share of updates inside the bounds {inside:.2f}")


if __name__ == "__main__":
    main()
