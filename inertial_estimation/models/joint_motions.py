"""Poses and velocities of the joints of a model, read where Pinocchio keeps them."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pinocchio as pin

from inertial_estimation.compilation import compiling, numbers
from inertial_estimation.signals import Array

__all__ = ["JointMotions"]

POSE_WIDTH, VELOCITY_WIDTH = 12, 6


class JointMotions:
    """Poses and velocities of all joints relative to the base, which `forwardKinematics` overwrites."""

    def __init__(self, data: pin.Data) -> None:
        """Find them in the memory of Pinocchio.

        Args:
            data: What `forwardKinematics` writes into; it has to be kept by the caller.
        """
        parts = [(T.rotation.T, T.translation) for T in data.oMi]
        velocities = [V.vector for V in data.v]
        whole = all(_address(p) - _address(R) == R.nbytes for R, p in parts)
        poses = _adjoining([R for R, _p in parts], POSE_WIDTH) if whole else None
        moving = _adjoining(velocities, VELOCITY_WIDTH)
        self._copied: list[tuple[Array, Array]] = []  # of a Pinocchio that keeps them in another way
        if poses is None or moving is None:
            poses, moving = np.zeros((len(parts), POSE_WIDTH)), np.zeros((len(parts), VELOCITY_WIDTH))
            for row, (R, p) in zip(poses, parts, strict=True):
                self._copied += [(row[:9].reshape(3, 3), R), (row[9:], p)]
            self._copied += list(zip(moving, velocities, strict=True))
        self._tables = poses, moving

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


def _address(view: Array) -> int:
    return int(view.__array_interface__["data"][0])


def _adjoining(views: Sequence[Array], width: int) -> Array | None:
    """Return a table over vectors that lie one after the other in memory; None where they do not."""
    spacing = width * views[0].itemsize
    if any(_address(b) - _address(a) != spacing for a, b in pairwise(views)):
        return None
    table: Array = np.lib.stride_tricks.as_strided(
        views[0], (len(views), width), (spacing, views[0].itemsize)
    )
    return table
