"""Compare results of replay or identify: values, and what differs in recordings and settings.

The first folder is what the others are compared with. With --output the table is also written as compare.csv,
and compare.html shows it with the curves of all results, one over the other.
"""

import argparse
from pathlib import Path

from inertial_estimation.commands.arguments import add_no_figures, add_output

EXAMPLES = ("results/shipped results/tuned --output results/compared", "results/a results/b results/c")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "folders",
        nargs="+",
        type=Path,
        metavar="DIR",
        help="result folders of replay or identify, two or more",
    )
    add_output(parser, "folder for table, page and figures", required=False)
    add_no_figures(parser, "figures and no compare.html")
