"""Adaptation of inertias in the controller, between the estimates and without them.

The elbow of `foster-elbow` (forearm of 4.5 kg +- 3 kg at 1 Hz, then by a square wave; 1.8 kg as described)
with the shipped settings of config/talos.yaml. Printed is the rms of its error without estimates, with them,
with the adaptation alone and with both, and how often it is smaller than without.

Run: python -m benchmarks.composite_adaptation [--gains 0.3 1] [--prediction 0 0.1] [--seeds 1] [--duration S]
"""

import argparse
from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.shipped_settings import shipped
from inertial_estimation.closed_loop.closed_loop import hoist_time
from inertial_estimation.closed_loop.robot_loop import RobotLoop
from inertial_estimation.closed_loop.time_series import rms
from inertial_estimation.configuration.node_names import CONTROLLER_NODE
from inertial_estimation.experiments.foster_elbow import DURATION_S, ELBOW_OVERRIDES, elbow_run


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--gains", nargs="+", type=float, default=[0.3, 1.0, 3.0], help="[1/J]")
    parser.add_argument("--prediction", nargs="+", type=float, default=[0.0], help="weight [rad/(Nm s)]")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--duration", type=float, default=DURATION_S, metavar="S")
    args = parser.parse_args()
    settings = shipped(ELBOW_OVERRIDES)
    without = error(settings, args, estimates=False)
    print(f"without estimates or adaptation {without:.4g} rad", flush=True)
    tell("estimates alone", error(settings, args, estimates=True), without)
    for gain in args.gains:
        for weight in args.prediction:
            values = {"adaptation.gain": gain, "adaptation.prediction_weight": weight}
            changed = {**settings, CONTROLLER_NODE: {**settings[CONTROLLER_NODE], **values}}
            for estimates in (False, True):
                title = (
                    f"gain {gain:g}, prediction {weight:g}, {'with' if estimates else 'without'} estimates"
                )
                tell(title, error(changed, args, estimates=estimates), without)


def error(settings: Mapping[str, Mapping[str, Any]], args: argparse.Namespace, *, estimates: bool) -> float:
    """Return the mean over the seeds of the rms of the elbow's error [rad]."""
    robot, length = RobotLoop("talos", settings), {"duration_s": args.duration}
    runs = [
        elbow_run(robot, seed, adaptation=estimates, hoist_s=hoist_time(quick=False), **length)
        for seed in range(args.seeds)
    ]
    return float(np.mean([rms(run["error"]) for run in runs]))


def tell(title: str, value: float, without: float) -> None:
    print(f"  {title:<42} {value:8.4g} rad, {without / value:6.2f} x", flush=True)


if __name__ == "__main__":
    main()
