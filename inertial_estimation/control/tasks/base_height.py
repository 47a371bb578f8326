"""Task of the base height above the support."""

import numpy as np

from inertial_estimation.control.tasks.task import Task, TaskRows, equal_weights
from inertial_estimation.models.whole_body_dynamics import DynamicsState

__all__ = ["BaseHeightTask"]


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

    def rows(self, state: DynamicsState) -> TaskRows:
        """Return the vertical row of the base."""
        z, rate, acceleration = self.reference
        wanted = (
            acceleration
            + self.stiffness * (z - self.height)
            + self.damping * (rate - float(state.base.velocity[2]))
        )
        b = np.array([wanted - state.base.drift[2]])
        return TaskRows(state.base.jacobian[2:3], b, equal_weights(self.weight, 1))
