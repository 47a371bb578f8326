"""Positions of joints that are suddenly elsewhere: two joints exchanged, an encoder that slips."""

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.models.joint_tracks import RIGHT
from inertial_estimation.signals import Array

JUMP = 0.1  # least jump of a position for which a joint state is dropped [rad or m]
JUMP_LAG = 0.05  # by which a position and its velocity may be apart [s]
RETURN_LAG = 0.1  # the same over the time since a jump, when a position is back [s]
CATCH_UP = 1.2  # factor on what a position lags behind its velocity, up to which a jump makes up for it
LARGEST_ACCELERATION = 200.0  # of a joint between two joint states [rad/s^2 or m/s^2]
HELD_S = 0.8  # for which joint states are refused after a jump; a longer gap is a jump of the clock
START_S = 0.3  # joint states before a jump that are too few to doubt those after it for good
RETURNED = 0.5  # share of a jump that is left where a position believed to be wrong has come back


class PositionJump:
    """Follows the changes of positions over the steps from one joint state to the next.

    A position jumps where its change differs from the travel at its velocity v by more than a least jump, a
    lag of the velocity and the largest acceleration allow: |dq - h v| > d + t |v| + a h^2 / 2. A position
    that has lagged behind its velocity (held by its driver) may also catch up.

    Joint states are refused until the positions are back: where they would be by their velocities since, or,
    after another jump, near where they were. They are refused for `HELD_S` at most, and no longer than they
    had been right before. Then they are believed, since the data do not tell which position is right;
    `believed` says so until half of the jump is undone. A jump within `START_S` of the first joint state is
    forgotten: the first ones count as wrong.

    Attributes:
        new: Whether a position has jumped with the last joint state, away or back.
        first_wrong: Whether the last joint state is the first one believed after a jump close to the start.
    """

    def __init__(self, names: tuple[str, ...], figures: Array) -> None:
        """Begin without a jump.

        Args:
            names: Of the joints.
            figures: Of a track in the numbers of `joint_tracks`, which hold for how long joint states
                had been right before a jump.
        """
        self._names, self._figures = names, figures
        self.reset()

    def reset(self) -> None:
        """Forget a jump."""
        self.new = self.first_wrong = False
        self._shift: Array | None = None  # by which positions are away from where they would be
        self._moved: Array = np.zeros(len(self._names))  # since the last good joint state
        self._v_good: Array = self._moved
        self._figures[RIGHT] = 0.0
        self._age = 0.0
        self._largest = 0.0

    @property
    def lasts(self) -> bool:
        """Whether a position has jumped and is not back."""
        return self._shift is not None

    @property
    def believed(self) -> str:
        """Description of a jump that has lasted so long that the positions are used; else empty."""
        if self._shift is None or not self._given_up:
            return ""
        return f"{self._text(self._shift)} and is not back; call ~/reset if it is right"

    @property
    def _given_up(self) -> bool:
        return bool(self._age > min(HELD_S, self._figures[RIGHT]))

    def passed(self, h: float) -> None:
        """Note a step without a jump [s]."""
        self.new = self.first_wrong = False
        self._figures[RIGHT] += h

    def update(self, h: float, change: Array, v: Array, sent: Array | None, lagging: Array) -> str:
        """Take a change of the positions over a step; return why the positions must not be used.

        Args:
            h: The step [s].
            change: Of the positions [rad or m], shape (n_joints,).
            v: Velocities before it [rad/s or m/s], shape (n_joints,).
            sent: Those after it; None if none were sent.
            lagging: Change of the positions less the integral of the velocities until now, shape (n_joints,).
        """
        off = change - h * v
        allowed = JUMP + JUMP_LAG * np.abs(v) + 0.5 * LARGEST_ACCELERATION * h * h
        jumped = np.abs(off) > allowed + CATCH_UP * np.abs(lagging) * (off * lagging < 0.0)
        self.new, self.first_wrong = bool(jumped.any()), False
        if self._shift is None:
            if not self.new:
                self._figures[RIGHT] += h
                return ""
            self._begin(v)
        self._age += h
        self._moved += change
        if self._given_up:
            self._follow_believed(off, jumped)
            return ""
        return self._hold(off, jumped, v if sent is None else sent)

    def _begin(self, v: Array) -> None:
        self._shift, self._moved = np.zeros(len(v)), np.zeros(len(v))
        self._v_good, self._age, self._largest = v, 0.0, 0.0

    def _end(self) -> None:
        self._shift = None
        self._figures[RIGHT] += self._age

    def _hold(self, off: Array, jumped: NDArray[np.bool_], v: Array) -> str:
        shift = self._shift
        assert shift is not None
        taken = jumped | (shift != 0.0)
        shift[taken] += off[taken]
        shift[np.abs(shift) < JUMP] = 0.0
        again = self.new and self._largest > 0.0
        if not shift.any() or (again and self._back(v)):
            self._end()
            return ""
        self._largest = float(np.abs(shift).max())
        return self._text(shift)

    def _back(self, v: Array) -> bool:
        """Whether every position is where the velocities before and after the jump may have brought it."""
        travel = 0.5 * self._age * (self._v_good + v)
        reach = JUMP + RETURN_LAG * (np.abs(self._v_good) + np.abs(v))
        return bool((np.abs(self._moved - travel) < reach).all())

    def _follow_believed(self, off: Array, jumped: NDArray[np.bool_]) -> None:
        shift = self._shift
        assert shift is not None
        sign = np.sign(shift)
        shift[jumped] += off[jumped]
        shift[(sign != 0.0) & (sign * shift < RETURNED * self._largest)] = 0.0
        self._largest = max(self._largest, float(np.abs(shift).max(initial=0.0)))
        self.first_wrong = self._figures[RIGHT] < START_S
        if self.first_wrong or not shift.any():
            self._end()

    def _text(self, shift: Array) -> str:
        worst = int(np.abs(shift).argmax())
        more = int(np.count_nonzero(shift)) - 1
        others = f" (and of {more} more)" if more else ""
        return f"position of {self._names[worst]}{others} jumped by {shift[worst]:.3g} rad"
