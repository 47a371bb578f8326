"""Convert tables of numbers (CSV or text) to a recording: columns to topics, units, stamps, names of joints.

--map FIELD=COLUMNS names the columns of a field by name, by number from 1 (2-13 is a range), or by a pattern
(q_*: the asterisk stands for the joint); 0 is a column of zeros. A unit or a factor in brackets holds for the
columns before it, else they are in SI units. With several files a column is FILE.COLUMN, FILE without its
ending. Fields: time; position, velocity, effort (/joint_states); specific_force, angular_rate (/imu/data);
NAME/force, NAME/torque (/NAME/wrench, what the ground applies to the robot); NAME/pose (x y z qx qy qz qw),
NAME/orientation (qx qy qz qw). Signs and zeros of single joints are parameters (drive_gains, joint_offsets).
"""

import argparse
import math
from pathlib import Path

from inertial_estimation.commands import arguments
from inertial_estimation.commands.terminal import print_warnings
from inertial_estimation.errors import ConfigurationError

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
    joints = "names of the joints in the order of the columns (default: what the asterisk stands for)"
    arguments.add_names(parser, "--joints", "JOINT", joints)
    arguments.add_number(parser, "--rate", 0.0, "HZ", "rate of the rows without a time")
    arguments.add_output_bag(parser)


def run(args: argparse.Namespace) -> int:
    """Read the tables, write the recording and print what it holds."""
    from inertial_estimation.recordings.bag_writer import check_bag_folder, write_recording
    from inertial_estimation.recordings.table_conversion import convert_tables, read_text_table
    from inertial_estimation.signals import seconds

    if not math.isfinite(args.rate) or args.rate < 0.0:
        raise ConfigurationError(f"--rate is {args.rate:g} Hz, expected a positive number")
    folder = check_bag_folder(args.output, overwrite=args.overwrite)
    tables = [read_text_table(path) for path in args.tables]
    recording, remarks = convert_tables(tables, args.maps, joints=args.joints, rate=args.rate)
    write_recording(recording, folder, storage=args.storage, overwrite=args.overwrite)
    print_warnings(remarks)
    length_s = seconds(recording.end_ns - recording.start_ns)
    print(f"{folder}: {length_s:.3f} s from {seconds(recording.start_ns):.3f} s on")
    for topic, message_type in recording.topics.items():
        count = sum(entry.topic == topic for entry in recording.messages)
        print(f"  {topic:<24} {count:>8} messages  {message_type}")
    return 0
