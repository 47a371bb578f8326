"""Reads back the trajectory that `write_trajectory_bag` writes."""

from pathlib import Path
from typing import Any

import numpy as np
from rosbags.highlevel import AnyReader
from rosbags.typesys import Stores, get_typestore

from inertial_estimation.models.joint_trajectory import JointTrajectory
from inertial_estimation.recordings.trajectory_files import TRAJECTORY_TYPE
from inertial_estimation.signals import NANOSECONDS


def read_trajectory_bag(path: Path) -> JointTrajectory:
    """Read the only trajectory of a rosbag2."""
    with AnyReader([path], default_typestore=get_typestore(Stores.ROS2_JAZZY)) as reader:
        wanted = [c for c in reader.connections if c.msgtype == TRAJECTORY_TYPE]
        ((connection, _stamp, data),) = reader.messages(connections=wanted)
        return _trajectory(reader.deserialize(data, connection.msgtype))


def _trajectory(message: Any) -> JointTrajectory:
    points = message.points
    times = [p.time_from_start.sec + p.time_from_start.nanosec / NANOSECONDS for p in points]
    arrays = (
        np.array([getattr(p, field) for p in points], dtype=np.float64)
        for field in ("positions", "velocities", "accelerations")
    )
    return JointTrajectory(tuple(message.joint_names), np.array(times), *arrays)
