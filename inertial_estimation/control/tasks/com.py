"""Task of the centre of mass: a horizontal acceleration."""

from inertial_estimation.control.tasks.task import Task, TaskRows, equal_weights
from inertial_estimation.models.whole_body_dynamics import DynamicsState
from inertial_estimation.signals import Array

__all__ = ["ComTask"]


class ComTask(Task):
    """Accelerates the centre of mass in the horizontal plane: J_c a + J_c'v = c''_ref.

    Attributes:
        acceleration: Wanted acceleration, world axes [m/s^2], shape (2,).
        weight: Weight of the task.
    """

    name = "com"

    def __init__(self, acceleration: Array, weight: float) -> None:
        self.acceleration = acceleration
        self.weight = weight

    def rows(self, state: DynamicsState) -> TaskRows:
        """Return the two horizontal rows."""
        b = self.acceleration - state.com_drift[:2]
        return TaskRows(state.com_jacobian[:2], b, equal_weights(self.weight, 2))
