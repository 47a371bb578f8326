"""Where numbers of joint states on two clocks lie, for `JointContinuity` and compiled functions."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from inertial_estimation.compilation import MutableTable, inlined, integers
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array

BLOCKS = 5  # of time, over which travel and velocity are compared

# Integers of the joint states of one robot: whether a usual one may be taken, number of its track, last stamp
# [ns], joint states taken since Python knows of them, longest step that continues a track [ns]; joints that
# are named, number of the set of names, whether efforts are needed, whether some of the joints named are not
# of the model, whether joints are corrected. Then the place of each joint of the model among the names.
READY, TRACK, STAMP_NS, TAKEN, LONGEST_NS, NAMED, NAMES, EFFORT, OTHERS, CORRECTED, ORDER = range(11)

# Rows of numbers by joint: whether the joint turns without limits, offset of its position, gain of its drive;
# then those of each track: positions and velocities of the last joint state, positions where the block began,
# what they lag behind their velocities, travel in the block, differences and largest speeds of the last
# blocks (the oldest first), and figures.
TURNS, OFFSET, GAIN, TRACKS = range(4)
Q, V, BEGIN, MEMORY, TRAVEL, DIFFERENCES, SPEEDS = *range(6), 5 + BLOCKS
FIGURES = SPEEDS + BLOCKS
ROWS = FIGURES + 1
# Figures: time for which joint states repeat and the usual one, time for which they have been right, time
# since the block began, longest step [s]; number of blocks known, whether a block has begun.
RUN, USUAL, RIGHT, ELAPSED, LONGEST, KNOWN_BLOCKS, BEGUN, COUNT = range(8)


@dataclass(frozen=True, eq=False)
class JointMemory:
    """Where compiled functions find what is known of the joint states of one robot.

    Attributes:
        n: Integers.
        cells: The same, as Python reads and writes them.
        x: Rows of numbers, shape (TRACKS + 2 ROWS, max(n_joints, COUNT)).
    """

    n: Any
    cells: Any
    x: Array

    @classmethod
    def of(cls, robot: RobotModel) -> "JointMemory":
        """Return memory without a joint state."""
        joints = len(robot.joint_names)
        table: Array = np.zeros((TRACKS + 2 * ROWS, max(joints, COUNT)))
        table[TURNS, robot.continuous_joints] = 1.0
        return cls(*integers(ORDER + joints), table)


@inlined
def track_of(number: int, x: MutableTable) -> MutableTable:
    """Return the rows of a track."""
    return x[TRACKS + number * ROWS : TRACKS + (number + 1) * ROWS]
