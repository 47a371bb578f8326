"""Write an estimated robot for simulators and learning, with variants drawn from its uncertainty.

DIR is a result folder of identify or replay. FORMAT URDF is its description with the estimated inertias; MJCF
and SDF are converted from it, or are a model of yours (--model) in which only the inertias of estimated links
are replaced. With --samples N the folder also has N variants, each of them physically consistent.
"""

import argparse
from pathlib import Path

from inertial_estimation.commands.arguments import add_output

FORMATS = ("urdf", "mjcf", "sdf")
EXAMPLES = (
    "found --output robots --samples 20",
    "results/talos --format mjcf --model talos.xml --output robots --samples 100 --seed 1",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("results", type=Path, metavar="DIR", help="result folder of identify or replay")
    parser.add_argument("--format", choices=FORMATS, default="urdf", help="format to write, default urdf")
    parser.add_argument(
        "--model",
        type=Path,
        metavar="FILE",
        help="your MJCF or SDF of the robot, in which the inertias of the estimated links are replaced",
    )
    parser.add_argument("--samples", type=int, default=0, metavar="N", help="variants to draw, default 0")
    parser.add_argument("--seed", type=int, default=0, help="the same seed draws the same variants")
    add_output(parser)
