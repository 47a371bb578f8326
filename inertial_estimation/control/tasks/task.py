"""Interface of a task of the whole-body controller."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache

from inertial_estimation.models.whole_body_dynamics import DynamicsState
from inertial_estimation.signals import Array

DEMAND_WIDTH = 6  # numbers of one row of a task


@dataclass(frozen=True, slots=True, eq=False)
class TaskRows:
    """Rows of a least-squares demand on the acceleration: weight |A a - b|^2.

    Attributes:
        A: Jacobian, shape (m, nv); None for the joints themselves (the last m coordinates).
        b: Wanted acceleration less the drift J'v, shape (m,).
        weight: Weight of each row, shape (m,).
    """

    A: Array | None
    b: Array
    weight: Array


class Task(ABC):
    """One demand on the acceleration of the robot.

    Each of its rows asks one coordinate of a motion, with velocity J v and acceleration J a + J'v, for

        J a + J'v = c_ref + e + d (v_ref - J v)

    with a reference c_ref of the acceleration, a pull e (stiffness times error), a damping d [1/s], and a
    reference v_ref of the velocity. It is given by six numbers: the place of the coordinate among the rows of
    `DynamicsState`, followed by those of the contacts in the axes of their forces; c_ref, e, v_ref, d; and
    the weight of the row.

    Attributes:
        name: For results and diagnostics.
    """

    name: str

    @abstractmethod
    def demand(self, state: DynamicsState) -> tuple[float, ...]:
        """Return the six numbers of each row, one row after the other.

        Args:
            state: Dynamics and kinematics now.
        """


@lru_cache(maxsize=64)
def rest_demand(first: int, count: int, damping: float, weight: float) -> tuple[float, ...]:
    """Return the numbers of rows that bring consecutive coordinates to rest.

    Args:
        first: Place of the first coordinate.
        count: Number of coordinates.
        damping: d [1/s].
        weight: Weight of each row.
    """
    rows = [(float(first + i), 0.0, 0.0, 0.0, damping, weight) for i in range(count)]
    return tuple(number for row in rows for number in row)
