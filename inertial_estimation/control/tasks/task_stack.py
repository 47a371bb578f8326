"""All tasks of one instant as numbers, one row below the other."""

from collections.abc import Sequence

import numpy as np

from inertial_estimation.control.tasks.posture import PostureTask
from inertial_estimation.control.tasks.task import DEMAND_WIDTH, Task, TaskRows
from inertial_estimation.models.whole_body_dynamics import DynamicsState, MotionRows
from inertial_estimation.signals import Array


class TaskStack:
    """Tasks with the motions that they refer to.

    Attributes:
        demand: The numbers of each row, as `Task` describes them, shape (m, 6).
        posture: Posture of the joints.
        state: Dynamics now.
        contacts: Motions of the contacts in the axes of their forces.
    """

    def __init__(
        self, state: DynamicsState, contacts: MotionRows, tasks: Sequence[Task], posture: PostureTask
    ) -> None:
        """Write the tasks one below the other.

        Args:
            state: Dynamics now.
            contacts: Motions of the contacts in the axes of their forces.
            tasks: What is wanted; names must differ.
            posture: Posture of the joints.
        """
        self.state, self.contacts, self.posture = state, contacts, posture
        numbers: list[float] = []
        self._ends: list[tuple[str, int]] = []
        for task in tasks:
            numbers += task.demand(state)
            self._ends.append((task.name, len(numbers) // DEMAND_WIDTH))
        self.demand: Array = np.array(numbers).reshape(-1, DEMAND_WIDTH)

    @property
    def rows(self) -> dict[str, TaskRows]:
        """Rows of each task by its name."""
        state, contacts = self.state, self.contacts
        place, acceleration, pull, rate, damping, weight = self.demand.T
        places = place.astype(int)
        A = np.concatenate((state.rows.jacobian, contacts.jacobian))[places]
        velocity, drift = (
            np.concatenate(parts)[places]
            for parts in (
                (state.rows.velocity, contacts.velocity),
                (state.rows.drift, contacts.drift),
            )
        )
        b = acceleration + pull + damping * (rate - velocity) - drift
        found = {"posture": self.posture.rows(state.q, state.v[len(state.v) - len(state.q) :])}
        begin = 0
        for name, end in self._ends:
            found[name] = TaskRows(A[begin:end], b[begin:end], weight[begin:end])
            begin = end
        return found
