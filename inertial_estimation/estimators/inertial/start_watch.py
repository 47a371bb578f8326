"""Whether the first data contradicted every estimate, and those after them do not: then they were faulty."""

START = 3.0  # time of data in which parameters are learned for the first time [s]
RECENT = 0.2  # time constant of the mean NIS [s]
CONTRADICTED = 2.5  # NIS per row, from which on no estimate explains the data
LONG = 0.5  # time for which it stays that large where a fault makes it, not an estimate that converges [s]
FALL = 4.0  # factor by which it falls when the fault ends
LARGEST = 20.0  # NIS per row, as which a larger one counts: that of the nominal parameters has no limit


class StartWatch:
    """Watches the normalised innovation squared (NIS) of the first seconds of learning.

    The estimate of sound data converges within tenths of a second, and noise that is stated too small is
    adapted to at once. A fault of a few rows, whose innovations no estimate and no noise of their group
    explains, keeps the NIS far above the number of rows. When it ends, the NIS falls, and what has been
    learned is the estimate of the faulty data, to which good data then come back slowly.
    """

    def __init__(self, rows: int) -> None:
        """Begin without data; `rows` is the number of rows of a measurement, the expected NIS."""
        self._rows = rows
        self.reset()

    def reset(self) -> None:
        """Begin without data."""
        self._age = self._recent = self._contradicted_for = self._level = 0.0

    @property
    def is_past(self) -> bool:
        """Whether the first seconds are over."""
        return self._age > START

    @property
    def is_over(self) -> bool:
        """Whether a contradiction that lasted since the first data has ended, while it is still the start."""
        lasted = self._contradicted_for >= LONG
        return lasted and self._age <= START and self._recent * FALL < self._level

    def feed(self, nis: float, dt: float) -> None:
        """Take the NIS of one measurement.

        Args:
            nis: Normalised innovation squared.
            dt: Time since the last one [s].
        """
        if self._age > START or not nis >= 0.0:  # NaN
            return
        self._age += dt
        counted = min(nis, LARGEST * self._rows)
        self._recent += min(dt / min(self._age, RECENT), 1.0) * (counted - self._recent)
        if counted > CONTRADICTED * self._rows:
            self._contradicted_for += dt
            self._level += dt / self._contradicted_for * (counted - self._level)
