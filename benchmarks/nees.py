"""Consistency of the inertial filters on synthetic TALOS: NEES and NIS over seeds, with 95 % bounds.

Each seed draws the true state of three bodies from the filter's own prior, writes the bodies into the
URDF, simulates a double-support motion with realistic sensor noise, and runs the pipeline on the nominal
URDF. The filter's noise parameters follow from the sensors' and the window, nothing is fitted. NEES is
that of the filter's state; "mass 2s" is the share of masses within the reported two sigma (95.4 %).
Run: python -m benchmarks.nees
"""

import argparse
from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2

from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.estimators.inertial.inertial_pipeline import InertialPipeline, InertialPipelineConfig
from inertial_estimation.models.differentiation import window_weights
from inertial_estimation.models.urdf_inertia import urdf_with_bodies
from inertial_estimation.parameters import build_config
from inertial_estimation.recordings.recording import MemoryRecording
from inertial_estimation.signals import ImuSample, JointReading, WrenchSample
from inertial_estimation.simulation.sensor_noise_config import REALISTIC, SensorNoise
from inertial_estimation.spatial.inertial_parameters import pseudo_inertia
from inertial_estimation.synthetic.synthetic_robots import synthetic_truth
from inertial_estimation.synthetic.synthetic_sensors import measure
from inertial_estimation.synthetic.synthetic_truth import Timing

RATE = 250.0
WINDOW = 0.05
PRIORS = {
    "CAD": {"prior.mass": 0.2, "prior.com": 0.02, "prior.radii": 0.1},
    "wide": {"prior.mass": 0.3, "prior.com": 0.03, "prior.radii": 0.2},
}
FILTERS = ("log_cholesky", "linear")
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
        "prior.memory": 1e9,
        **window_noise(REALISTIC),
        **changes,
    }
    urdf = read_urdf("example-robot-data:talos_reduced")
    return InertialPipeline(build_config(InertialPipelineConfig, values), urdf)


@dataclass
class Consistency:
    """Of one seed, per update: NEES, NIS, share of masses within two sigma, and whether it was accepted."""

    nees: np.ndarray
    nis: np.ndarray
    mass: np.ndarray
    accepted: np.ndarray


def one_seed(seed: int, duration_s: float, **changes: object) -> Consistency:
    rng = np.random.default_rng(seed)
    pipeline = talos_pipeline(**changes)
    filter_, bodies = pipeline.filter, pipeline.filter.bodies
    while True:  # a prior of the linear filter also contains bodies that no URDF may have
        x_true = filter_.x + filter_.prior_factor @ rng.normal(size=len(filter_.x))
        true_C, _jacobian = filter_._body_map(x_true.reshape(-1, 10))
        if all(np.linalg.eigvalsh(pseudo_inertia(pi)).min() > 0.0 for pi in true_C):
            break
    truth_L = [body.to_link @ pi for body, pi in zip(bodies, true_C, strict=True)]
    urdf = urdf_with_bodies(read_urdf("example-robot-data:talos_reduced"), pipeline.robot, bodies, truth_L)
    timing = Timing(duration_s=duration_s, rate_hz=RATE)
    truth = synthetic_truth("talos", timing, rng, urdf=urdf, payload_time_s=None)
    return one_run(pipeline, measure(truth, REALISTIC, rng), x_true, true_C[:, 0])


def one_run(
    pipeline: InertialPipeline, recording: MemoryRecording, x_true: np.ndarray, masses: np.ndarray
) -> Consistency:
    filter_ = pipeline.filter
    nees, nis, inside, accepted = [], [], [], []
    for entry in recording.entries([topic for topic in recording.topics if "ground" not in topic]):
        sample = entry.sample
        if isinstance(sample, ImuSample):
            pipeline.push_imu(sample)
        elif isinstance(sample, JointReading):
            pipeline.push_joints(sample)
        elif isinstance(sample, WrenchSample):
            pipeline.push_wrench(entry.topic.split("/")[1], sample)
        for estimate in pipeline.tick(sample.stamp_ns):
            error = filter_.x - x_true
            nees.append(float(error @ np.linalg.solve(filter_.P, error)))
            nis.append(estimate.nis)
            pi_C, covariance = filter_.body_parameters()
            inside.append(np.mean((pi_C[:, 0] - masses) ** 2 < 4.0 * covariance[:, 0, 0]))
            accepted.append(estimate.accepted)
    return Consistency(*(np.array(values) for values in (nees, nis, inside, accepted)))


def mean_bounds(dof: int, runs: int) -> tuple[float, float]:
    """Two-sided 95 % bounds of the mean over runs of a chi-square variable."""
    low, high = chi2.ppf([0.025, 0.975], dof * runs) / runs
    return float(low), float(high)


def summary(series: list[np.ndarray], dof: int) -> str:
    """Mean over runs and time, the ensemble mean at the end, and the share of updates inside the bounds."""
    shortest = min(len(values) for values in series)
    mean = np.array([values[:shortest] for values in series]).mean(axis=0)
    low, high = mean_bounds(dof, len(series))
    inside = np.mean((mean > low) & (mean < high))
    return f"{mean.mean():7.2f} {mean[-1]:7.2f} [{low:.1f}, {high:.1f}] {100 * inside:6.1f} %"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--duration", type=float, default=6.0)
    args = parser.parse_args()
    print(f"{args.seeds} seeds, {args.duration:g} s; inside: updates whose mean over seeds is in the bounds")
    print(f"{'prior':<6}{'filter':<14}accepted  mass 2s {'mean':>13} {'last':>7} {'bounds':>12}   inside")
    for prior, values in PRIORS.items():
        for name in FILTERS:
            runs = [one_seed(seed, args.duration, filter=name, **values) for seed in range(args.seeds)]
            accepted, mass = (
                np.mean([getattr(run, key).mean() for run in runs]) for key in ("accepted", "mass")
            )
            start = f"{prior:<6}{name:<14}{100 * accepted:6.1f} % {100 * mass:6.1f} %"
            pipeline = talos_pipeline(filter=name, **values)
            print(f"{start}  NEES {summary([run.nees for run in runs], len(pipeline.filter.x))}")
            print(f"{'':<{len(start)}}  NIS  {summary([run.nis for run in runs], len(pipeline.row_names))}")


if __name__ == "__main__":
    main()
