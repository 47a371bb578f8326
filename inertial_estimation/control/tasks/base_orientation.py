"""Task of the base orientation."""

from inertial_estimation.control.tasks.task import Task, TaskRows, equal_weights
from inertial_estimation.models.whole_body_dynamics import DynamicsState
from inertial_estimation.signals import Array
from inertial_estimation.spatial.rotations import log_so3

__all__ = ["BaseOrientationTask"]


class BaseOrientationTask(Task):
    """Turns the base to an orientation: w' = w'_ref + k log(R_ref R_WB') + d (w_ref - w), world axes.

    Attributes:
        R_ref: Wanted orientation of the base, shape (3, 3).
        w_ref: Wanted angular velocity, world axes [rad/s], shape (3,).
        dw_ref: Its derivative [rad/s^2], shape (3,).
        stiffness: k [1/s^2].
        damping: d [1/s].
        weight: Weight of the task.
    """

    name = "base_orientation"

    def __init__(
        self, R_ref: Array, w_ref: Array, dw_ref: Array, stiffness: float, damping: float, weight: float
    ) -> None:
        self.R_ref = R_ref
        self.w_ref = w_ref
        self.dw_ref = dw_ref
        self.stiffness = stiffness
        self.damping = damping
        self.weight = weight

    def rows(self, state: DynamicsState) -> TaskRows:
        """Return the three rotational rows of the base."""
        base = state.base
        error = log_so3(self.R_ref @ base.R_WF.T)
        turn = self.damping * (self.w_ref - base.velocity[3:])
        wanted = self.dw_ref + self.stiffness * error + turn
        return TaskRows(base.jacobian[3:], wanted - base.drift[3:], equal_weights(self.weight, 3))
