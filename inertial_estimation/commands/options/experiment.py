"""Run an experiment of the source papers and print its table together with the paper's numbers.

Writes NAME.json and NAME.png into the output folder. The table marks every bound that is missed; a missed
bound is a result, so the exit code is 0 nevertheless. `experiment --list` lists the experiments.
"""

import argparse
from pathlib import Path

from inertial_estimation.commands.arguments import add_workers
from inertial_estimation.commands.completion import completed_by

EXAMPLES = (
    "--list",
    "foster-elbow --seeds 10 --jobs 4 --output results/experiments",
    "all --quick",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    name = parser.add_argument("name", nargs="?", metavar="NAME", help="name of an experiment, or all")
    completed_by(name, _experiment_names)
    parser.add_argument("--list", action="store_true", help="list the experiments")
    parser.add_argument("--seeds", type=int, metavar="N", help="number of seeds (depends on the experiment)")
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("results/experiments"),
        metavar="DIR",
        help="folder for JSON and figures (results/experiments)",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="shortened runs that exercise every part; their numbers are not results",
    )
    add_workers(parser, "runs of an experiment")


def _experiment_names() -> list[str]:
    from inertial_estimation.experiments.registry import ALL, EXPERIMENTS

    return [*(experiment.name for experiment in EXPERIMENTS), ALL]
