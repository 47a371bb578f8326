"""Task of the joint posture."""

from dataclasses import dataclass

from inertial_estimation.control.tasks.task import TaskRows
from inertial_estimation.signals import Array


@dataclass(frozen=True, slots=True, eq=False)
class PostureTask:
    """Draws every joint to its reference: q'' = q''_ref + k (q_ref - q) + d (q'_ref - q'), joint by joint.

    Attributes:
        q_ref: Wanted positions [rad], shape (n_joints,).
        v_ref: Wanted velocities [rad/s], shape (n_joints,).
        a_ref: Wanted accelerations [rad/s^2], shape (n_joints,).
        stiffness: k of each joint [1/s^2], shape (n_joints,).
        damping: d of each joint [1/s], shape (n_joints,).
        weight: Weight of each joint, shape (n_joints,).
    """

    q_ref: Array
    v_ref: Array
    a_ref: Array
    stiffness: Array
    damping: Array
    weight: Array

    def rows(self, q: Array, v: Array) -> TaskRows:
        """Return one row per joint.

        Args:
            q: Positions [rad], shape (n_joints,).
            v: Velocities [rad/s], shape (n_joints,).
        """
        wanted = self.a_ref + self.stiffness * (self.q_ref - q) + self.damping * (self.v_ref - v)
        return TaskRows(None, wanted, self.weight)
