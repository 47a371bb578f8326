"""Interface of a task of the whole-body controller."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from inertial_estimation.models.whole_body_dynamics import DynamicsState
from inertial_estimation.signals import Array

__all__ = ["Task", "TaskRows", "equal_weights"]


@dataclass(frozen=True, slots=True, eq=False)
class TaskRows:
    """Rows of a least-squares demand on the acceleration: weight |A a - b|^2.

    Attributes:
        A: Jacobian, shape (m, nv); None for the joints themselves (the last m coordinates).
        b: Wanted acceleration less the drift J'v, shape (m,).
        weight: Weight of each row, shape (m,).
    """

    A: Array | None
    b: Array
    weight: Array


@lru_cache(maxsize=64)
def equal_weights(weight: float, rows: int) -> Array:
    """Return the same weight for each of some rows, read-only, shape (rows,).

    Args:
        weight: Weight of each row.
        rows: Their number.
    """
    weights: Array = np.full(rows, weight)
    weights.setflags(write=False)
    return weights


class Task(ABC):
    """One demand on the acceleration of the robot.

    Attributes:
        name: For results and diagnostics.
    """

    name: str

    @abstractmethod
    def rows(self, state: DynamicsState) -> TaskRows:
        """Return the rows at a state of the robot.

        Args:
            state: Dynamics and kinematics now.
        """
