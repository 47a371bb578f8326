"""Objectives of `tune` for the inertial filter, compared with the true error over random settings.

Each robot's true bodies are drawn from its prior and put into its description; the filter begins with the
nominal ones. The true error of a setting is that of the torques A (pi - pi_true) which the estimates give
over the last part, rms, over that of the nominal bodies: without the noise of the torques, and without the
directions that the motion does not excite. Printed is the rank correlation (Spearman) of each objective with
it over random values of noise and prior, and the true error of the setting that it would choose.
Run: python -m benchmarks.filter_objectives [talos] [panda] [--sets 40]
"""

import argparse
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from benchmarks.tuning import PARTS, panda_config, problem_of, talos_config
from inertial_estimation.configuration.config_file import ConfigFile
from inertial_estimation.configuration.node_names import INERTIAL_NODE
from inertial_estimation.configuration.pipelines import build_pipelines
from inertial_estimation.estimators.inertial.filter_values import FilterUpdate
from inertial_estimation.estimators.inertial.inertial_estimator import MeasuredStep
from inertial_estimation.models.urdf_inertia import urdf_with_bodies
from inertial_estimation.replay.replay import replay_recording
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
    urdf, pi_true = another_robot(config, rng)
    truth = synthetic_truth(robot, Timing(duration_s, rate_hz), rng, urdf=urdf, payload_time_s=None)
    run = RecordedRun(measure(truth, REALISTIC, rng), config)
    variations = parse_variations([f"inertial_ekf.{name}" for name in vary], run.configs)
    sets: list[dict[str, Any]] = [{}]
    sets += [{v.name: v.value_at(float(rng.random())) for v in variations} for _ in range(count)]
    problems = {name: problem_of([run], vary, name)[0] for name in OBJECTIVES}
    trials = problems["likelihood"].trials[0]
    assert isinstance(trials, FilterTrials)
    errors = np.array([true_error(trials, values, pi_true) for values in sets])
    print(f"\n{robot}, {count} random sets of {', '.join(vary)}")
    for name, problem in problems.items():
        scores = np.array([np.nanmean(problem.all_scores(values)) for values in sets])
        rank = spearmanr(scores, errors)[0]
        print(f"{name:14s}rank {rank:5.2f}, chooses {errors[int(np.argmin(scores))]:.3f}", flush=True)
    print(f"shipped {errors[0]:.3f}, least {errors.min():.3f}, median {np.median(errors):.3f}")


def another_robot(config: ConfigFile, rng: np.random.Generator) -> tuple[str, np.ndarray]:
    """Draw the true bodies from the prior; return the description with them, and them about their joints."""
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
    return urdf, np.concatenate([body.to_joint @ pi for body, pi in zip(bodies, true_C, strict=True)])


def true_error(trials: FilterTrials, values: Mapping[str, Any], pi_true: np.ndarray) -> float:
    """Return the error of the torques that the estimates give over the last part, over the nominal one."""
    begin_ns, size = trials.division.part_end_ns(PARTS - 2), len(pi_true)
    changed = [(INERTIAL_NODE, name, value) for name, value in values.items()]
    run = trials._run.overridden([(INERTIAL_NODE, "noise_adaptation.enabled", False), *changed])
    pipelines = build_pipelines(run._config)
    pipeline = pipelines.inertial
    assert pipeline is not None
    bodies, errors = pipeline.model.bodies, []
    before = np.concatenate([body.nominal_J.vector for body in bodies])

    def compare(step: MeasuredStep, _update: FilterUpdate) -> None:
        if step.stamp_ns >= begin_ns:
            A = step.equation.regressor[:, :size]
            present = pipeline.filter._body_map(pipeline.filter.x[:size].reshape(-1, 10))[0]
            pi = np.concatenate([body.to_joint @ one for body, one in zip(bodies, present, strict=True)])
            errors.append([np.sum((A @ (given - pi_true)) ** 2) for given in (pi, before)])

    pipeline.on_update = compare
    replay_recording(run.recording, pipelines.topics({}), tilt=pipelines.tilt, inertial=pipeline)
    found, nominal = np.sum(errors, axis=0)
    return float(np.sqrt(found / nominal))


if __name__ == "__main__":
    main()
