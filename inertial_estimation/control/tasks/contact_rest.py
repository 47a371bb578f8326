"""Task that keeps a contact at rest."""

from inertial_estimation.control.contact_constraints import ContactMotion
from inertial_estimation.control.tasks.task import Task, TaskRows, equal_weights
from inertial_estimation.models.whole_body_dynamics import DynamicsState

__all__ = ["ContactRestTask"]


class ContactRestTask(Task):
    """Brings a contact to rest: J a + J'v = -d J v. A large weight replaces the equality.

    With a weight, not an equality, the problem keeps a solution in every state: a robot that falls gets
    the torques nearest to what was wanted.

    Attributes:
        motion: Motion of the contact now.
        damping: d [1/s].
        weight: Weight of the task.
    """

    def __init__(self, contact: str, motion: ContactMotion, damping: float, weight: float) -> None:
        self.name = f"{contact} at rest"
        self.motion = motion
        self.damping = damping
        self.weight = weight

    def rows(self, state: DynamicsState) -> TaskRows:
        """Return the rows of the contact, in the axes of its force."""
        motion = self.motion
        b = -self.damping * motion.velocity - motion.drift
        return TaskRows(motion.jacobian, b, equal_weights(self.weight, len(b)))
