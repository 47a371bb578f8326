"""Views of the memory in which Pinocchio keeps motions and poses, a row for each joint.

Pinocchio's algorithms overwrite that memory, so that a compiled function reads their results without a call
into Pinocchio for each joint. The data that own the memory must live as long as the view.
"""

import numpy as np
import pinocchio as pin

from inertial_estimation.errors import ModelError
from inertial_estimation.signals import Array

MOTION_WIDTH = 6  # linear, then angular part
POSE_WIDTH = 12  # orientation by columns, then position


def motion_rows(motions: "pin.StdVec_Motion") -> Array:
    """Return the memory of the motions of all joints (`data.v`, `data.a_gf`), shape (n, 6)."""
    return _rows(motions[0].vector, motions[len(motions) - 1].vector, len(motions), MOTION_WIDTH)


def pose_rows(poses: "pin.StdVec_SE3") -> Array:
    """Return the memory of the poses of all joints (`data.oMi`), shape (n, 12)."""
    return _rows(poses[0].rotation, poses[len(poses) - 1].rotation, len(poses), POSE_WIDTH)


def _rows(first: Array, last: Array, count: int, width: int) -> Array:
    """Return a view of numbers that begin with those of the first element, of equal elements in a row.

    Raises:
        ModelError: If the elements do not lie in this way, in another build of Pinocchio.
    """
    begin, end = (part.__array_interface__["data"][0] for part in (first, last))
    if first.flags.owndata or end - begin != first.itemsize * width * (count - 1):
        raise ModelError(
            f"Pinocchio {pin.__version__} keeps {count} elements of {width} numbers in "
            f"{end - begin} bytes, expected {first.itemsize * width * (count - 1)}"
        )
    return np.lib.stride_tricks.as_strided(first, (count, width), (first.itemsize * width, first.itemsize))
