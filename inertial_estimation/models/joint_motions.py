"""Poses and velocities of the joints of a model, read where Pinocchio keeps them."""

import numpy as np
import pinocchio as pin

from inertial_estimation.compilation import compiling, numbers
from inertial_estimation.errors import ModelError
from inertial_estimation.models.pinocchio_memory import MOTION_WIDTH, POSE_WIDTH, motion_rows, pose_rows
from inertial_estimation.signals import Array


class JointMotions:
    """Poses and velocities of all joints relative to the base, which `forwardKinematics` overwrites."""

    def __init__(self, data: pin.Data) -> None:
        """Find them in the memory of Pinocchio.

        Args:
            data: What `forwardKinematics` writes into; it has to be kept by the caller.
        """
        self._copied: list[tuple[Array, Array]] = []  # of a Pinocchio that keeps them in another way
        try:
            self._tables = pose_rows(data.oMi), motion_rows(data.v)
        except ModelError:
            poses, velocities = np.zeros((len(data.oMi), POSE_WIDTH)), np.zeros((len(data.v), MOTION_WIDTH))
            for row, T in zip(poses, data.oMi, strict=True):
                self._copied += [(row[:9].reshape(3, 3), T.rotation.T), (row[9:], T.translation)]
            self._copied += [(row, V.vector) for row, V in zip(velocities, data.v, strict=True)]
            self._tables = poses, velocities

    def tables(self) -> tuple[Array, Array]:
        """Return them as compiled functions take them, a row for each joint.

        Returns:
            Poses in the base, orientation by columns and position [m], shape (n, 12), and spatial velocities
            in the axes of the joints [m/s, rad/s], shape (n, 6).
        """
        for row, values in self._copied:
            row[:] = values
        poses, velocities = self._tables
        return numbers(poses), numbers(velocities)

    @property
    def lasting(self) -> bool:
        """Whether tables once read show the motions of later updates."""
        return compiling() and not self._copied
