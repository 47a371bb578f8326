"""Joint offsets from flat feet, from a frame on a plane, or from a motion-capture marker.

flat-feet BAG|CSV  both soles flat on the floor, links with an IMU measured (Yamane, section II)
plane CSV          a frame held flush on one unknown plane, one posture a row
marker CSV         positions x1, y1, z1 of a marker on a link, one posture a row

Writes joint_offsets.yaml (a ROS parameter file: load it after the robot's own), calibration.json and
figures into the output folder. Offsets are written only if the samples identify them, and if they predict
left-out samples better than no offsets do. See docs/calibration.md.
"""

import argparse
from pathlib import Path

from inertial_estimation.commands.arguments import (
    add_names,
    add_no_figures,
    add_output,
    add_param,
    add_remap,
    add_robot,
)

EXAMPLES = (
    "flat-feet BAG --config talos --output results/offsets",
    "plane postures.csv --config talos --frame gripper_left_base_link --output results/arm",
)
OWN = "calibration"  # what --param without a section means


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    kinds = parser.add_subparsers(dest="kind", required=True, metavar="KIND")
    _add_flat_feet(kinds.add_parser("flat-feet", help="both soles flat on the floor"))
    plane = kinds.add_parser("plane", help="a frame held flush on an unknown plane")
    _common(plane, "CSV, one posture a row")
    plane.add_argument(
        "--axis",
        default="",
        metavar="AXIS",
        help="axis of the frame normal to the plane: x, -x, y, ... (determined from the data)",
    )
    marker = kinds.add_parser("marker", help="a motion-capture marker on a link")
    _common(marker, "CSV, one posture a row")
    marker.add_argument(
        "--marker", type=int, default=1, metavar="N", help="number N of the marker in columns xN, yN, zN (1)"
    )
    for command in (plane, marker):
        _add_frames_and_priors(command)


def _add_flat_feet(feet: argparse.ArgumentParser) -> None:
    _common(feet, "rosbag2 folder or file, or CSV")
    feet.add_argument(
        "--imu-link",
        action="append",
        metavar="LINK[:TOPIC]",
        help="link whose orientation is measured (repeatable; imu_frame:/imu/data); 'none': the soles alone",
    )
    add_remap(feet)
    feet.add_argument(
        "--interval",
        type=float,
        default=1.8,
        metavar="S",
        help="time between two postures taken from a bag (1.8 s)",
    )
    feet.add_argument(
        "--held-out-interval",
        type=float,
        default=0.2,
        metavar="S",
        help="time between all postures taken from a bag; those that are not fitted validate the result "
        "(0.2 s; 0: no validation)",
    )
    feet.add_argument(
        "--distance",
        type=float,
        metavar="M",
        help="length d in Yamane's cost; without it rows are weighted by noise",
    )
    feet.add_argument(
        "--use-yaw", action="store_true", help="use the yaw of the IMUs, which share one yaw reference"
    )


def _add_frames_and_priors(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--frame", required=True, help="link that is held on the plane, or that carries the marker"
    )
    command.add_argument(
        "--reference",
        metavar="FRAME",
        help="frame that does not move (plane: the first contact; marker: the base link)",
    )
    command.add_argument(
        "--fixed-priors",
        action="store_true",
        help="use the priors of the parameters instead of choosing them by leave-one-out",
    )
    command.add_argument(
        "--exact-description",
        action="store_true",
        help="choose priors under the assumption that the joint placements of the description are exact",
    )


def _common(parser: argparse.ArgumentParser, source: str) -> None:
    parser.add_argument("source", type=Path, help=source)
    add_robot(parser, "talos", "known offsets")
    add_output(parser)
    add_names(
        parser,
        "--joints",
        "JOINT",
        "joints to calibrate, by name or pattern (plane: those beyond the leg; otherwise all)",
    )
    add_param(parser, f"{OWN}.NAME=VALUE")
    parser.add_argument(
        "--write-combinations",
        action="store_true",
        help="also write offsets of which only a combination is identified",
    )
    add_no_figures(parser)
