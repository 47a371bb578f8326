"""Adaptation of inertias in the controller, between the estimates and without them.

    elbow   `foster-elbow`: the forearm weighs 4.5 kg +- 3 kg at 1 Hz, then a square wave; described 1.8 kg
    unlike  the same with a robot unlike its file (masses of all links 3 %, centres of mass 3 mm)
    curl    `foster-curl`: 12 lb in the hand of a robot unlike its file, calibrated, curled at 0.33 Hz
    push    the elbow's robot, standing, is pushed at the forearm with 20 N sideways for 1 s

with the shipped settings of config/talos.yaml. Printed are the rms of the elbow's error without estimates,
with them, with the adaptation alone and with both, and how often it is smaller than without; of the push the
largest change of the mass that the controller believes in, and that 5 s later.

Run: python -m benchmarks.composite_adaptation [elbow unlike curl push] [--gains 1 5] [--prediction 0 0.3]
"""

import argparse
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from benchmarks.shipped_settings import shipped
from inertial_estimation.closed_loop.closed_loop import ClosedLoop, hoist_time
from inertial_estimation.closed_loop.robot_loop import RobotLoop
from inertial_estimation.closed_loop.time_series import TimeSeries, rms
from inertial_estimation.configuration.node_names import CONTROLLER_NODE
from inertial_estimation.experiments.crawl_run import perturbed_robot
from inertial_estimation.experiments.foster_curl import CURL_OVERRIDES, CURL_S, STEADY_AFTER_S, curl_run
from inertial_estimation.experiments.foster_elbow import DURATION_S, ELBOW_OVERRIDES, FOREARM, elbow_run
from inertial_estimation.simulation.disturbances import Push

Settings = Mapping[str, Mapping[str, Any]]
PUSH_N, PUSH_S, BEFORE_S, AFTER_S = 20.0, 1.0, 2.0, 5.0


def elbow(settings: Settings, seed: int, *, estimates: bool, other: bool = False) -> float:
    """Return the rms of the elbow's error, of the robot as described or of another one [rad]."""
    robot = RobotLoop("talos", settings)
    length = {"duration_s": DURATION_S, "hoist_s": hoist_time(quick=False)}
    urdf = perturbed_robot(robot, seed)[0] if other else ""
    return rms(elbow_run(robot, seed, adaptation=estimates, true_urdf=urdf, **length)["error"])


def curl(settings: Settings, seed: int, *, estimates: bool) -> float:
    """Return the rms of the elbow's error while it curls [rad]."""
    columns = curl_run(RobotLoop("talos", settings), seed, calibrated=True, adaptation=estimates, quick=False)
    steady = columns["time"] >= CURL_S + STEADY_AFTER_S
    return rms((columns["angle"] - columns["reference"])[steady])


SCENES: dict[str, tuple[Callable[..., float], Settings]] = {
    "elbow": (elbow, shipped(ELBOW_OVERRIDES)),
    "unlike": (partial(elbow, other=True), shipped(ELBOW_OVERRIDES)),
    "curl": (curl, CURL_OVERRIDES),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("scenes", nargs="*", default=["elbow", "unlike", "curl", "push"], metavar="SCENE")
    parser.add_argument("--gains", nargs="+", type=float, default=[1.0, 5.0], help="[1/J]")
    parser.add_argument("--prediction", nargs="+", type=float, default=[0.0, 0.3], help="weight [rad/(Nm s)]")
    parser.add_argument("--seeds", type=int, default=1)
    args = parser.parse_args()
    variants = [(gain, weight) for gain in args.gains for weight in args.prediction]
    for name in args.scenes:
        if name == "push":
            compare_pushes(variants, args.seeds)
        else:
            compare_errors(name, variants, args.seeds)


def compare_errors(name: str, variants: list[tuple[float, float]], seeds: int) -> None:
    """Print the error of the elbow for every variant."""
    run, settings = SCENES[name]

    def error(changed: Settings, *, estimates: bool) -> float:
        return float(np.mean([run(changed, seed, estimates=estimates) for seed in range(seeds)]))

    without = error(settings, estimates=False)
    print(f"{name}: without estimates or adaptation {without:.4g} rad", flush=True)
    tell("estimates alone", error(settings, estimates=True), without)
    for gain, weight in variants:
        for estimates in (False, True):
            words = "with" if estimates else "without"
            title = f"gain {gain:g}, prediction {weight:g}, {words} estimates"
            tell(title, error(adapting(settings, gain, weight), estimates=estimates), without)


def compare_pushes(variants: list[tuple[float, float]], seeds: int) -> None:
    """Print by how much a push moves the mass that the controller believes in."""
    settings = shipped(ELBOW_OVERRIDES)
    print(f"push of {PUSH_N:g} N at the forearm for {PUSH_S:g} s, mass in the controller:", flush=True)
    for gain, weight in [(0.0, 0.0), *variants]:
        moved = np.array([pushed(adapting(settings, gain, weight), seed) for seed in range(seeds)])
        largest, later = np.abs(moved).max(axis=0)
        title = f"gain {gain:g}, prediction {weight:g}, with estimates"
        print(f"  {title:<42} {largest:8.3g} kg, 5 s later {later:.3g} kg", flush=True)


def adapting(settings: Settings, gain: float, weight: float) -> Settings:
    """Return settings with the adaptation on."""
    values = {"adaptation.gain": gain, "adaptation.prediction_weight": weight}
    return {**settings, CONTROLLER_NODE: {**settings[CONTROLLER_NODE], **values}}


def pushed(settings: Settings, seed: int) -> tuple[float, float]:
    """Return the largest deviation of the believed mass in and after a push, and the last one [kg]."""
    push = Push(FOREARM, np.array([0.0, PUSH_N, 0.0]), BEFORE_S, PUSH_S)
    loop = RobotLoop("talos", settings).build(disturbances=[push], seed=seed, adaptation=True)
    loop.release(hoist_time(quick=False))
    dynamics, series = loop.controller.controller.dynamics, TimeSeries()

    def record(loop: ClosedLoop) -> None:
        series.add(loop.time_s, mass=dynamics.mass)

    loop.run(BEFORE_S + PUSH_S + AFTER_S, record)
    columns = series.columns()
    before = float(columns["mass"][columns["time"] < BEFORE_S][-1])
    deviation = columns["mass"][columns["time"] >= BEFORE_S] - before
    return float(deviation[np.argmax(np.abs(deviation))]), float(deviation[-1])


def tell(title: str, value: float, without: float) -> None:
    print(f"  {title:<42} {value:8.4g} rad, {without / value:6.2f} x", flush=True)


if __name__ == "__main__":
    main()
