"""State that continues from stamp to stamp of one input, kept apart for readings on two clocks."""

from collections.abc import Callable
from typing import Generic, TypeVar

StateT = TypeVar("StateT")
READINGS_TO_BELIEVE = 20  # from which a state is not given up for strays


class ClockBranches(Generic[StateT]):
    """Two states of one input, of which each continues the stamps of one clock.

    Whether a stamp that does not follow the last one is a stray, of a second publisher, or the first after a
    jump of the clock is not known when it comes. It therefore begins the state that has had fewer readings
    (up to a few; of equal ones, that not used last), and the other one is unchanged where its stamps go on.
    """

    def __init__(self, make: Callable[[], StateT], reset: Callable[[StateT], None]) -> None:
        """Begin without a stamp.

        Args:
            make: Returns a new state.
            reset: Lets a state begin anew.
        """
        self._states = [make(), make()]  # the one used last is first
        self._stamps: list[int | None] = [None, None]
        self._readings = [0, 0]
        self._reset = reset

    @property
    def current(self) -> StateT:
        """The state that was used last."""
        return self._states[0]

    def clear(self) -> None:
        """Forget all stamps and begin both states anew."""
        self._stamps, self._readings = [None, None], [0, 0]
        for state in self._states:
            self._reset(state)

    def passed(self, stamp_ns: int, count: int) -> None:
        """Note stamps that have continued the current state.

        Args:
            stamp_ns: The last of them [ns].
            count: Their number.
        """
        self._stamps[0] = stamp_ns
        self._readings[0] = min(self._readings[0] + count, READINGS_TO_BELIEVE)

    def step_to(self, stamp_ns: int, longest_ns: int) -> int | None:
        """Choose the state that a stamp continues as the current one.

        Args:
            stamp_ns: The stamp [ns].
            longest_ns: Longest step that continues a state; a stamp that is earlier by at most as much is
                late, and changes nothing [ns].

        Returns:
            The step from the last stamp of the state [ns], 0 where the state begins; None for a late stamp.
        """
        last, other = self._stamps
        step = 0 if last is None else stamp_ns - last
        if last is not None and not 0 < step <= longest_ns:
            if other is not None and 0 < stamp_ns - other <= longest_ns:
                step = stamp_ns - other
                self._exchange()
            elif -longest_ns <= step <= 0:
                return None
            else:
                step = 0
                self._begin()
        self._stamps[0] = stamp_ns
        self._readings[0] = min(self._readings[0] + 1, READINGS_TO_BELIEVE)
        return step

    def _exchange(self) -> None:
        for pair in (self._states, self._stamps, self._readings):
            pair.reverse()

    def _begin(self) -> None:
        """Begin a state anew and use it."""
        if self._readings[0] >= self._readings[1]:
            self._exchange()
        self._reset(self._states[0])
        self._readings[0] = 0
