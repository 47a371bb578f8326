"""Consistency of the inertial filters on synthetic TALOS: NEES and NIS over seeds, with 95 % bounds.

Each seed draws the true inertias of three bodies from the log-Cholesky filter's prior, writes them into
the URDF, simulates a double-support motion with realistic sensor noise, and runs the pipeline with either
filter on the nominal URDF. The filters' noise parameters follow from the sensors' and the window, nothing
is fitted. NEES is that of the parameters pi, with the covariance the filter reports for them.
Run: python -m benchmarks.nees
"""

import argparse
from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2

from inertial_estimation.estimators.inertial_filter import InertialFilter
from inertial_estimation.estimators.inertial_pipeline import InertialPipeline, InertialPipelineConfig
from inertial_estimation.models.differentiation import window_weights
from inertial_estimation.models.urdf_inertia import urdf_with_bodies
from inertial_estimation.parameters import build_config
from inertial_estimation.replay.recording import MemoryRecording
from inertial_estimation.replay.sensor_noise import REALISTIC, SensorNoise, measure
from inertial_estimation.replay.synthetic import Timing
from inertial_estimation.replay.synthetic_robots import synthetic_truth
from inertial_estimation.replay.urdf_source import read_urdf
from inertial_estimation.signals import ImuSample, JointReading, WrenchSample

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
    """Of one seed: NEES and NIS per update, and the share accepted."""

    nees: np.ndarray
    nis: np.ndarray
    accepted: float


def draw_recording(seed: int, prior: str, duration_s: float) -> tuple[np.ndarray, MemoryRecording]:
    """True parameters of the bodies in C, shape (n, 10), and what sensors read."""
    rng = np.random.default_rng(seed)
    pipeline = talos_pipeline(**PRIORS[prior])
    filter_, bodies = pipeline.filter, pipeline.filter.bodies
    x_true = filter_.x + filter_.prior_factor @ rng.normal(size=len(filter_.x))
    pi_C, _jacobian = filter_._body_map(x_true.reshape(-1, 10))
    truth_L = [body.to_link @ pi for body, pi in zip(bodies, pi_C, strict=True)]
    urdf = urdf_with_bodies(read_urdf("example-robot-data:talos_reduced"), pipeline.robot, bodies, truth_L)
    timing = Timing(duration_s=duration_s, rate_hz=RATE)
    truth = synthetic_truth("talos", timing, rng, urdf=urdf, payload_time_s=None)
    return pi_C, measure(truth, REALISTIC, rng)


def squared_error(filter_: InertialFilter, true_C: np.ndarray) -> float:
    """NEES of the parameters, e' (G P G')^-1 e."""
    pi_C, G = filter_._body_map(filter_.x.reshape(-1, 10))
    error = np.linalg.solve(G, (true_C - pi_C)[:, :, None]).ravel()
    return float(error @ np.linalg.solve(filter_.P, error))


def one_run(pipeline: InertialPipeline, recording: MemoryRecording, true_C: np.ndarray) -> Consistency:
    nees, nis, accepted = [], [], []
    for entry in recording.entries([topic for topic in recording.topics if "ground" not in topic]):
        sample = entry.sample
        if isinstance(sample, ImuSample):
            pipeline.push_imu(sample)
        elif isinstance(sample, JointReading):
            pipeline.push_joints(sample)
        elif isinstance(sample, WrenchSample):
            pipeline.push_wrench(entry.topic.split("/")[1], sample)
        for estimate in pipeline.tick(sample.stamp_ns):
            nees.append(squared_error(pipeline.filter, true_C))
            nis.append(estimate.nis)
            accepted.append(estimate.accepted)
    return Consistency(np.array(nees), np.array(nis), float(np.mean(accepted)))


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
    print(
        f"{args.seeds} seeds, {args.duration:g} s, inside: share of updates whose mean over seeds is inside"
    )
    print(f"{'prior':<6}{'filter':<14}{'accepted':>9}       mean    last       bounds inside")
    for prior, values in PRIORS.items():
        runs: dict[str, list[Consistency]] = {name: [] for name in FILTERS}
        for seed in range(args.seeds):
            true_C, recording = draw_recording(seed, prior, args.duration)
            for name in FILTERS:
                pipeline = talos_pipeline(filter=name, **values)
                runs[name].append(one_run(pipeline, recording, true_C))
        rows, states = len(pipeline.row_names), len(pipeline.filter.x)
        for name, kept in runs.items():
            start = f"{prior:<6}{name:<14}{100 * np.mean([run.accepted for run in kept]):7.2f} %"
            print(f"{start}  NEES {summary([run.nees for run in kept], states)}")
            print(f"{'':<29}  NIS  {summary([run.nis for run in kept], rows)}")


if __name__ == "__main__":
    main()
