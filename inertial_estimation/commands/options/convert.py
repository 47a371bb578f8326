"""Convert tables of numbers (CSV or text) to a recording: columns to topics, units, stamps, names of joints.

--map FIELD=COLUMNS names the columns of a field by name, by number from 1 (2-13 is a range), or by a pattern
(q_*: the asterisk stands for the joint); 0 is a column of zeros. A unit or a factor in brackets holds for the
columns before it, else they are in SI units. With several files a column is FILE.COLUMN, FILE without its
ending. Fields: time; position, velocity, effort (/joint_states); specific_force, angular_rate (/imu/data);
NAME/force, NAME/torque (/NAME/wrench, what the ground applies to the robot); NAME/pose (x y z qx qy qz qw),
NAME/orientation (qx qy qz qw). Signs and zeros of single joints are parameters (drive_gains, joint_offsets).
"""

import argparse
from pathlib import Path

from inertial_estimation.commands.arguments import add_names, add_output_bag, add_overwrite_bag, add_storage

EXAMPLES = (
    "log.csv --map time=t[ms] --map position=q_*[deg] --map velocity=dq_* --map effort=tau_* --output bag",
    "q.txt tau.txt --rate 1000 --map position=q.1-7 --map effort=tau.1-7 --joints a b c d e f g --output bag",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("tables", nargs="+", type=Path, metavar="FILE", help="tables of numbers, CSV or text")
    parser.add_argument(
        "--map",
        dest="maps",
        action="append",
        required=True,
        metavar="FIELD=COLUMNS",
        help="columns of a field, with their unit in brackets; repeat it for more fields",
    )
    add_names(
        parser,
        "--joints",
        "JOINT",
        "names of the joints in the order of the columns (default: what the asterisk stands for)",
    )
    parser.add_argument(
        "--rate", type=float, default=0.0, metavar="HZ", help="rate of the rows without a time"
    )
    add_output_bag(parser)
    add_storage(parser)
    add_overwrite_bag(parser)
