"""Task that keeps a contact at rest."""

from inertial_estimation.control.tasks.task import Task, rest_demand
from inertial_estimation.models.whole_body_dynamics import DynamicsState


class ContactRestTask(Task):
    """Brings a contact to rest: J a + J'v = -d J v. A large weight replaces the equality.

    With a weight, not an equality, the problem keeps a solution in every state: a robot that falls gets
    the torques nearest to what was wanted.

    Attributes:
        rows: Its rows among those of the contacts, in the axes of their forces.
        damping: d [1/s].
        weight: Weight of the task.
    """

    def __init__(self, contact: str, rows: slice, damping: float, weight: float) -> None:
        self.name = f"{contact} at rest"
        self.rows = rows
        self.damping = damping
        self.weight = weight

    def demand(self, state: DynamicsState) -> tuple[float, ...]:
        """Return the rows of the contact, in the axes of its force."""
        rows, before = self.rows, len(state.rows.velocity)
        return rest_demand(before + rows.start, rows.stop - rows.start, self.damping, self.weight)
