"""Objectives of `tune` for the inertial filter, compared with the true error over random settings.

Each robot's true bodies are drawn from its prior and put into its description; the filter begins with the
nominal ones. Over random values of noise and prior, printed is the rank correlation (Spearman) of every
objective with two errors that nobody knows on a robot:

- estimate: rms error of the state over the last part, in standard deviations of the shipped prior;
- covariance: |log(NEES / n)|, by how much the stated covariance is too small or too large,

and, of each objective, both errors of the set that it would choose, with those of the shipped values and of
the best set. Run: python -m benchmarks.filter_objectives [talos] [panda] [--sets 40]
"""

import argparse
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from benchmarks.tuning import PARTS, panda_config, problem_of, talos_config
from inertial_estimation.configuration.config_file import ConfigFile
from inertial_estimation.configuration.pipelines import build_pipelines
from inertial_estimation.estimators.inertial.inertial_config import InertialPipelineConfig
from inertial_estimation.models.urdf_inertia import urdf_with_bodies
from inertial_estimation.parameters import build_config, parameter_values
from inertial_estimation.simulation.sensor_noise_config import REALISTIC
from inertial_estimation.spatial.inertial_parameters import pseudo_inertia
from inertial_estimation.synthetic.synthetic_robots import synthetic_truth
from inertial_estimation.synthetic.synthetic_sensors import measure
from inertial_estimation.synthetic.synthetic_truth import Timing
from inertial_estimation.tuning.filter_trials import FilterTrials
from inertial_estimation.tuning.recorded_run import RecordedRun
from inertial_estimation.tuning.variation import parse_variations

OBJECTIVES = ("likelihood", "calibration", "torque")
ROBOTS = {
    "talos": (
        talos_config,
        100.0,
        ("noise.torque", "noise.contact_force", "noise.joint_acceleration", "prior.mass", "prior.com"),
    ),
    "panda": (panda_config, 200.0, ("noise.torque", "noise.joint_acceleration", "prior.mass", "prior.com")),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("robots", nargs="*", choices=[*ROBOTS, []])
    parser.add_argument("--sets", type=int, default=40)
    parser.add_argument("--duration", type=float, default=30.0)
    args = parser.parse_args()
    for robot in args.robots or ROBOTS:
        report(robot, args.sets, args.duration)


def report(robot: str, count: int, duration_s: float) -> None:
    """Print the rank correlations of one robot."""
    made, rate_hz, vary = ROBOTS[robot]
    config, rng = made(), np.random.default_rng(0)
    urdf, x_true, prior = another_robot(config, rng)
    truth = synthetic_truth(robot, Timing(duration_s, rate_hz), rng, urdf=urdf, payload_time_s=None)
    run = RecordedRun(measure(truth, REALISTIC, rng), config)
    variations = parse_variations([f"inertial_ekf.{name}" for name in vary], run.configs)
    sets: list[dict[str, Any]] = [{}]
    sets += [{v.name: v.value_at(float(rng.random())) for v in variations} for _ in range(count)]
    problems = {name: problem_of([run], vary, name)[0] for name in OBJECTIVES}
    trials = problems["likelihood"].trials[0]
    assert isinstance(trials, FilterTrials)
    errors = np.array([true_errors(trials, values, x_true, prior) for values in sets])
    print(f"\n{robot}, {count} random sets of {', '.join(vary)}")
    print(f"{'':14s}{'rank, estimate':>16s}{'rank, covariance':>18s}   chosen: estimate, |log NEES/n|")
    for name, problem in problems.items():
        scores = np.array([np.nanmean(problem.all_scores(values)) for values in sets])
        ranks = [spearmanr(scores, error)[0] for error in errors.T]
        chosen = errors[int(np.argmin(scores))]
        print(f"{name:14s}{ranks[0]:16.2f}{ranks[1]:18.2f}   {chosen[0]:8.3f}{chosen[1]:8.2f}", flush=True)
    print(f"{'shipped':48s}   {errors[0][0]:8.3f}{errors[0][1]:8.2f}")
    print(f"{'least of all sets':48s}   {errors[:, 0].min():8.3f}{errors[:, 1].min():8.2f}")


def another_robot(config: ConfigFile, rng: np.random.Generator) -> tuple[str, np.ndarray, np.ndarray]:
    """Draw the true bodies from the prior; return the description with them, the true state and the prior."""
    pipelines = build_pipelines(config)
    pipeline = pipelines.inertial
    assert pipeline is not None
    filter_, bodies = pipeline.filter, pipeline.filter.bodies
    own = slice(0, 10 * len(bodies))
    x_true = filter_.x.copy()
    x_true[own] += (filter_.prior_factor @ rng.normal(size=len(x_true)))[own]
    true_C, _jacobian = filter_._body_map(x_true[own].reshape(-1, 10))
    assert all(np.linalg.eigvalsh(pseudo_inertia(pi)).min() > 0.0 for pi in true_C)
    truth_L = [body.to_link @ pi for body, pi in zip(bodies, true_C, strict=True)]
    urdf = urdf_with_bodies(pipelines.urdf, pipeline.robot, bodies, truth_L)
    return urdf, x_true[own], filter_.prior_factor[own, own]


def true_errors(
    trials: FilterTrials, values: Mapping[str, Any], x_true: np.ndarray, prior: np.ndarray
) -> tuple[float, float]:
    """Return the errors of the estimate and of its covariance over the last part."""
    begin_ns, size = trials.division.part_end_ns(PARTS - 2), len(x_true)
    changed = {"noise_adaptation.enabled": False, **values}
    config = build_config(InertialPipelineConfig, {**parameter_values(trials._config), **changed})
    squares, nees = [], []
    for step, _update, estimator in trials._recorded._filtered(config):
        if step.stamp_ns >= begin_ns:
            error = estimator.filter.x[:size] - x_true
            squares.append(float(np.mean(np.linalg.solve(prior, error) ** 2)))
            nees.append(float(error @ np.linalg.solve(estimator.filter.P[:size, :size], error)))
    return float(np.sqrt(np.mean(squares))), float(abs(np.log(np.mean(nees) / size)))


if __name__ == "__main__":
    main()
