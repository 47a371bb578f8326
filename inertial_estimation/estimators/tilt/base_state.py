"""Position of the base by dead reckoning over contacts that are fixed in the world."""

from collections.abc import Sequence

from inertial_estimation.spatial.vectors import ZERO, Matrix, Vector, combine, times

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
        self.reset()

    def reset(self) -> None:
        """Discard the anchors and return to the initial position."""
        self.p_WB: Vector = ZERO
        self._anchors: list[Vector | None] = [None] * self._n_contacts
        self._started = False

    def step(
        self,
        h: float,
        R_WB: Matrix,
        v_WB_B: Vector,
        points_B: Sequence[Vector],
        weights: Sequence[float],
    ) -> None:
        """Advance by one step.

        Args:
            h: Duration of the step [s].
            R_WB: Orientation of the base in the world.
            v_WB_B: Velocity of the base origin, base frame [m/s].
            points_B: Contact points in the base frame [m]; empty while unknown.
            weights: Their weights, of sum 1 or all zero.
        """
        if not self._started and any(weights):
            self._start(R_WB, points_B, weights)
            return
        predicted = combine(self.p_WB, h, times(R_WB, v_WB_B))
        anchored, total = ZERO, 0.0
        for i, weight in enumerate(weights):
            if weight <= 0.0:
                self._anchors[i] = None
                continue
            lever = times(R_WB, points_B[i])
            anchor = self._anchors[i]
            if anchor is None:
                continue
            candidate = (anchor[0] - lever[0], anchor[1] - lever[1], anchor[2] - lever[2])
            anchored = combine(anchored, weight, candidate)
            total += weight
        # Contacts that come into use in this step have no anchor yet and get the predicted position.
        self.p_WB = combine(anchored, 1.0 - total, predicted) if total < 1.0 else anchored
        self._set_anchors(R_WB, points_B, weights)

    def _set_anchors(self, R_WB: Matrix, points_B: Sequence[Vector], weights: Sequence[float]) -> None:
        for i, weight in enumerate(weights):
            if weight > 0.0 and self._anchors[i] is None:
                self._anchors[i] = combine(self.p_WB, 1.0, times(R_WB, points_B[i]))

    def _start(self, R_WB: Matrix, points_B: Sequence[Vector], weights: Sequence[float]) -> None:
        height = sum(w * times(R_WB, p)[2] for w, p in zip(weights, points_B, strict=True))
        self.p_WB = (self.p_WB[0], self.p_WB[1], -height)
        self._started = True
        self._set_anchors(R_WB, points_B, weights)
