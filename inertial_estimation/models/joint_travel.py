"""Travel of joints against the integral of their velocities."""

import numpy as np

from inertial_estimation.models.continuity_steps import (
    BLOCK_S,
    FOLLOWS,
    add_travel,
    begin_travel,
    take_block,
)
from inertial_estimation.models.joint_tracks import (
    BEGIN,
    BEGUN,
    BLOCKS,
    DIFFERENCES,
    ELAPSED,
    FIGURES,
    KNOWN_BLOCKS,
    MEMORY,
    TRAVEL,
)
from inertial_estimation.models.joint_turns import remove_turns
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array


class JointTravel:
    """Change of the positions against the integral of the velocities, over some blocks of time."""

    def __init__(self, robot: RobotModel, turns: Array, track: Array) -> None:
        """Begin without a joint state.

        Args:
            robot: The model.
            turns: Whether each joint turns without limits, 0 or 1, shape (n_joints,) or longer.
            track: Rows of the track in the numbers of `joint_tracks`.
        """
        self._names, self._turning = robot.joint_names, robot.continuous_joints
        self._turns, self._track, self._figures = turns, track, track[FIGURES]

    def restart(self) -> None:
        """Begin with the next joint state."""
        begin_travel(self._track)

    def add(self, h: float, q: Array, v: Array) -> str:
        """Take a joint state after a step [s]; return which position does not follow its velocity."""
        if not self._figures[BEGUN]:
            self._track[BEGIN, : len(q)] = q
            self._figures[BEGUN] = 1.0
            return ""
        add_travel(h, v, self._track)
        if self._figures[ELAPSED] < BLOCK_S:
            return ""
        return self.text(take_block(q, v, self._turns, self._track))

    def text(self, worst: int) -> str:
        """Say which position does not follow its velocity, as a step has found; empty where all do."""
        if worst == FOLLOWS:
            return ""
        blocks = int(self._figures[KNOWN_BLOCKS])
        off = 0.0
        for difference in self._track[DIFFERENCES + BLOCKS - blocks : DIFFERENCES + BLOCKS, worst].tolist():
            off += difference
        time_s = BLOCK_S * blocks
        return (
            f"position of {self._names[worst]} does not follow its velocity: {off:+.3g} rad in {time_s:.2g} s"
        )

    def difference(self, q: Array) -> Array:
        """Return the change of the positions less the integral of the velocities, forgotten slowly.

        Args:
            q: Positions of the last joint state [rad or m], shape (n_joints,).
        """
        memory, begin, travel = (self._track[row, : len(q)] for row in (MEMORY, BEGIN, TRAVEL))
        if not self._figures[BEGUN]:
            return np.array(memory)
        off = q - begin - travel
        remove_turns(off, self._turning)
        lagging: Array = memory + off
        return lagging
