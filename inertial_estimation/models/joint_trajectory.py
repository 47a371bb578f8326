"""A sampled motion of joints, as a robot is commanded to follow."""

from dataclasses import dataclass

import numpy as np

from inertial_estimation.errors import MeasurementError
from inertial_estimation.signals import Array, frozen_array


@dataclass(frozen=True, slots=True, eq=False)
class JointTrajectory:
    """Positions, velocities and accelerations of joints at given times.

    Attributes:
        joint_names: Names of the joints.
        times_s: Time from the start [s], increasing, shape (k,).
        q: Positions [rad], shape (k, n).
        v: Velocities [rad/s], shape (k, n).
        a: Accelerations [rad/s^2], shape (k, n).
    """

    joint_names: tuple[str, ...]
    times_s: Array
    q: Array
    v: Array
    a: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "times_s", frozen_array("times_s", self.times_s))
        shape = (len(self.times_s), len(self.joint_names))
        for name in ("q", "v", "a"):
            object.__setattr__(self, name, frozen_array(name, getattr(self, name), shape))
        numbers = (self.times_s, self.q, self.v, self.a)
        if not len(self.times_s) or not all(np.isfinite(array).all() for array in numbers):
            raise MeasurementError("a trajectory is expected to have points, all of finite numbers")
        if np.any(np.diff(self.times_s) <= 0.0):
            raise MeasurementError("the times of a trajectory are expected to increase")

    @property
    def duration_s(self) -> float:
        """Time from the first to the last point [s]."""
        return float(self.times_s[-1] - self.times_s[0])
