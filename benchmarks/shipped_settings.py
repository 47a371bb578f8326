"""Experiments of Foster et al. with the shipped settings, another robot and the linear filter.

`foster-elbow` and `foster-pelvis` change parameters of the inertial filter for a load that varies at 1 Hz
(window 0.03 s, fast hand-over, no watch). Printed is the error of the elbow or of the pelvis' height with the
estimates, and that without them over it

- with the experiment's settings, and with the shipped ones of config/talos.yaml (only `links` changed)
- each with a robot unlike its file (masses of all links 3 %, centres of mass 3 mm)
- with the linear Kalman filter and the experiment's settings
- with the shipped settings and slowly varying errors of the sensors as states (`sensor_errors.treatment`)

Of several seeds the means are compared, and the least ratio of a single one is printed with them.

Run: python -m benchmarks.shipped_settings [elbow pelvis] [--settings shipped] [--seeds 1] [--duration S]
"""

import argparse
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from inertial_estimation.closed_loop.closed_loop import hoist_time
from inertial_estimation.closed_loop.robot_loop import RobotLoop
from inertial_estimation.closed_loop.time_series import rms
from inertial_estimation.configuration.node_names import INERTIAL_NODE
from inertial_estimation.experiments.crawl_run import perturbed_robot
from inertial_estimation.experiments.foster_elbow import ELBOW_OVERRIDES, elbow_run
from inertial_estimation.experiments.foster_pelvis import PELVIS_OVERRIDES, pelvis_run
from inertial_estimation.signals import Array

Overrides = Mapping[str, Mapping[str, Any]]
Run = Callable[..., tuple[float, bool]]


def elbow(robot: RobotLoop, seed: int, **options: Any) -> tuple[float, bool]:
    """Return the rms of the elbow's error [rad]."""
    return rms(elbow_run(robot, seed, **options)["error"]), False


def pelvis(robot: RobotLoop, seed: int, **options: Any) -> tuple[float, bool]:
    """Return the rms of the error of the pelvis' height [m], and whether the robot fell."""
    columns, fell = pelvis_run(robot, seed, **options)
    return rms(columns["height"] - columns["reference"]), fell


SCENES: dict[str, tuple[Run, Overrides, float, float, str]] = {
    "elbow": (elbow, ELBOW_OVERRIDES, 16.0, 1.0, "rad"),
    "pelvis": (pelvis, PELVIS_OVERRIDES, 20.0, 1e3, "mm"),
}
SETTINGS = ("experiment", "shipped", "linear", "sensor_errors")


def shipped(overrides: Overrides) -> Overrides:
    """Return overrides without those of the filter, but for its links."""
    return {**overrides, INERTIAL_NODE: {"links": overrides[INERTIAL_NODE]["links"]}}


def linear(overrides: Overrides) -> Overrides:
    """Return overrides with the linear Kalman filter."""
    return {**overrides, INERTIAL_NODE: {**overrides[INERTIAL_NODE], "filter": "linear"}}


def sensor_errors(overrides: Overrides) -> Overrides:
    """Return the shipped settings with estimated errors of the sensors."""
    filter_ = {**shipped(overrides)[INERTIAL_NODE], "sensor_errors.treatment": "estimated"}
    return {**overrides, INERTIAL_NODE: filter_}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("scenes", nargs="*", default=list(SCENES), metavar="SCENE")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument(
        "--settings",
        nargs="+",
        choices=SETTINGS,
        default=list(SETTINGS),
        help="settings of the filter; all by default",
    )
    parser.add_argument("--duration", type=float, metavar="S", help="length of a run, the experiment's")
    args = parser.parse_args()
    for name in args.scenes:
        run, overrides, duration_s, factor, unit = SCENES[name]
        length = {"duration_s": args.duration or duration_s, "hoist_s": hoist_time(quick=False)}
        values_of = (overrides, shipped(overrides), linear(overrides), sensor_errors(overrides))
        settings = {
            title: values for title, values in zip(SETTINGS, values_of, strict=True) if title in args.settings
        }
        for other in (False, True):
            robot = RobotLoop("talos", overrides)
            urdfs = [perturbed_robot(robot, seed)[0] if other else "" for seed in range(args.seeds)]
            kind = "robot unlike its file" if other else "robot as described"
            without, _falls = _each(run, robot, urdfs, adaptation=False, **length)
            print(f"{name}, {kind}: without the estimates {factor * without.mean():.4g} {unit}", flush=True)
            for title, values in settings.items():
                if other and title == "linear":
                    continue
                errors, falls = _each(run, RobotLoop("talos", values), urdfs, adaptation=True, **length)
                ratio, least = without.mean() / errors.mean(), (without / errors).min()
                single = f", least {least:.2f} x" if args.seeds > 1 else ""
                fallen = f", {falls} falls" if falls else ""
                mean = f"{factor * errors.mean():8.4g} {unit}, {ratio:6.2f} x"
                print(f"  {title:<14} {mean}{single}{fallen}", flush=True)


def _each(run: Run, robot: RobotLoop, urdfs: list[str], **options: Any) -> tuple[Array, int]:
    """Return the error of every seed, and the number of falls."""
    found = [run(robot, seed, true_urdf=urdf, **options) for seed, urdf in enumerate(urdfs)]
    return np.array([error for error, _fell in found]), sum(fell for _error, fell in found)


if __name__ == "__main__":
    main()
