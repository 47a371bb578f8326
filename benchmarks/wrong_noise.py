"""Stated noise that is wrong by a factor: what it costs the inertial filter.

Records the measurement equations of the Panda and iCub recordings of the data sets and of a synthetic TALOS
that takes 5.44 kg at 5 s, with the parameter files of the package, and runs the filter on them with the
`noise.*` parameters multiplied by a factor, all together and each alone.

The error is, of Panda and iCub, the norm of the residuals after 14 s and 60 s of learning over that of the
measured torques and wrenches, both means over the filter's window; of TALOS, the root of the summed squared
errors of the estimated masses, mean of the last two seconds [kg]. "/ right" compares with the parameter file
as it is, "/ nominal" with the description and no learning. Run: python -m benchmarks.wrong_noise
"""

import argparse
import os
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np

from inertial_estimation.configuration.config_lookup import load_configs
from inertial_estimation.configuration.pipelines import Pipelines, build_pipelines, replay_topics
from inertial_estimation.estimators.inertial.filter_values import FilterUpdate
from inertial_estimation.estimators.inertial.inertial_pipeline import InertialPipeline
from inertial_estimation.models.dynamics_measurement import LinearEquation
from inertial_estimation.models.measurement_noise import MeasurementNoise
from inertial_estimation.models.row_covariance import RowCovariance
from inertial_estimation.recordings.recording import BagRecording, Recording
from inertial_estimation.replay.replay import replay_recording
from inertial_estimation.simulation.payload import TWELVE_POUNDS
from inertial_estimation.simulation.sensor_noise_config import REALISTIC
from inertial_estimation.synthetic.synthetic_robots import synthetic_truth
from inertial_estimation.synthetic.synthetic_sensors import measure
from inertial_estimation.synthetic.synthetic_truth import Timing

ROOT = Path(__file__).resolve().parents[1]
DATASETS = Path(os.environ.get("INERTIAL_ESTIMATION_DATASETS", ROOT.parent / "shared" / "datasets"))
NOISE = tuple(field.name for field in fields(MeasurementNoise))
ARM = "arm_left_5_link"
HOLD_OUT_S = {"panda": 14.0, "icub": 60.0}
URDF = {"icub": str(DATASETS / "icub_walking/iCubGenova04.urdf")}
BAGS = {
    "panda": DATASETS / "panda_gaz2019/exciting_trajectory",
    "icub": DATASETS / "icub_walking/walk_front_back_2021",
}


@dataclass(frozen=True, eq=False)
class Step:
    """An equation, the covariance that each noise parameter of one unit gives it (8, m, m), and its times."""

    equation: LinearEquation
    parts: np.ndarray
    dt: float
    time_s: float


def pipelines_of(robot: str, *, adaptive: bool = True) -> Pipelines:
    """Build the pipelines of a robot's parameter file."""
    changes = [("inertial_ekf", "noise_adaptation.enabled", adaptive)]
    return build_pipelines(load_configs([robot]).overridden(changes), urdf=URDF.get(robot, ""))


def recorded_steps(robot: str) -> list[Step]:
    """Replay the robot's recording once and keep the equations."""
    pipelines = pipelines_of(robot)
    pipeline = pipelines.inertial
    measurement = pipeline.model.measurement
    covariances = [
        RowCovariance(
            MeasurementNoise(**{other: float(other == name) for other in NOISE}),
            pipeline.robot,
            measurement._rows,
            len(pipeline.config.robot.contacts),
        )
        for name in NOISE
    ]
    steps: list[Step] = []
    update = pipeline.estimator.corrected.update

    def keep(equation: LinearEquation, velocities: np.ndarray, dt: float, *, learn: bool) -> FilterUpdate:
        paths = equation.paths
        parts = [part.at(paths.sensed, paths.contacts) for part in covariances]
        elapsed = steps[-1].time_s + dt if steps else 0.0
        steps.append(Step(equation, np.array(parts), dt, elapsed))
        return update(equation, velocities, dt, learn=learn)

    pipeline.estimator.corrected.update = keep
    topics = replay_topics(pipelines.values, {})
    if robot in BAGS:
        with BagRecording(BAGS[robot]) as recording:
            replay_recording(recording, topics, inertial=pipeline)
    else:
        replay_recording(standing_talos(), topics, inertial=pipeline)
    return steps


def standing_talos() -> Recording:
    """A TALOS in double support moves its arms and takes a weight."""
    motion, noise = (np.random.default_rng(s) for s in np.random.SeedSequence(0).spawn(2))
    truth = synthetic_truth("talos", Timing(duration_s=9.0, rate_hz=250.0), motion, payload_time_s=5.0)
    return measure(truth, REALISTIC, noise)


@dataclass(frozen=True)
class Outcome:
    """Of one run: its error, share of updates accepted, total mass [kg], and the noise seen."""

    error: float
    accepted: float
    mass: float
    noise: str


def run(
    robot: str, steps: list[Step], factors: dict[str, float], *, adaptive: bool, learning: bool
) -> Outcome:
    """Run the filter on equations whose stated noise is multiplied by factors."""
    pipeline = pipelines_of(robot, adaptive=adaptive).inertial
    stated = pipeline.config.noise.for_robot(pipeline.robot)
    variances = np.array([(getattr(stated, name) * factors.get(name, 1.0)) ** 2 for name in NOISE])
    last_s = HOLD_OUT_S.get(robot, np.inf)
    still = np.zeros(pipeline.robot.n_joints)
    accepted, residuals, measured, masses = [], [], [], []
    for step in steps:
        equation = replace(step.equation, noise=np.tensordot(variances, step.parts, 1))
        if step.time_s >= last_s:
            residuals.append(equation.value - pipeline.filter.predict(equation))
            measured.append(equation.measured)
        elif learning:
            accepted.append(
                pipeline.estimator.corrected.update(equation, still, step.dt, learn=True).accepted
            )
            masses.append(mass_error(pipeline))
    if robot in HOLD_OUT_S:
        error = np.linalg.norm(residuals) / np.linalg.norm(measured)
    else:
        late = [step.time_s >= steps[-1].time_s - 2.0 for step in steps]
        error = np.mean(np.array(masses)[late]) if learning else mass_error(pipeline)
    noise = pipeline.estimator.corrected.noise.factors()
    groups = [f"{name.removeprefix('noise.')} {seen:.2g}" for name, (seen, _used) in noise.items()]
    share = float(np.mean(accepted)) if accepted else 0.0
    return Outcome(float(error), share, pipeline.total_mass, ", ".join(groups))


def mass_error(pipeline: InertialPipeline) -> float:
    """Root of the summed squared errors of the masses of a TALOS that holds the weight [kg]."""
    masses = pipeline.filter.masses_of(pipeline.estimator.corrected.guarded.reported.x)
    bodies = pipeline.filter.bodies
    truth = [body.nominal_C[0] + TWELVE_POUNDS * (body.link == ARM) for body in bodies]
    return float(np.linalg.norm(masses - truth))


def cases(steps: list[Step], factors: list[float], *, each: bool) -> Iterator[tuple[str, dict[str, float]]]:
    """Name the cases and their factors, of parameters that the equations depend on."""
    for factor in factors:
        yield f"all x {factor:.3g}", dict.fromkeys(NOISE, factor)
    for name, part in zip(NOISE, steps[0].parts, strict=True):
        for factor in factors if each and part.any() else ():
            yield f"{name} x {factor:.3g}", {name: factor}


def table(robot: str, factors: list[float], *, each: bool, adaptive: bool) -> None:
    """Print the rows of one robot."""
    steps = recorded_steps(robot)
    nominal = run(robot, steps, {}, adaptive=adaptive, learning=False).error
    right = run(robot, steps, {}, adaptive=adaptive, learning=True)
    print(f"| {robot} | no learning | {nominal:.4g} | | 1.00 | | | |", flush=True)
    for name, values in [("as it is", {}), *cases(steps, factors, each=each)]:
        result = run(robot, steps, values, adaptive=adaptive, learning=True) if values else right
        print(
            f"| {robot} | {name} | {result.error:.4g} | {result.error / right.error:.2f} | "
            f"{result.error / nominal:.2f} | {100 * result.accepted:.1f} % | {result.mass:.2f} | "
            f"{result.noise} |",
            flush=True,
        )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--robots", default="panda,icub,talos", help="some of panda, icub, talos")
    parser.add_argument("--factors", default="0.3333,3", help="factors on the stated noise")
    parser.add_argument("--together", action="store_true", help="all parameters together only")
    parser.add_argument("--stated", action="store_true", help="without adaptation of the noise")
    args = parser.parse_args()
    factors = [float(text) for text in args.factors.split(",")]
    print("| robot | noise | error | / right | / nominal | accepted | total mass [kg] | seen / stated |")
    print("|---|---|---|---|---|---|---|---|")
    for robot in args.robots.split(","):
        table(robot, factors, each=not args.together, adaptive=not args.stated)


if __name__ == "__main__":
    main()
