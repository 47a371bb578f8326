"""Readings whose stamps do not continue those of their stream: another clock, or strays."""

from inertial_estimation.signals import Array

MOST_HELD = 2048  # readings kept until the clock is decided


class ClockCandidate:
    """Consecutive readings that agree with one another, but not with the stamps of their stream before.

    A single one is a stray. Several, while the clock before has stopped, show that the clock has jumped; they
    are then used. While the clock before goes on, a second publisher sends them.

    Attributes:
        held: Stamps [ns] and rows of the readings since the clock before was last heard.
        first_ns: Stamp of the first reading since the clock before was last heard [ns].
        last_ns: Stamp of the last reading [ns].
        count: Number of readings.
        quiet_since_ns: Stamp from which no other stream has been heard on the clock before [ns].
    """

    def __init__(self, stamp_ns: int, row: Array, others: tuple[int | None, ...]) -> None:
        """Begin with one reading.

        Args:
            stamp_ns: Its stamp [ns].
            row: Its numbers, shape (width,).
            others: Last stamps of the other streams [ns].
        """
        self.held = [(stamp_ns, row)]
        self.first_ns = self.last_ns = stamp_ns
        self.count = 1
        self.quiet_since_ns = stamp_ns
        self._others = others

    def follows(self, stamp_ns: int, longest_step_ns: int) -> bool:
        """Return whether a stamp continues those of the candidate."""
        return 0 < stamp_ns - self.last_ns <= longest_step_ns

    def add(self, stamp_ns: int, row: Array, others: tuple[int | None, ...]) -> int:
        """Take a reading that follows; return how many of the held ones had to give way to it."""
        if not self.held:
            self.first_ns = stamp_ns
        self.held.append((stamp_ns, row))
        self.last_ns = stamp_ns
        self.count += 1
        if others != self._others:
            self._others, self.quiet_since_ns = others, stamp_ns
        surplus = len(self.held) - MOST_HELD
        if surplus > 0:
            del self.held[:surplus]
        return max(surplus, 0)

    def contest(self) -> int:
        """Give up the held readings, since the clock before is heard; return how many they are."""
        given_up = len(self.held)
        self.held.clear()
        return given_up

    @property
    def silence_ns(self) -> int:
        """Time for which the clock before has not been heard [ns]."""
        return self.last_ns - self.first_ns if self.held else 0
