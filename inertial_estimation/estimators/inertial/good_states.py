"""States of the inertial filter that have proved good, to return to after a fault."""

from inertial_estimation.estimators.inertial.inertial_filter import FilterState, InertialFilter
from inertial_estimation.signals import Array

__all__ = ["GoodStates"]

PERIOD = 0.2  # time between two states, and time for which the data must stay unsuspected after each [s]


class GoodStates:
    """Keeps three states: the last good one, one on probation, and the one before the last change of load.

    A state becomes good when the data have stayed unsuspected for a while after it, since a fault enters a
    window of averaged readings gradually.

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
        self._on_probation: FilterState | None = None
        self._probation_for = 0.0
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

    def advance(self, dt: float) -> bool:
        """Let time pass without suspect data; return whether a state is due to be examined."""
        self._probation_for += dt
        return self._probation_for >= PERIOD

    def disturb(self) -> None:
        """Drop the state on probation: the data have become suspect."""
        self._forget_probation()

    def confirm(self) -> None:
        """Take the state on probation as good, and put the present one on probation."""
        if self._on_probation is not None:
            self._take(self._on_probation)
        self._on_probation = self._filter.state
        self._probation_for = 0.0

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
        self._on_probation = None
        self._probation_for = 0.0
