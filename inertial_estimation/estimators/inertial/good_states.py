"""States of the inertial filter that have proved good, to return to after a fault."""

from collections import deque

import numpy as np

from inertial_estimation.estimators.inertial.inertial_filter import FilterState, InertialFilter
from inertial_estimation.signals import Array

__all__ = ["GoodStates"]

PERIOD = 0.05  # time between two states [s]
PERIODS_OF_PROBATION = 4  # for which the data must stay unsuspected after a state


class GoodStates:
    """Keeps the last good state, those on probation, and the one before the last change of the load.

    A state becomes good when the data have stayed unsuspected for a while after it, since a fault enters a
    window of averaged readings gradually. Published parameters are those of the last good state, so that a
    return to it does not move them.

    Attributes:
        last: The last good state.
        parameters: Its parameters in C, shape (n, 10).
        before_change: The good state before the last change of the load; None if there was none.
    """

    def __init__(self, filter_: InertialFilter) -> None:
        """Begin with the filter's present state as the good one.

        Args:
            filter_: The filter.
        """
        self._filter = filter_
        self._on_probation: deque[FilterState] = deque()
        self._since_latest = 0.0
        self.reset()

    def reset(self) -> None:
        """Take the filter's present state as the only good one."""
        self.before_change: FilterState | None = None
        self._take(self._filter.state)
        self._forget_probation()

    @property
    def earlier(self) -> tuple[FilterState, ...]:
        """The states to which the filter may return, the last good one first."""
        return (self.last,) if self.before_change is None else (self.last, self.before_change)

    @property
    def moved(self) -> float:
        """Largest relative change of a mass since the last good state."""
        return float(np.abs(self._filter.masses_of(self._filter.x) / self.parameters[:, 0] - 1.0).max())

    def advance(self, dt: float) -> bool:
        """Let time pass without suspect data; return whether a state is due to be examined."""
        self._since_latest += dt
        return self._since_latest >= PERIOD

    def disturb(self) -> None:
        """Drop the states on probation: the data have become suspect."""
        self._forget_probation()

    def confirm(self) -> None:
        """Put the present state on probation, and take the first on probation as good when its time is up."""
        self._on_probation.append(self._filter.state)
        if len(self._on_probation) > PERIODS_OF_PROBATION:
            self._take(self._on_probation.popleft())
        self._since_latest = 0.0

    def change(self) -> None:
        """Take the present state as good after a change of the load."""
        self.before_change = self.last
        self._take(self._filter.state)
        self._forget_probation()

    def return_to(self, state: FilterState) -> None:
        """Put the filter back to one of the earlier states."""
        if state is self.before_change:
            self.before_change = self.last
            self._take(state)
        self._filter.restore(state)
        self._forget_probation()

    def _take(self, state: FilterState) -> None:
        self.last = state
        self.parameters: Array = self._filter.parameters_of(state.x, state.P)[0]

    def _forget_probation(self) -> None:
        self._on_probation.clear()
        self._since_latest = 0.0
