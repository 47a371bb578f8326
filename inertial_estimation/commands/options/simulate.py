"""Simulate a robot that stands on its own estimates and write its sensor readings as a rosbag2.

Simulation, estimators and controller run in one process. The robot of a parameter file hangs on a hoist, is
released, stands, and walks if --walk asks for it. All other times count from the release. The disturbances
are those of the simulator, as YAML: '{kind: ball, link: trunk, mass: 5, at: [-0.3, 0.1, 0.1], start: 4}'.
An arm swings smoothly about its stance (--swing). The errors of the estimates are printed at the end.
The file truth.json in the folder of the bag holds the true inertias of all links over time (replay compares
with them), and those of the disturbed links at the end.
The command replay runs the estimators on the bag, also with other parameters than those of the simulation.
The exit code is 1 if the robot fell; the bag is written nevertheless.
"""

import argparse
from pathlib import Path

from inertial_estimation.commands.arguments import (
    add_noise_free,
    add_output_bag,
    add_overwrite_bag,
    add_param,
    add_robot,
    add_seed,
    add_storage,
)
from inertial_estimation.commands.rrd_option import add_rrd

EXAMPLES = (
    "--config go2 --output bag",
    "--config hyq --walk 100 0.1 1 --inertias trunk_payload --output bag --rrd walk.rrd",
    "--config go2 --disturbance '{kind: ball, link: base, mass: 2, at: [0, 0, 0.1], start: 4}' --output bag",
)
TRUNKS = ("nominal", "inertial_ekf", "trunk_payload")
SWING = 0.3  # of an arm [rad]
HOIST_S = 3.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_robot(parser, "hyq, go2, talos")
    add_output_bag(parser)
    parser.add_argument(
        "--duration", type=float, default=12.0, metavar="S", help="time from the release to the end (12 s)"
    )
    parser.add_argument(
        "--hoist", type=float, default=HOIST_S, metavar="S", help=f"time at rest on the hoist ({HOIST_S:g} s)"
    )
    _add_disturbances(parser)
    parser.add_argument(
        "--walk",
        nargs=3,
        type=float,
        metavar=("STEPS", "LENGTH", "S"),
        help="walk: number of steps (of single feet), length of a step [m], when it begins [s]",
    )
    parser.add_argument(
        "--swing",
        type=float,
        default=None,
        metavar="RAD",
        help=f"largest distance of an arm's joints from the stance; 0 holds it ({SWING:g} rad)",
    )
    parser.add_argument(
        "--inertias",
        choices=TRUNKS,
        default="nominal",
        help="inertias the controller uses: those of the URDF or of an estimator (nominal); with "
        "trunk_payload the robot also stands still and tilts as the identification requests",
    )
    add_noise_free(parser)
    add_seed(parser, "the sensor noise")
    add_storage(parser)
    add_overwrite_bag(parser)
    add_param(parser, "NODE.NAME=VALUE")
    add_rrd(parser)


def _add_disturbances(parser: argparse.ArgumentParser) -> None:
    """Declare ``--disturbance``, which may be repeated, and ``--disturbances``."""
    parser.add_argument(
        "--disturbance",
        action="append",
        default=[],
        metavar="YAML",
        help="disturbance of the robot, for instance '{kind: ball, link: trunk, mass: 5, start: 4}'; the "
        "kinds are mass, ball, push and impact; repeat it for more",
    )
    parser.add_argument(
        "--disturbances", type=Path, metavar="FILE", help="YAML file with a list of further disturbances"
    )
