"""Task that moves a foot through the air."""

from dataclasses import dataclass

from inertial_estimation.control.tasks.task import Task
from inertial_estimation.models.whole_body_dynamics import DynamicsState
from inertial_estimation.signals import Array
from inertial_estimation.spatial.rotations import log_so3


@dataclass(frozen=True, slots=True, eq=False)
class FootReference:
    """Where a foot should be, world axes, positions relative to the base origin.

    Attributes:
        R_WF: Orientation, shape (3, 3).
        p_BF_W: Position [m], shape (3,).
        velocity: Linear velocity in the world [m/s], shape (3,).
        acceleration: Linear acceleration in the world [m/s^2], shape (3,).
    """

    R_WF: Array
    p_BF_W: Array
    velocity: Array
    acceleration: Array


class FootMotionTask(Task):
    """Moves a foot along a reference: p'' = p''_ref + k e + d e', likewise for its orientation.

    Attributes:
        index: Place of the foot among the frames of the state.
        reference: Where it should be.
        stiffness: k [1/s^2].
        damping: d [1/s].
        weight: Weight of the task.
        turn: Whether its orientation is controlled too; a point foot's is not.
    """

    name = "swing_foot"

    def __init__(
        self,
        index: int,
        reference: FootReference,
        stiffness: float,
        damping: float,
        weight: float,
        *,
        turn: bool = True,
    ) -> None:
        self.index = index
        self.reference = reference
        self.stiffness = stiffness
        self.damping = damping
        self.weight = weight
        self.turn = turn

    def demand(self, state: DynamicsState) -> tuple[float, ...]:
        """Return three rows of position and, for a sole, three of orientation."""
        foot, wanted, k = state.frames[self.index], self.reference, self.stiffness
        first, d, weight = state.frame_row(self.index), self.damping, self.weight
        pull: list[float] = (k * (wanted.p_BF_W - foot.p_BF_W)).tolist()
        acceleration, rate = wanted.acceleration.tolist(), wanted.velocity.tolist()
        if self.turn:
            pull += (k * log_so3(wanted.R_WF @ foot.R_WF.T)).tolist()
            acceleration, rate = [*acceleration, 0.0, 0.0, 0.0], [*rate, 0.0, 0.0, 0.0]
        rows = enumerate(zip(acceleration, pull, rate, strict=True), first)
        return tuple(number for i, row in rows for number in (float(i), *row, d, weight))
