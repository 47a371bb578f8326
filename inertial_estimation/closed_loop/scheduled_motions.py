"""Motions commanded to a closed loop: a walk at a set time, an arm that swings about its stance."""

import numpy as np
from numpy.random import Generator

from inertial_estimation.closed_loop.closed_loop import ClosedLoop
from inertial_estimation.control.references import WalkCommand
from inertial_estimation.errors import ConfigurationError
from inertial_estimation.models.joint_limits import joint_limits
from inertial_estimation.models.joint_trajectory import random_sines
from inertial_estimation.signals import JointReading

BAND_HZ = (0.1, 0.4)
LIMIT_SHARE = 0.8  # of the way to a position limit that a joint uses


class ScheduledSwing:
    """Smooth motions of all joints, as references of the controller.

    Each call of `command` pushes one target: it is to be called at every tick, since the steps of a lower
    rate shake the arm.
    """

    def __init__(self, loop: ClosedLoop, reach: float, rng: Generator) -> None:
        """Draw a random motion about the present posture of the robot.

        Args:
            loop: The loop, before its release.
            reach: Largest distance of a joint from the posture [rad or m]; shorter near position limits.
            rng: Source of frequencies and phases.

        Raises:
            ConfigurationError: If the base is free: a swing could make a legged robot fall.
        """
        robot = loop.simulation.robot
        if robot.floating_base:
            raise ConfigurationError("a swing is for robots with a fixed base; a legged robot walks (--walk)")
        centre, limits = loop.simulation.truth().q, joint_limits(robot)
        room = LIMIT_SHARE * np.minimum(centre - limits.lower, limits.upper - centre)
        self._names = robot.joint_names
        self._motion = random_sines(centre, np.clip(room, 0.0, reach), rng, band_hz=BAND_HZ)

    def command(self, loop: ClosedLoop) -> None:
        """Send the present targets to the controller."""
        q, _v, _a = self._motion.at(loop.time_s)
        loop.controller.push_joint_reference(JointReading(loop.simulation.stamp_ns, self._names, q))


class ScheduledWalk:
    """Walk forward once; the robot stands before and after.

    Attributes:
        duration_s: Length of the run, from the release on [s].
    """

    def __init__(self, walk: WalkCommand, begin_s: float, duration_s: float) -> None:
        """Set the walk and its time.

        Args:
            walk: Number and length of the steps.
            begin_s: Time of the command since the release [s].
            duration_s: Length of the run, from the release on [s].
        """
        self.duration_s = duration_s
        self._walk, self._begin_s = walk, begin_s
        self._commanded = False

    def command(self, loop: ClosedLoop) -> None:
        """Command the walk once its time has come; to be called at every tick."""
        if not self._commanded and loop.time_s >= self._begin_s:
            loop.controller.push_walk_command(self._walk)
            self._commanded = True
