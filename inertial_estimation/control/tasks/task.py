"""Interface of a task of the whole-body controller."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

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
