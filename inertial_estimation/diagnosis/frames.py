"""Axes in words, and the parameters of a frame for an IMU that is mounted in another orientation."""

import itertools
from functools import cache

import numpy as np

from inertial_estimation.inputs.config import RobotGeometryConfig
from inertial_estimation.signals import Array
from inertial_estimation.spatial.rotations import roll_pitch_of, rotation_from_roll_pitch_yaw, yaw_of


@cache
def signed_permutations() -> Array:
    """Return all 48 matrices that permute axes and change signs, the identity first, shape (48, 3, 3)."""
    signs = itertools.product((1.0, -1.0), repeat=3)
    turns = itertools.product(itertools.permutations(range(3)), signs)
    return np.array([np.diag(sign) @ np.eye(3)[list(order)] for order, sign in turns])


def axis_names(index: int) -> str:
    """Return the axes of a signed permutation in words: "x, -y, z" for an entry of `signed_permutations`."""
    rows = signed_permutations()[index]
    names = ["xyz"[int(np.argmax(np.abs(row)))] for row in rows]
    return ", ".join(("-" if row.sum() < 0.0 else "") + name for row, name in zip(rows, names, strict=True))


def added_frame(config: RobotGeometryConfig, R_IS: Array) -> tuple[dict[str, object], list[float]]:
    """Return the parameters of an IMU frame with the axes of the readings, and its roll, pitch, yaw [rad].

    R_IS is the orientation of the axes of the readings in the present IMU frame, shape (3, 3).
    """
    names, links = list(config.frames.names), list(config.frames.links)
    poses = [list(pose) for pose in np.reshape(config.frames.poses, (-1, 6)).tolist()]
    frame = config.imu_frame
    if frame not in names:
        names, links, frame = [*names, f"{frame}_measured"], [*links, frame], f"{frame}_measured"
        poses.append([0.0] * 6)
    pose = poses[names.index(frame)]
    R = rotation_from_roll_pitch_yaw(*pose[3:]) @ R_IS
    rpy = [round(value, 4) + 0.0 for value in (*roll_pitch_of(R), yaw_of(R))]
    pose[3:] = rpy
    flat = [value for numbers in poses for value in numbers]
    values: dict[str, object] = {
        "frames.names": names,
        "frames.links": links,
        "frames.poses": flat,
        "imu_frame": frame,
    }
    return values, rpy
