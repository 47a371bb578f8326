"""Find better parameters of the estimators from recordings, with a reference or without.

Without a reference the tilt is judged by the readings that come after it, the inertial filter by the
likelihood of its innovations. Values are searched on all parts of the recordings but the last, and judged on
it. Writes tuned.yaml (a parameter file with what has changed), tuning.json and report.html. The same command
with the same --storage goes on where it was ended, and several processes or machines share the work.
"""

import argparse
from pathlib import Path

from inertial_estimation.commands.arguments import (
    add_bags,
    add_no_figures,
    add_output,
    add_param,
    add_reference,
    add_remap,
    add_robot,
    add_seed,
    add_start,
    add_workers,
)

EXAMPLES = (
    "BAG --config icub --urdf robot.urdf --vary two_stage.alpha1 two_stage.gamma=0.1:3:log --output tuned",
    "BAG --config panda --vary noise.torque noise.joint_acceleration --jobs 4 --storage tuning.log "
    "--output tuned",
)
METHODS = ("optimiser", "random", "grid")
OBJECTIVES = ("later_readings", "reference", "likelihood", "calibration", "torque")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_bags(parser)
    add_robot(parser, "icub, panda", "offsets, friction")
    add_output(parser)
    parser.add_argument(
        "--vary",
        nargs="+",
        action="extend",
        required=True,
        metavar="NAME[=LOW:HIGH[:log]|=A,B]",
        help="parameters and their ranges or choices; a name alone is varied by a factor of ten up and down",
    )
    parser.add_argument(
        "--objective",
        action="append",
        default=[],
        choices=OBJECTIVES,
        help="what is made small: for the tilt later_readings or, with --reference, reference (then the "
        "default); for the filter likelihood (default), calibration or torque; repeat it for both",
    )
    _add_search(parser)
    _add_judgement(parser)
    add_remap(parser)
    add_param(parser, "NODE.NAME=VALUE")
    add_no_figures(parser, "report.html")


def _add_search(parser: argparse.ArgumentParser) -> None:
    """Declare how values are searched."""
    parser.add_argument(
        "--method", choices=METHODS, default=METHODS[0], help="how values are chosen (optimiser)"
    )
    parser.add_argument("--trials", type=int, default=100, metavar="N", help="number of trials (100)")
    add_seed(parser, "the search")
    add_workers(parser, "trials", "a grid and a random search give the same with any number")
    parser.add_argument(
        "--storage",
        default="",
        metavar="FILE|URL",
        help="journal file, or database (postgresql://USER@HOST/NAME), in which trials are kept and shared",
    )


def _add_judgement(parser: argparse.ArgumentParser) -> None:
    """Declare by what the estimates are judged."""
    add_start(parser, "begin S seconds into the bags")
    parser.add_argument(
        "--settle", type=float, default=2.0, metavar="S", help="do not score the first S seconds (2 s)"
    )
    parser.add_argument(
        "--folds",
        type=int,
        default=3,
        metavar="N",
        help="parts of equal length of each recording, the last of which is only judged on (3)",
    )
    add_reference(parser, "the tilt is tuned by it, or with --objective later_readings only judged")
    parser.add_argument(
        "--trusted",
        type=Path,
        action="append",
        default=[],
        metavar="CSV",
        help="file with 0 or 1 for each sample of the reference: whether it is trusted; one for each bag",
    )
