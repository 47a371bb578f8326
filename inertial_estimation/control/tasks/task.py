"""What a task of the whole-body controller asks for."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from inertial_estimation.models.whole_body_dynamics import DynamicsState
from inertial_estimation.signals import Array

__all__ = ["Task", "TaskRows"]


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

    def residual(self, a: Array) -> float:
        """Return the root mean square of A a - b over the rows."""
        reached = a[len(a) - len(self.b) :] if self.A is None else self.A @ a
        return float(np.sqrt(np.mean((reached - self.b) ** 2)))


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
