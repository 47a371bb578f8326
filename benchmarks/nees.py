"""Consistency and efficiency of the inertial filters on synthetic TALOS, over seeds.

Each seed draws the true state of three bodies from the filter's own prior, writes the bodies into the
URDF, simulates a double-support motion with realistic sensor noise, and runs the pipeline on the nominal
URDF. The filter's noise parameters follow from the sensors' and the window, nothing is fitted. NEES, with
95 % bounds, is that of mean and covariance of the coordinates, from which samples are drawn and the reported
covariance follows; "mass 2s", "second 2s" are the shares of masses and of moments and products of inertia
within the reported two sigma (95.4 %). "rms / CRLB" is, for each parameter at the end, the error in units of
the Cramer-Rao bound of its seed (with the prior, van Trees): the inverse of the prior's and the data's
information at the truth, freed of what errors of the regressor feign (`regressor_errors`); "by the median" is
the standard deviation that their median magnitude gives, which a few failed seeds do not move.
With --errors the torque sensors of the joints that carry a body and the accelerometer have errors drawn from
the prior of `sensor_errors`, which the filter estimates or considers; NEES is then that of bodies and errors,
"errors 2s" the share of the errors within two sigma, and there is no bound.
Run: python -m benchmarks.nees, or with --priors wide --filters log_cholesky [--errors estimated considered]
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.stats import chi2, norm

from benchmarks.regressor_errors import feigned_information
from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.estimators.inertial.inertial_config import InertialPipelineConfig
from inertial_estimation.estimators.inertial.inertial_estimator import MeasuredStep
from inertial_estimation.estimators.inertial.inertial_pipeline import InertialPipeline
from inertial_estimation.models.differentiation import window_weights
from inertial_estimation.models.urdf_inertia import urdf_with_bodies
from inertial_estimation.parameters import build_config
from inertial_estimation.recordings.recording import MemoryRecording
from inertial_estimation.signals import ImuSample, JointReading, WrenchSample
from inertial_estimation.simulation.sensor_noise_config import REALISTIC, SensorNoise
from inertial_estimation.spatial.inertial_parameters import PARAMETER_NAMES, pseudo_inertia
from inertial_estimation.synthetic.synthetic_robots import synthetic_truth
from inertial_estimation.synthetic.synthetic_sensors import measure
from inertial_estimation.synthetic.synthetic_truth import Timing

RATE = 250.0
WINDOW = 0.05
PRIORS = {
    "CAD": {"prior.mass": 0.2, "prior.com": 0.02, "prior.radii": 0.1},
    "wide": {"prior.mass": 0.3, "prior.com": 0.03, "prior.radii": 0.2},
    "shipped": {"prior.mass": 1.0, "prior.com": 0.1, "prior.radii": 0.5},
}
FILTERS = ("log_cholesky", "linear")
MOST_FEIGNED = 0.9  # share of the information in any direction
NO_BASE_WRENCH = {"sensor_errors.base_force": 0.0, "sensor_errors.base_moment": 0.0}  # no sensor has it
THINNED = 5  # steps of which the information is that of one
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
    """Of one seed.

    Attributes:
        nees: Of every update.
        nis: Of every update.
        mass: Share of masses within two sigma, of every update.
        second: Share of moments and products of inertia within two sigma, of every update.
        accepted: Whether an update was accepted.
        errors: Share of errors of sensors within two sigma, of every update; NaN without any.
        efficiency: Errors at the end over the Cramer-Rao bound of the seed, shape (n_bodies, 10).
    """

    nees: np.ndarray
    nis: np.ndarray
    mass: np.ndarray
    second: np.ndarray
    accepted: np.ndarray
    errors: np.ndarray
    efficiency: np.ndarray


def one_seed(seed: int, duration_s: float, **changes: object) -> Consistency:
    rng = np.random.default_rng(seed)
    pipeline = talos_pipeline(**changes)
    filter_, bodies = pipeline.filter, pipeline.filter.bodies
    while True:  # a prior of the linear filter also contains bodies that no URDF may have
        x_true = filter_.x + filter_.prior_factor @ rng.normal(size=len(filter_.x))
        true_C, _jacobian = filter_._body_map(x_true[: filter_.kinds.inferred].reshape(-1, 10))
        if all(np.linalg.eigvalsh(pseudo_inertia(pi)).min() > 0.0 for pi in true_C):
            break
    truth_L = [body.to_link @ pi for body, pi in zip(bodies, true_C, strict=True)]
    urdf = urdf_with_bodies(read_urdf("example-robot-data:talos_reduced"), pipeline.robot, bodies, truth_L)
    timing = Timing(duration_s=duration_s, rate_hz=RATE)
    truth = synthetic_truth("talos", timing, rng, urdf=urdf, payload_time_s=None)
    return one_run(pipeline, measure(truth, REALISTIC, rng), x_true)


def with_errors(pipeline: InertialPipeline, x_true: np.ndarray) -> Callable[[Any], Any]:
    """Return what makes a reading wrong by the errors of the sensors in a true state.

    The equation is linear in the reading, so the errors are those of true value = (1 - g) reading - o.
    """
    described = pipeline.model.errors
    if described is None:
        return lambda sample: sample
    values = dict(zip(described.names, x_true[pipeline.filter.kinds.inferred :], strict=True))
    bias = np.array([values.get(f"accelerometer_bias/{axis}", 0.0) for axis in "xyz"])
    scale = 1.0 - values.get("accelerometer_scale/imu", 0.0)

    def faulty(sample: object) -> object:
        if isinstance(sample, ImuSample):
            return replace(sample, specific_force_I=(sample.specific_force_I + bias) / scale)
        if isinstance(sample, JointReading):
            gains = np.array([values.get(f"torque_gain/{name}", 0.0) for name in sample.names])
            offsets = np.array([values.get(f"torque_offset/{name}", 0.0) for name in sample.names])
            return replace(sample, effort=(sample.effort + offsets) / (1.0 - gains))
        return sample

    return faulty


def one_run(pipeline: InertialPipeline, recording: MemoryRecording, x_true: np.ndarray) -> Consistency:
    filter_, posterior, faulty = pipeline.filter, pipeline.estimator.posterior, with_errors(pipeline, x_true)
    true_C = filter_.parameters_at(filter_.body_coordinates(x_true))
    n, lies = filter_.kinds.inferred, pipeline.model.errors is not None
    steps: list[MeasuredStep] = []
    if not lies:
        pipeline.on_update = lambda step, _update: steps.append(step)
    rows = []
    for entry in recording.entries([topic for topic in recording.topics if "ground" not in topic]):
        sample = faulty(entry.sample)
        if isinstance(sample, ImuSample):
            pipeline.push_imu(sample)
        elif isinstance(sample, JointReading):
            pipeline.push_joints(sample)
        elif isinstance(sample, WrenchSample):
            pipeline.push_wrench(entry.topic.split("/")[1], sample)
        for estimate in pipeline.tick(sample.stamp_ns):
            error = posterior.mean - x_true
            nees = float(error @ np.linalg.solve(posterior.covariance, error))
            pi_C, moments = posterior.parameters_of(filter_.state)
            inside = (pi_C - true_C) ** 2 < 4.0 * moments.diagonal(axis1=1, axis2=2)
            of_errors = error[n:] ** 2 < 4.0 * posterior.covariance.diagonal()[n:]
            shares = inside[:, 0].mean(), inside[:, 4:].mean(), estimate.accepted
            rows.append((nees, estimate.nis, *shares, of_errors.mean() if lies else np.nan))
    bound = np.full_like(pi_C, np.nan) if lies else cramer_rao_bound(pipeline, steps, x_true)
    return Consistency(*np.array(rows).T, efficiency=(pi_C - true_C) / bound)


def cramer_rao_bound(
    pipeline: InertialPipeline, steps: Sequence[MeasuredStep], x_true: np.ndarray
) -> np.ndarray:
    """Return the least standard deviation of every parameter in C, shape (n_bodies, 10)."""
    filter_, measurement = pipeline.filter, pipeline.model.measurement
    at_truth = filter_._linearisation(x_true)
    information, feigned = np.zeros_like(filter_.P), np.zeros_like(filter_.P)
    for step in steps[::THINNED]:
        equation = measurement.restated(step.equation, at_truth.phi)
        weighted = np.linalg.solve(equation.noise, equation.regressor)
        share = THINNED / filter_.overlap
        information += share * equation.regressor.T @ weighted
        feigned += share * feigned_information(measurement, equation).information
    G = at_truth.dphi
    measured, excess = filter_._prior_information + G.T @ information @ G, G.T @ feigned @ G
    largest = eigh(excess, measured, eigvals_only=True)[-1]
    P = np.linalg.inv(measured - min(1.0, MOST_FEIGNED / largest) * excess)  # positive in any case
    return np.sqrt(filter_.parameters_of(x_true, P)[1].diagonal(axis1=1, axis2=2))


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
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--duration", type=float, default=6.0)
    parser.add_argument("--priors", nargs="+", choices=PRIORS, default=["CAD", "wide"])
    parser.add_argument("--filters", nargs="+", choices=FILTERS, default=FILTERS)
    treatments = ["none", "estimated", "considered"]
    parser.add_argument(
        "--errors", nargs="+", choices=treatments, default=["none"], help="treatment of errors of sensors"
    )
    args = parser.parse_args()
    print(
        f"{args.seeds} seeds from {args.first} on, {args.duration:g} s; "
        "inside: updates whose mean over seeds is in the bounds"
    )
    columns = f"accepted  mass 2s  second 2s {'mean':>12} {'last':>7} {'bounds':>12}   inside"
    print(f"{'prior':<8}{'filter':<14}{columns}")
    for prior in args.priors:
        for name in args.filters:
            for treatment in args.errors:
                errors = {"sensor_errors.treatment": treatment, **NO_BASE_WRENCH}
                values = {"filter": name, **PRIORS[prior], **errors}
                runs = [
                    one_seed(seed, args.duration, **values)
                    for seed in range(args.first, args.first + args.seeds)
                ]
                title = f"{prior:<8}{name:<14}" + ("" if treatment == "none" else f"{treatment}: ")
                report(title, runs, talos_pipeline(**values))


def report(name: str, runs: list[Consistency], pipeline: InertialPipeline) -> None:
    shares = [np.mean([getattr(run, key).mean() for run in runs]) for key in ("accepted", "mass", "second")]
    start = name + " ".join(f"{100 * share:6.1f} %" for share in shares)
    print(f"{start}  NEES {summary([run.nees for run in runs], len(pipeline.filter.x))}")
    last = np.array([run.nees[-1] for run in runs])
    print(f"{'':<{len(start)}}  of the last update: median {np.median(last):.1f}, worst {last.max():.3g}")
    print(f"{'':<{len(start)}}  NIS  {summary([run.nis for run in runs], len(pipeline.row_names))}")
    if np.isfinite(runs[0].errors).all():
        print(f"  errors 2s {100 * np.mean([run.errors.mean() for run in runs]):.1f} %", flush=True)
        return
    ratios = np.array([run.efficiency for run in runs]).reshape(-1, 10)
    rms, typical = np.sqrt(np.mean(ratios**2, axis=0)), np.median(np.abs(ratios), axis=0) / norm.ppf(0.75)
    for kind, values in (("rms / CRLB", rms), ("by the median", typical)):
        print(f"  {kind}: " + ", ".join(map("{} {:.2f}".format, PARAMETER_NAMES, values)), flush=True)


if __name__ == "__main__":
    main()
