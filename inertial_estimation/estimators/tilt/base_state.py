"""Position of the base by dead reckoning over contacts that are fixed in the world."""

from inertial_estimation.compilation import Column, MutableTable, Table, compiled, warm_up, zeros
from inertial_estimation.signals import Array
from inertial_estimation.spatial.vectors import ZERO, Matrix, Vector, combine, store, times, vector_of

__all__ = ["BasePosition"]


class BasePosition:
    """Dead reckoning of the base over its contacts.

    A contact that comes into use gets an anchor, its current position in the world, and keeps it while in
    use. The position of the base is the weighted mean p_WB = sum_i s_i (a_i - R_WB p_BC,i). It does not
    drift while a foot stands, and it is continuous, because the weight of a contact is zero when it comes
    into use and when it goes out of use. Without contact the velocity is integrated.

    Attributes:
        p_WB: Position of the base in the world [m]; starts above the origin, with its contacts at z = 0.
    """

    def __init__(self, n_contacts: int) -> None:
        self._n_contacts = n_contacts
        warm_up()
        self.reset()

    def reset(self) -> None:
        """Discard the anchors and return to the initial position."""
        self.p_WB: Vector = ZERO
        self._anchors = zeros(self._n_contacts, 4)  # whether there is one, and its position in the world [m]
        self._started = False

    def step(self, h: float, R_WB: Matrix, v_WB_B: Vector, points_B: Array, weights: Array) -> None:
        """Advance by one step.

        Args:
            h: Duration of the step [s].
            R_WB: Orientation of the base in the world.
            v_WB_B: Velocity of the base origin, base frame [m/s].
            points_B: Contact points in the base frame [m], as `compilation.numbers` of shape (n, 3).
            weights: Their weights, of sum 1 or all zero, as `compilation.numbers` of shape (n,).
        """
        self.p_WB, self._started = _position(
            *(h, self.p_WB, self._started, R_WB, v_WB_B, points_B, weights, self._anchors)
        )


@compiled
def _position(
    h: float,
    p_WB: Vector,
    started: bool,
    R_WB: Matrix,
    v_WB_B: Vector,
    points_B: Table,
    weights: Column,
    anchors: MutableTable,
) -> tuple[Vector, bool]:
    """Return the position after a step, and whether a contact has been in use; updates the anchors."""
    predicted = combine(p_WB, h, times(R_WB, v_WB_B))
    anchored, total, used, height = ZERO, 0.0, False, 0.0
    for i in range(len(weights)):
        if weights[i] <= 0.0:
            anchors[i][0] = 0.0
            continue
        used = True
        lever = times(R_WB, vector_of(points_B[i], 0))
        height += weights[i] * lever[2]
        if anchors[i][0] > 0.0:
            anchored = combine(anchored, weights[i], combine(vector_of(anchors[i], 1), -1.0, lever))
            total += weights[i]
    # Contacts that come into use in this step have no anchor yet and get the predicted position.
    p = combine(anchored, 1.0 - total, predicted) if total < 1.0 else anchored
    if used and not started:
        p, started = (p_WB[0], p_WB[1], -height), True
    for i in range(len(weights)):
        if weights[i] > 0.0 and anchors[i][0] == 0.0:
            anchors[i][0] = 1.0
            store(anchors[i], 1, combine(p, 1.0, times(R_WB, vector_of(points_B[i], 0))))
    return p, started
