"""Reads back the trajectory that `write_trajectory_bag` writes."""

from pathlib import Path

import numpy as np

from inertial_estimation.models.joint_trajectory import JointTrajectory
from inertial_estimation.recordings.recording import BagRecording
from inertial_estimation.signals import NANOSECONDS


def read_trajectory_bag(path: Path) -> JointTrajectory:
    """Read the only trajectory of a rosbag2."""
    with BagRecording(path) as bag:
        (topic,) = bag.topics
        (recorded,) = bag.unread([topic])
        message = bag.deserializer(topic)(recorded.content)
    points = message.points
    times = [p.time_from_start.sec + p.time_from_start.nanosec / NANOSECONDS for p in points]
    fields = ("positions", "velocities", "accelerations")
    q, v, a = (np.array([getattr(p, field) for p in points]) for field in fields)
    return JointTrajectory(tuple(message.joint_names), np.array(times), q, v, a)
