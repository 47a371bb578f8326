"""Task of the joint posture."""

from inertial_estimation.control.tasks.task import Task, TaskRows
from inertial_estimation.models.whole_body_dynamics import DynamicsState
from inertial_estimation.signals import Array

__all__ = ["PostureTask"]


class PostureTask(Task):
    """Draws every joint to its reference: q'' = q''_ref + k (q_ref - q) + d (q'_ref - q'), joint by joint.

    Attributes:
        q_ref: Wanted positions [rad], shape (n_joints,).
        v_ref: Wanted velocities [rad/s], shape (n_joints,).
        a_ref: Wanted accelerations [rad/s^2], shape (n_joints,).
        stiffness: k of each joint [1/s^2], shape (n_joints,).
        damping: d of each joint [1/s], shape (n_joints,).
        weight: Weight of each joint, shape (n_joints,).
    """

    name = "posture"

    def __init__(
        self, q_ref: Array, v_ref: Array, a_ref: Array, stiffness: Array, damping: Array, weight: Array
    ) -> None:
        self.q_ref = q_ref
        self.v_ref = v_ref
        self.a_ref = a_ref
        self.stiffness = stiffness
        self.damping = damping
        self.weight = weight

    def rows(self, state: DynamicsState) -> TaskRows:
        """Return one row per joint."""
        v = state.v[len(state.v) - len(state.q) :]
        wanted = self.a_ref + self.stiffness * (self.q_ref - state.q) + self.damping * (self.v_ref - v)
        return TaskRows(None, wanted, self.weight)
