"""Whole turns in the angles of joints that turn without limits."""

import math

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.signals import Array

FULL_TURN = 2.0 * math.pi  # [rad]


def remove_turns(changes: Array, continuous: NDArray[np.int64]) -> None:
    """Take whole turns out of changes of angles, in place: what is left is at most half a turn.

    Args:
        changes: Of all joints [rad or m], shape (n_joints,).
        continuous: `RobotModel.continuous_joints`.
    """
    if not len(continuous):
        return
    changes[continuous] -= FULL_TURN * np.round(changes[continuous] / FULL_TURN)
