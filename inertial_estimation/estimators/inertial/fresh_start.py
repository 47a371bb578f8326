"""Whether a filter that begins now explains the data better than one that has learned the first of them.

What is learned from faulty readings at the very beginning makes the filter certain, so that good data come
back slowly, while innovations are as small as its own certainty allows. A second filter, which begins later
with the same prior, knows less; where it predicts the next data better all the same, the first data were
faulty. The difference of the logarithms of their predictive likelihoods,

    sum ((y' S^-1 y + log det S) of the first - that of the second) / (2 overlap),

is the logarithm of a Bayes factor (Kass and Raftery 1995) of a beginning now against the one before. For
sound data it is negative from the first measurement on: what has been learned helps to predict.

Where the first filter waits because the data contradict it, any filter that learns predicts them better, also
if a push or a fault has just begun. Only one to which they are not contradictory at all shows that they are
good, and the first data were not.
"""

import math

from inertial_estimation.estimators.inertial.filter_values import FilterUpdate
from inertial_estimation.estimators.inertial.inertial_filter import InertialFilter
from inertial_estimation.models.dynamics_measurement import LinearEquation

START = 2.0  # time of data in which parameters are learned for the first time [s]
CONTRADICTED = 2.5  # NIS per row, from which on no estimate explains the data
LIFE = 0.15  # time after which the second filter begins anew [s]
BETTER = 2.0  # logarithm of the Bayes factor from which on the first data were faulty; e^2 = 7


class FreshStart:
    """Compares a filter that learns with one that begins again and again, in the first seconds."""

    def __init__(self, other: InertialFilter) -> None:
        """Begin before the first measurement.

        Args:
            other: A filter like the one that learns, which nobody else uses.
        """
        self._other = other
        self._age = self._life = self._score = self._nis_time = 0.0  # the last: NIS per row over time

    def reset(self) -> None:
        """Begin before the first measurement."""
        self._age = 0.0
        self._begin()

    @property
    def is_past(self) -> bool:
        """Whether `feed` compares no more."""
        return self._age > START

    def retire(self) -> None:
        """Compare no more until the next `reset`."""
        self._age = math.inf

    def pause(self, dt: float) -> None:
        """Let a time [s] pass whose measurement cannot be compared; the second filter begins anew."""
        self._age += dt
        if self._life > 0.0:
            self._begin()

    def feed(self, equation: LinearEquation, update: FilterUpdate, dt: float) -> bool:
        """Compare the filters by one measurement.

        Args:
            equation: The measurement.
            update: Its outcome in the filter that learns.
            dt: Time since the last one [s].

        Returns:
            Whether the second filter has predicted the last data better than the one that learns.
        """
        return self._age <= START and self._compare(equation, update, dt)

    def explains(self, equation: LinearEquation, update: FilterUpdate, dt: float) -> bool:
        """Compare the filters by one measurement that contradicts the first one, in the first seconds.

        Args:
            equation: The measurement.
            update: Its outcome in the filter that waits.
            dt: Time since the last one [s].

        Returns:
            Whether the second filter has predicted the last data better, and without a contradiction.
        """
        return not self.is_past and self._compare(equation, update, dt, contradiction=CONTRADICTED)

    def _compare(
        self, equation: LinearEquation, update: FilterUpdate, dt: float, *, contradiction: float = math.inf
    ) -> bool:
        """Return whether the second filter predicts better, with a NIS per row below a limit in the mean."""
        other = self._other.update(equation, dt)
        overlap = self._other.overlap
        self._score += 0.5 * (update.nis + update.log_det - other.nis - other.log_det) / overlap
        self._nis_time += dt * other.nis / len(equation.value)
        self._age, self._life = self._age + dt, self._life + dt
        if self._life < LIFE:
            return False
        better = self._score > BETTER and self._nis_time < contradiction * self._life
        self._begin()
        return better

    def _begin(self) -> None:
        self._other.reset()
        self._life = self._score = self._nis_time = 0.0
