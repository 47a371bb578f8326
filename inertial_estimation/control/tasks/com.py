"""Task of the centre of mass: a horizontal acceleration."""

from inertial_estimation.control.tasks.task import Task
from inertial_estimation.models.whole_body_dynamics import DynamicsState


class ComTask(Task):
    """Accelerates the centre of mass in the horizontal plane: J_c a + J_c'v = c''_ref.

    Attributes:
        acceleration: Wanted acceleration along x and y of the world [m/s^2].
        weight: Weight of the task.
    """

    name = "com"

    def __init__(self, acceleration: tuple[float, float], weight: float) -> None:
        self.acceleration = acceleration
        self.weight = weight

    def demand(self, state: DynamicsState) -> tuple[float, ...]:
        """Return the two horizontal rows."""
        (x, y), weight = self.acceleration, self.weight
        return 0.0, x, 0.0, 0.0, 0.0, weight, 1.0, y, 0.0, 0.0, 0.0, weight
