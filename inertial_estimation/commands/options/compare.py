"""Compare results of replay or identify: values, and what differs in recordings and settings.

The first folder is what the others are compared with. With --output the table is also written as compare.csv,
and compare.html shows it with the curves of all results, one over the other.
"""

import argparse
from pathlib import Path

__all__ = ["EXAMPLES", "add_arguments"]

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
    parser.add_argument(
        "--output", type=Path, metavar="DIR", help="folder for table, page and figures, new or empty"
    )
    parser.add_argument(
        "--overwrite", action="store_true", help="replace the results of an earlier run in that folder"
    )
    parser.add_argument("--no-figures", action="store_true", help="write no figures and no compare.html")
