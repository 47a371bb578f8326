"""Joint trajectories as files: CSV, and a rosbag2 with one JointTrajectory message; without ROS."""

from pathlib import Path

import numpy as np

from inertial_estimation.errors import RecordingError, listing
from inertial_estimation.files.outputs import write_table
from inertial_estimation.inputs.messages import set_stamp
from inertial_estimation.models.joint_trajectory import JointTrajectory
from inertial_estimation.recordings.bag_writer import new_bag
from inertial_estimation.recordings.tables import read_table
from inertial_estimation.signals import NANOSECONDS

TRAJECTORY_TYPE = "trajectory_msgs/msg/JointTrajectory"
POINT_TYPE = "trajectory_msgs/msg/JointTrajectoryPoint"
TRAJECTORY_TOPIC = "/joint_trajectory"
TIME = "time_from_start"
FIELDS = ("position", "velocity", "acceleration")


def write_trajectory_csv(path: str | Path, trajectory: JointTrajectory) -> None:
    """Write a trajectory as CSV: time_from_start, then <joint>.position, .velocity, .acceleration.

    Args:
        path: File to write.
        trajectory: The trajectory; its numbers are written with all digits.
    """
    header = [TIME, *(f"{name}.{field}" for name in trajectory.joint_names for field in FIELDS)]
    values = np.stack([trajectory.q, trajectory.v, trajectory.a], axis=2).reshape(len(trajectory.times_s), -1)
    write_table(Path(path), header, np.column_stack((trajectory.times_s, values)).tolist())


def read_trajectory_csv(path: str | Path) -> JointTrajectory:
    """Read a trajectory in the format of `write_trajectory_csv`; the columns may be in any order.

    Raises:
        RecordingError: If the file is missing, lacks columns, or has a cell that is no number.
    """
    columns = read_table(Path(path)).whole().columns
    if TIME not in columns:
        raise RecordingError(f"'{path}' has no column '{TIME}'; it has {listing(columns)}")
    parts = [name.rpartition(".") for name in columns]
    names = tuple(dict.fromkeys(joint for joint, _point, field in parts if field in FIELDS))
    missing = [f"{n}.{f}" for n in names for f in FIELDS if f"{n}.{f}" not in columns]
    if missing or not names:
        raise RecordingError(f"'{path}' misses the columns {listing(missing)} of a trajectory")
    q, v, a = (np.stack([columns[f"{n}.{f}"].numbers() for n in names], axis=1) for f in FIELDS)
    return JointTrajectory(names, columns[TIME].numbers(), q, v, a)


def write_trajectory_bag(
    path: str | Path, trajectory: JointTrajectory, *, stamp_ns: int = 0, overwrite: bool = False
) -> None:
    """Write a trajectory as one message in a rosbag2 folder (mcap); errors are those of `new_bag`.

    Args:
        path: Folder to create.
        trajectory: The trajectory.
        stamp_ns: Stamp of the message [ns]; with zero a controller starts at once.
        overwrite: Whether a rosbag2 folder at that place is replaced.
    """
    with new_bag(path, {TRAJECTORY_TOPIC: TRAJECTORY_TYPE}, overwrite=overwrite) as writer:
        message = writer.new(TRAJECTORY_TYPE)
        set_stamp(message.header.stamp, stamp_ns)
        message.joint_names = list(trajectory.joint_names)
        rows = (trajectory.times_s.tolist(), trajectory.q, trajectory.v, trajectory.a)
        for time_s, q, v, a in zip(*rows, strict=True):
            point = writer.new(POINT_TYPE)
            point.positions, point.velocities, point.accelerations = q, v, a
            set_stamp(point.time_from_start, round(time_s * NANOSECONDS))
            message.points.append(point)
        writer.write(TRAJECTORY_TOPIC, stamp_ns, message)
