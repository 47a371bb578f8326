"""Task of the base height above the support."""

from inertial_estimation.control.tasks.task import Task
from inertial_estimation.models.whole_body_dynamics import DynamicsState


class BaseHeightTask(Task):
    """Holds the base at a height above the supporting soles.

    z'' = z''_ref + k (z_ref - z) + d (z'_ref - z'), z the height of the base above the support and z' its
    vertical velocity in the world: the support is at rest.

    Attributes:
        height: Measured height [m].
        reference: Wanted height [m], its rate [m/s] and its second derivative [m/s^2].
        stiffness: k [1/s^2].
        damping: d [1/s].
        weight: Weight of the task.
    """

    name = "base_height"

    def __init__(
        self,
        height: float,
        reference: tuple[float, float, float],
        stiffness: float,
        damping: float,
        weight: float,
    ) -> None:
        self.height = height
        self.reference = reference
        self.stiffness = stiffness
        self.damping = damping
        self.weight = weight

    def demand(self, state: DynamicsState) -> tuple[float, ...]:
        """Return the vertical row of the base."""
        z, rate, acceleration = self.reference
        pull = self.stiffness * (z - self.height)
        return float(state.base_row + 2), acceleration, pull, rate, self.damping, self.weight
