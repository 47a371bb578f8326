"""States of the inertial filter that have proved good, to return to after a fault."""

from collections import deque

import numpy as np

from inertial_estimation.estimators.inertial.filter_values import FilterState
from inertial_estimation.estimators.inertial.inertial_filter import InertialFilter
from inertial_estimation.estimators.inertial.located_changes import LocatedChanges

PERIOD = 0.05  # time between two states [s]
PERIODS_OF_PROBATION = 4  # for which the data must stay unsuspected after a state


class GoodStates:
    """Keeps the last good state, those on probation, and the one before the last change of the load.

    A state becomes good when the data have stayed unsuspected for a while after it, since a fault enters a
    window of averaged readings gradually.

    Attributes:
        last: The last good state.
        held: The state before the first suspect data, which is published while they are suspect.
        before_change: The good state before the last change of the load; None if there was none.
        unsuspected_for: Time of data that were not suspect, in all [s].
        located: The changes that were those of a load on one body.
    """

    def __init__(self, filter_: InertialFilter, memory: float) -> None:
        """Begin with the filter's present state as the good one.

        Args:
            filter_: The filter.
            memory: Time for which located changes are remembered [s].
        """
        self._filter = filter_
        self.located = LocatedChanges(filter_, memory)
        self._on_probation: deque[FilterState] = deque()
        self._since_latest = 0.0
        self.reset()

    def reset(self) -> None:
        """Take the filter's present state as the only good one."""
        self.before_change: FilterState | None = None
        self.located.reset()
        self.unsuspected_for = 0.0
        self.last = self.held = self._filter.state
        self.forget_probation()

    def carry_over(self, filter_: InertialFilter) -> None:
        """Keep all states for a filter with more bodies.

        Args:
            filter_: The filter.
        """
        self._filter = filter_
        self.located.carry_over(filter_)
        self._on_probation = deque(filter_.adopted(state) for state in self._on_probation)
        self.last, self.held = filter_.adopted(self.last), filter_.adopted(self.held)
        if self.before_change is not None:
            self.before_change = filter_.adopted(self.before_change)

    @property
    def earlier(self) -> tuple[FilterState, ...]:
        """The states to which the filter may return, the one before the first suspect data first."""
        states = (self.held, self.last)
        return states if self.before_change is None else (*states, self.before_change)

    @property
    def moved(self) -> float:
        """Largest relative change of a mass since the first suspect data."""
        masses = self._filter.masses_of
        return float(np.abs(masses(self._filter.x) / masses(self.held.x) - 1.0).max())

    def advance(self, dt: float) -> bool:
        """Let time pass without suspect data; return whether a state is due to be examined."""
        self._since_latest += dt
        self.unsuspected_for += dt
        return self._since_latest >= PERIOD

    def forget_probation(self) -> None:
        """Drop the states on probation: the data are suspect, or the filter has been given another state."""
        self._on_probation.clear()
        self._since_latest = 0.0

    def confirm(self) -> None:
        """Put the present state on probation, and take the first on probation as good when its time is up."""
        self._on_probation.append(self._filter.state)
        if len(self._on_probation) > PERIODS_OF_PROBATION:
            self.last = self._on_probation.popleft()
        self._since_latest = 0.0

    def change(self, *, located: bool) -> None:
        """Take the present state as good after a change of the load.

        Args:
            located: Whether the load has been located on one body.
        """
        if located:
            self.located.believe(self.held.x, self._filter.x)
        self.before_change = self.last
        self.last = self._filter.state
        self.forget_probation()

    def return_to(self, state: FilterState) -> None:
        """Put the filter back to one of the earlier states."""
        if state is self.before_change:
            self.before_change = self.last
            self.located.believe(self.last.x, state.x)
            self.last = state
        self._filter.restore(state)
        self.forget_probation()
