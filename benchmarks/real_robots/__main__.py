"""Recordings of real robots through the commands, against plain least squares in the same run.

For each recording of joint torques: the errors of the description, of plain least squares (all bodies, no
prior, no constraint) and of `identify` with the robot's parameter file, on the fitted part and on the rest,
and what `identify` says against its own result; then what `replay` estimates online on the same recording.
The leg on a force sensor: its vertical force from joint torques. TALOS: a table touched in 30 postures.

Run: python -m benchmarks.real_robots [icub panda go2 ur10 talos leg]
     python -m benchmarks.real_robots --folds [go2 ur10]   (how their parameter files were chosen)
"""

import argparse
import os
import tempfile
from pathlib import Path

from benchmarks.real_robots import folds, leg_on_force_sensor, legs_in_the_air
from benchmarks.real_robots.joint_recordings import JointRecording, print_command, report

ROOT = Path(__file__).parents[2]
DATASETS = Path(os.environ.get("INERTIAL_ESTIMATION_DATASETS", ROOT / "../shared/datasets"))
JOINTS = {
    "icub": JointRecording(
        "iCub, walking",
        "icub_walking/walk_front_back_2021",
        "icub",
        58.7,
        "icub_walking/iCubGenova04.urdf",
        (
            *("--reference", "/vicon/root_link/pose"),
            *("--trusted", "DATASETS/icub_walking/walk_front_back_2021_vicon_ok.csv"),
        ),
    ),
    "panda": JointRecording("Panda", "panda_gaz2019/exciting_trajectory", "panda", 14.0),
    "go2": JointRecording("Go2, base held", "go2_chirp", "go2_held", 15.77),
    "ur10": JointRecording("UR10", "ur10_exciting/ur10_exciting_trajectory.db3", "ur10", 18.16),
}
TABLE = (
    *("calibrate", "plane", "DATASETS/talos_calibration/table_contact_left.csv", "--config", "talos"),
    *("--frame", "gripper_left_base_link", "--no-figures"),
)
PLAIN = ("--param", "calibration.offset_sigma=3.0", "--param", "calibration.robust=false")


def main() -> None:
    """Run the named recordings."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("robots", nargs="*", metavar="ROBOT")
    parser.add_argument("--folds", action="store_true", help="cross-validation within the fitted part")
    args = parser.parse_args()
    for robot in args.robots or (folds.VARIANTS if args.folds else [*JOINTS, "talos", "leg"]):
        if args.folds and robot in folds.VARIANTS:
            folds.report(robot, JOINTS[robot], DATASETS)
        elif robot in JOINTS:
            report(JOINTS[robot], DATASETS)
            if robot == "go2":
                legs_in_the_air.report(JOINTS[robot], DATASETS)
        elif robot == "leg":
            leg_on_force_sensor.report(DATASETS)
        elif robot == "talos":
            _talos()
        else:
            parser.error(f"no recording of '{robot}'; there are {', '.join([*JOINTS, 'talos', 'leg'])}")


def _talos() -> None:
    """Print the errors on a touched table before and after, with and without priors."""
    for name, options in (("the command", ()), ("plain least squares", ("--exact-description", *PLAIN))):
        print(f"\nTALOS, {name}: {' '.join((*TABLE, *options))}")
        with tempfile.TemporaryDirectory() as folder:
            arguments = [part.replace("DATASETS", str(DATASETS)) for part in (*TABLE, *options)]
            print_command([*arguments, "--output", folder])


if __name__ == "__main__":
    main()
