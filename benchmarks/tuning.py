"""The bounds of `inertial-estimation tune`: speed, noise that is found, the iCub tuned without a reference.

Run from the root of the project: ``python -m benchmarks.tuning [speed] [noise] [objectives] [icub]``, all by
default. Times of trials are wall-clock with ``--jobs`` processes. The true noise of a window is measured: the
windows of a recording with noise minus those of the same recording without. The iCub recording is found
through INERTIAL_ESTIMATION_DATASETS; its motion capture only judges what was tuned without it.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from scipy.stats import spearmanr

from benchmarks.tilt_accuracy import BAG, ICUB
from benchmarks.tilt_gaits import GAITS, RATE_HZ, STRIDES, quadruped
from inertial_estimation.compilation import compiling
from inertial_estimation.configuration.config_file import ConfigFile
from inertial_estimation.configuration.config_lookup import load_configs
from inertial_estimation.parallel import open_workers
from inertial_estimation.recordings.recording import (
    BagRecording,
    MemoryRecording,
    Recording,
    read_orientations,
)
from inertial_estimation.replay.metrics import tilt_errors
from inertial_estimation.replay.replay_metrics import ReplayReference
from inertial_estimation.replay.result_files import read_trusted
from inertial_estimation.simulation.sensor_noise_config import NOISE_FREE, REALISTIC, SensorNoise
from inertial_estimation.synthetic.gait_sensors import feet_at_rest, gait_readings, gait_recording
from inertial_estimation.synthetic.synthetic_gait import gait_motion
from inertial_estimation.synthetic.synthetic_robots import synthetic_truth
from inertial_estimation.synthetic.synthetic_sensors import GROUND_TRUTH_TOPIC, measure
from inertial_estimation.synthetic.synthetic_truth import Timing
from inertial_estimation.tuning.parallel_search import searched
from inertial_estimation.tuning.problem import Problem
from inertial_estimation.tuning.recorded_run import RecordedRun
from inertial_estimation.tuning.search import Search
from inertial_estimation.tuning.session import Judging, SearchOptions, trials_for, tuned
from inertial_estimation.tuning.trials import OBJECTIVES, Trials
from inertial_estimation.tuning.tuned_file import interval_in_words
from inertial_estimation.tuning.tuning import TuningResult
from inertial_estimation.tuning.variation import Variation, observer_override, parse_variations

GAINS = (
    "two_stage.alpha1=3:300:log",
    "two_stage.alpha2=3:1000:log",
    "two_stage.gamma=0.03:10:log",
    "adaptation.enabled=true,false",
)
KALMAN_GAINS = (
    "kalman.velocity_drift=0.004:0.4:log",
    "kalman.offset_drift=0.0001:0.01:log",
    "kalman.window=0.1:2:log",
)
PAPER = {"two_stage.alpha1": 100.0, "two_stage.alpha2": 20.0, "two_stage.gamma": 3.0}
FIXED_PAPER = {**PAPER, "adaptation.enabled": False}
NOISY = {"effort": (0.1, 0.3, 1.0), "velocity": (2e-3, 2e-3, 2e-2)}
TRIALS = 200
PARTS, SETTLE_S = 3, 2.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("which", nargs="*", choices=[*BENCHMARKS, []], help="which of them; all by default")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--trials", type=int, default=TRIALS)
    args = parser.parse_args()
    for name in args.which or BENCHMARKS:
        BENCHMARKS[name](args)


def speed(args: argparse.Namespace) -> None:
    """Trials of the observer over 60 s at 1 kHz, of the filter over 60 s at 100 Hz."""
    compiled = "compiled" if compiling() else "not compiled"
    print(f"speed, {compiled}, {args.trials} trials, {args.jobs} processes           measured   bound")
    run = RecordedRun(trot_recording("hyq", "trot", 60.0, 1000.0), load_configs(["hyq"]))
    for observer, gains in (("two_stage", GAINS), ("kalman", KALMAN_GAINS)):
        problem, own = problem_of([run], gains, "later_readings")
        report(f"{args.trials} trials of {observer}, 60 s at 1 kHz [s]", timed(problem, own, args), np.nan)
    run = RecordedRun(synthetic_recording("talos", 60.0, 100.0, REALISTIC), talos_config())
    problem, own = problem_of([run], ("noise.torque", "noise.contact_force"), "likelihood")
    report(f"{args.trials} trials of the filter, 60 s at 100 Hz [s]", timed(problem, own, args), 300.0)


def timed(problem: Problem, variations: tuple[Variation, ...], args: argparse.Namespace) -> float:
    """Wall-clock time of a search [s]."""
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, open_workers(args.jobs) as workers:
        search = Search("speed", variations, "optimiser", args.trials, 0, f"{folder}/trials.log")
        searched(search, problem, workers, args.jobs)
    return time.monotonic() - begin


def noise(args: argparse.Namespace) -> None:
    """Noise of synthetic robots by maximum likelihood, compared with that of the windows."""
    print("\nnoise by maximum likelihood                     true    found   ratio   (bound 0.8 to 1.2)")
    for effort, velocity in zip(*NOISY.values(), strict=True):
        sensors = replace(REALISTIC, effort=effort, velocity=velocity)
        clean, noisy = (synthetic_recording("panda", 30.0, 200.0, s) for s in (NOISE_FREE, sensors))
        found = tuned_on(
            [RecordedRun(noisy, panda_config())],
            ("noise.torque=0.005:2:log", "noise.joint_acceleration=0.002:1:log"),
            "likelihood",
            args,
        )
        true = true_noise(clean, noisy)
        parameters = {p.variation.name: p for p in found.parameters}
        for name, sigma in true.items():
            said, value = f"panda, {effort:g} Nm, {velocity:g} rad/s: {name}", parameters[name].value
            interval = interval_in_words(parameters[name])
            print(f"{said:46s}{sigma:8.4f}{value:9.4f}{value / sigma:8.2f}   {interval}", flush=True)


def true_noise(clean: Recording, noisy: Recording) -> dict[str, float]:
    """Standard deviation of torques and joint accelerations of the windows, by their difference."""
    states = []
    for recording in (clean, noisy):
        updates = RecordedRun(recording, panda_config()).updates()
        states.append([step.equation.state for step, _update in updates])
    pairs = [(a, b) for a, b in zip(*states, strict=False) if a is not None and b is not None]
    torque = np.array([b.tau - a.tau for a, b in pairs])
    acceleration = np.array([b.a - a.a for a, b in pairs])
    return {
        "noise.torque": float(torque.std()),
        "noise.joint_acceleration": float(acceleration.std()),
    }


def objectives(args: argparse.Namespace) -> None:
    """Rank correlation of the objective with the true error over random gains, and what it chooses."""
    print("\nlater readings against the truth, over random gains; error after alignment [deg rms]")
    print(f"{'':34s}rank   least  chosen  shipped  paper")
    rng = np.random.default_rng(0)
    for name, run, reference in recordings_with_truth():
        (trials,) = problem_of([run], GAINS, "later_readings")[0].trials
        variations = parse_variations(GAINS, selected(run, GAINS).configs)
        sets = [{}, FIXED_PAPER]
        sets += [
            {v.name: v.value_at(float(rng.random())) for v in variations} for _ in range(args.trials // 4)
        ]
        scores = np.array([float(np.nanmean(trials.scores(values, PARTS))) for values in sets])
        errors = np.array([true_error(trials, values, reference) for values in sets])
        rank = spearmanr(scores, errors)[0]
        chosen = errors[int(np.argmin(scores))]
        print(
            f"{name:34s}{rank:5.2f}{errors.min():8.3f}{chosen:8.3f}{errors[0]:9.3f}{errors[1]:7.3f}",
            flush=True,
        )


def true_error(trials: Trials, values: dict[str, object], reference: ReplayReference) -> float:
    """Tilt error of a trial against a reference, after alignment [deg rms]."""
    stamps, tilts = trials.tilts(values)  # type: ignore[attr-defined]
    found = tilt_errors(stamps, tilts, reference.samples, reference.trusted, settle_ns=round(1e9 * SETTLE_S))
    return float(np.degrees(found.summary.rms))


def icub(args: argparse.Namespace) -> None:
    """The iCub tuned without and with the motion capture, from shipped and from bad gains, judged by it."""
    print("\niCub, tilt error by motion capture [deg rms]")
    bad = [("tilt_observer", name, value) for name, value in FIXED_PAPER.items()]
    for title, overrides, gains in (
        ("kalman from its defaults", [], KALMAN_GAINS),
        ("two_stage from its defaults", [], GAINS),
        ("two_stage from the gains of the paper", bad, GAINS),
    ):
        run, reference = icub_run(load_configs(["icub"]).overridden(overrides))
        run = selected(run, gains)
        (trials,) = problem_of([run], gains, "later_readings")[0].trials
        print(f"  {title + ', before':44s}{pipeline_error(trials, {}, reference):8.4f}")
        for objective in ("later_readings", "reference"):
            found = tuned_on([run], gains, objective, args, [reference])
            error = pipeline_error(trials, found.changes, reference)
            words = ", ".join(f"{name.rpartition('.')[2]} {value}" for name, value in found.changes.items())
            print(
                f"  {title + ', by ' + objective:44s}{error:8.4f}   {words or 'nothing changed'}", flush=True
            )


def pipeline_error(trials: Trials, values: dict[str, object], reference: ReplayReference) -> float:
    """Tilt error of a replay through the pipeline, all samples [deg rms]."""
    stamps, tilts = trials.tilts(values)  # type: ignore[attr-defined]
    return float(np.degrees(tilt_errors(stamps, tilts, reference.samples, reference.trusted).summary.rms))


def selected(run: RecordedRun, vary: tuple[str, ...]) -> RecordedRun:
    """The same recording with the observer whose gains are varied."""
    return run.overridden(observer_override(vary, run.configs))


def problem_of(
    runs: list[RecordedRun], vary: tuple[str, ...], objective: str
) -> tuple[Problem, tuple[Variation, ...]]:
    """Trials of recordings without a reference."""
    runs = [selected(run, vary) for run in runs]
    variations = tuple(parse_variations(vary, runs[0].configs))
    judging = Judging([ReplayReference()] * len(runs), PARTS, SETTLE_S)
    chosen = OBJECTIVES[objective]
    trials = [trials_for(run, k, variations, chosen, judging) for k, run in enumerate(runs)]
    return Problem(chosen, trials, PARTS), variations


def tuned_on(
    runs: list[RecordedRun],
    vary: tuple[str, ...],
    objective: str,
    args: argparse.Namespace,
    references: list[ReplayReference] | None = None,
) -> TuningResult:
    """Tune as the command does."""
    variations = parse_variations(vary, runs[0].configs)
    judging = Judging(references or [ReplayReference()] * len(runs), PARTS, SETTLE_S)
    with tempfile.TemporaryDirectory() as folder, open_workers(args.jobs) as workers:
        options = SearchOptions("optimiser", args.trials // 2, 0, f"{folder}/trials.log", "", args.jobs)
        return tuned(runs, variations, OBJECTIVES[objective], judging, options, workers)


def recordings_with_truth() -> Iterator[tuple[str, RecordedRun, ReplayReference]]:
    """The iCub with motion capture, and synthetic gaits with the truth."""
    yield "icub, walk", *icub_run(load_configs(["icub"]))
    for robot in STRIDES:
        for gait in list(GAITS)[:3]:
            recording = trot_recording(robot, gait, 30.0, RATE_HZ)
            run = RecordedRun(recording, load_configs([robot]))
            reference = ReplayReference(read_orientations(recording, GROUND_TRUTH_TOPIC))
            yield f"{robot}, {gait}", run, reference


def icub_run(config: ConfigFile) -> tuple[RecordedRun, ReplayReference]:
    with BagRecording(BAG) as recording:
        samples = read_orientations(recording, "/vicon/root_link/pose")
        run = RecordedRun(recording, only_tilt(config), urdf=str(ICUB / "iCubGenova04.urdf"))
    return run, ReplayReference(samples, read_trusted(ICUB / "walk_front_back_2021_vicon_ok.csv"))


def only_tilt(config: ConfigFile) -> ConfigFile:
    nodes = {node: values for node, values in config.nodes.items() if node == "tilt_observer"}
    return replace(config, nodes=nodes)


def trot_recording(robot: str, name: str, duration_s: float, rate_hz: float) -> MemoryRecording:
    _config, setup, posture = quadruped(robot)
    gait, sensors = GAITS[name]
    rng = np.random.default_rng([1, list(GAITS).index(name)])
    gait = replace(gait, stride_hz=STRIDES[robot] * gait.stride_hz)
    motion = gait_motion(gait, feet_at_rest(setup, posture), duration_s, rate_hz, rng)
    return gait_recording(setup, gait_readings(setup, posture, motion, sensors, rng))


def synthetic_recording(
    robot: str, duration_s: float, rate_hz: float, sensors: SensorNoise
) -> MemoryRecording:
    truth = synthetic_truth(robot, Timing(duration_s, rate_hz), np.random.default_rng(0), payload_time_s=None)
    return measure(truth, sensors, np.random.default_rng(1))


def panda_config() -> ConfigFile:
    """A Panda of which two bodies are estimated, so that an update takes little time."""
    rate = [
        ("inertial_ekf", "rate", 100.0),
        ("inertial_ekf", "links", ["panda_link5", "panda_link7"]),
        ("inertial_ekf", "friction.joints", []),
    ]
    return load_configs(["panda"]).overridden(rate)


def talos_config() -> ConfigFile:
    """A TALOS with three bodies."""
    return load_configs(["talos"]).overridden([("inertial_ekf", "rate", 100.0)])


def report(name: str, value: float, bound: float) -> None:
    limit = f"{bound:8.3g}" if np.isfinite(bound) else ""
    print(f"{name:52s}{value:12.3g}{limit}", flush=True)


BENCHMARKS: dict[str, Callable[[argparse.Namespace], None]] = {
    "speed": speed,
    "noise": noise,
    "objectives": objectives,
    "icub": icub,
}

if __name__ == "__main__":
    main()
