"""Travel of joints against the integral of their velocities, and against the joint state before."""

import math

import numpy as np

from inertial_estimation.compilation import Column, MutableColumn, MutableTable, compiled, warm_up
from inertial_estimation.models.input_ranges import FREE_POSITION
from inertial_estimation.models.joint_turns import remove_turns
from inertial_estimation.models.position_jump import JUMP
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array

__all__ = ["STILL_TRAVEL", "JointTravel", "largest_change"]

STILL_TRAVEL = 0.02  # that frozen positions lag behind their velocity [rad or m]
BLOCK_S, BLOCKS = 0.05, 5  # of the time over which travel and velocity are compared
FORGETTING = 0.97  # per block, of what a position lags behind its velocity: a memory of 1.6 s
DIFFERENCE = 0.06  # of travel and integrated velocity over that time [rad or m]
VELOCITY_LAG = 0.05  # of measured velocities behind positions, or the reverse [s]


class JointTravel:
    """Change of the positions against the integral of the velocities, over some blocks of time."""

    def __init__(self, robot: RobotModel) -> None:
        self._names, self._turning = robot.joint_names, robot.continuous_joints
        self._nowhere: Array = np.zeros(len(self._names))
        # of the last blocks, the oldest first
        self._differences: Array = np.zeros((BLOCKS, len(self._names)))
        self._speeds: Array = np.zeros((BLOCKS, len(self._names)))
        warm_up()
        self.restart()

    def restart(self) -> None:
        """Begin with the next joint state."""
        self._blocks = 0
        self._begin: Array | None = None
        self._memory: Array = np.zeros(len(self._names))
        self._travel: Array = np.zeros(len(self._names))
        self._elapsed = self._longest = 0.0

    def continued(self, h: float, last: Array, q: Array, v_last: Array, v: Array, run: float) -> float:
        """Take a joint state that is usual and ends no block.

        Args:
            h: Time since the last one [s].
            last: Positions of the last one [rad or m], shape (n_joints,).
            q: Positions, shape (n_joints,).
            v_last: Velocities of the last one [rad/s or m/s], shape (n_joints,).
            v: Velocities, shape (n_joints,).
            run: Time for which joint states repeat if this one does [s].

        Returns:
            The largest change of a position; -1 where the joint state has not been taken.
        """
        if self._begin is None or self._elapsed + h >= BLOCK_S:
            return -1.0
        change = _continued(last, q, v_last, v, h, run, self._travel)
        if change >= 0.0:
            self._elapsed += h
            self._longest = max(self._longest, h)
        return change

    def add(self, h: float, q: Array, v: Array) -> str:
        """Take a joint state after a step [s]; return which position does not follow its velocity."""
        if self._begin is None:
            self._begin = q
            return ""
        _integrate(self._travel, h, v)
        self._elapsed += h
        self._longest = max(self._longest, h)
        return self._block(q, v) if self._elapsed >= BLOCK_S else ""

    def difference(self, q: Array) -> Array:
        """Return the change of the positions less the integral of the velocities, forgotten slowly.

        Args:
            q: Positions of the last joint state [rad or m], shape (n_joints,).
        """
        if self._begin is None:
            return self._memory
        return self._memory + self._off(q)

    def _off(self, q: Array) -> Array:
        assert self._begin is not None
        off = q - self._begin - self._travel
        remove_turns(off, self._turning)
        return off

    def _block(self, q: Array, v: Array) -> str:
        if not largest_change(self._nowhere, self._travel) < FREE_POSITION:
            self.restart()  # velocities that no joint has
            return ""
        difference = self._off(q)
        self._memory = FORGETTING * self._memory + difference
        self._begin, self._elapsed = q, 0.0
        self._travel = np.zeros(len(q))
        self._blocks = min(self._blocks + 1, BLOCKS)
        history, lag = (self._differences, self._speeds), VELOCITY_LAG + 2.0 * self._longest
        worst, off = _worst(difference, v, self._blocks, lag, *history)
        if worst < 0:
            return ""
        time_s = BLOCK_S * self._blocks
        return (
            f"position of {self._names[worst]} does not follow its velocity: {off:+.3g} rad in {time_s:.2g} s"
        )


@compiled
def largest_change(before: Column, after: Column) -> float:
    """Return the largest difference of two rows, NaN where there is one; 0 where they are empty."""
    return float(np.abs(after - before).max()) if len(after) > 0 else 0.0


@compiled
def _continued(
    last: Column, q: Column, v_last: Column, v: Column, h: float, run: float, travel: MutableColumn
) -> float:
    """Return the largest change of a position, and add the travel; -1 where something is not usual.

    Usual are changes below the smallest jump at velocities that are finite and not all zero, and joint states
    that repeat for too short a time to be frozen.
    """
    if len(q) == 0:
        return -1.0
    largest, fastest, repeats = 0.0, 0.0, True
    for i in range(len(q)):
        change, speed = abs(q[i] - last[i]), abs(v[i])
        if not (change <= JUMP and speed < math.inf):
            return -1.0
        largest, fastest = max(largest, change), max(fastest, speed)
        repeats = repeats and v[i] == v_last[i]
    if fastest == 0.0 or (largest == 0.0 and not (repeats and run * fastest < STILL_TRAVEL)):
        return -1.0
    for i in range(len(q)):
        travel[i] += h * v[i]
    return largest


@compiled
def _integrate(travel: MutableColumn, h: float, v: Column) -> None:
    """Add the travel at velocities over a step [s]."""
    travel += h * v


@compiled
def _worst(
    difference: Column,
    v: Column,
    blocks: int,
    lag: float,
    differences: MutableTable,
    speeds: MutableTable,
) -> tuple[int, float]:
    """Take a block of time into the history; return which position does not follow its velocity.

    Args:
        difference: Of the change and the travel over the block [rad or m], shape (n_joints,).
        v: Velocities at its end [rad/s or m/s], shape (n_joints,).
        blocks: Number of blocks in the history, this one included, at least 1.
        lag: By which velocities lag [s].
        differences: Those of the last blocks, shape (BLOCKS, n_joints); changed.
        speeds: Largest velocities of the same, shape (BLOCKS, n_joints); changed.

    Returns:
        Number of the joint, -1 where all follow, and its difference over the history [rad or m].
    """
    for row in range(BLOCKS - blocks, BLOCKS - 1):
        differences[row], speeds[row] = differences[row + 1], speeds[row + 1]
    differences[BLOCKS - 1], speeds[BLOCKS - 1] = difference, np.abs(v)
    off, speed = np.zeros(len(v)), np.zeros(len(v))
    for row in range(BLOCKS - blocks, BLOCKS):
        off += differences[row]
        speed = np.maximum(speed, speeds[row])
    excess = np.abs(off) - DIFFERENCE - lag * speed
    worst = int(np.argmax(excess))
    if not excess[worst] > 0.0:
        return -1, 0.0
    return worst, float(off[worst])
