"""Middles of the joints' ranges, from which positions are measured where friction depends on them."""

import numpy as np

from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array


def joint_middles(robot: RobotModel) -> Array:
    """Return the middle of each joint's range in the description [rad or m], NaN where it has no limits.

    Args:
        robot: The robot.

    Returns:
        Shape (n_joints,).
    """
    model = robot.model
    middles = np.full(robot.n_joints, np.nan)
    for i, name in enumerate(robot.joint_names):
        joint = model.getJointId(name)
        low, high = (
            float(limits[model.idx_qs[joint]])
            for limits in (model.lowerPositionLimit, model.upperPositionLimit)
        )
        if model.nqs[joint] == 1 and low < high and np.isfinite([low, high]).all():
            middles[i] = 0.5 * (low + high)
    return middles


def from_middle(q: Array, middles: Array | None) -> Array:
    """Return how far joints are from the middles of their ranges, zero for a joint without limits.

    Args:
        q: Joint positions [rad or m], shape (..., n_joints).
        middles: As `joint_middles` returns them; None counts from zero.

    Returns:
        Of q's shape.
    """
    if middles is None:
        return q
    distances: Array = np.where(np.isnan(middles), 0.0, q - middles)
    return distances
