"""What is tuned: one estimator over all recordings, and the scores by which values are compared."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.signals import Array
from inertial_estimation.tuning.division import Comparison, compared
from inertial_estimation.tuning.trials import Objective, Report, Trials, Values


@dataclass(eq=False)
class Problem:
    """One estimator over several recordings.

    Attributes:
        objective: What is made small.
        trials: The estimator over each recording.
        parts: Parts of every recording; values are searched on all but the last one.
    """

    objective: Objective
    trials: Sequence[Trials]
    parts: int
    _known: dict[tuple[int, str], Array] = field(default_factory=dict, init=False)

    @property
    def part_of_block(self) -> NDArray[np.int64]:
        """Number of the part of each block of all recordings."""
        return np.concatenate([trials.division.part_of_block for trials in self.trials])

    def scores(self, values: Values, report: Report | None = None) -> Array:
        """Return the score of every block of the parts that are searched on; NaN in the others.

        Args:
            values: Parameters that differ from those of the files.
            report: Called with each block and its score as soon as it is known.
        """
        return self._scores(values, self.parts - 1, report)

    def all_scores(self, values: Values) -> Array:
        """Return the score of every block, those included on which values are only judged."""
        return self._once(values, self.parts)

    def compared(self, first: Values, second: Values) -> Comparison:
        """Compare the scores of two sets of values on the parts that are searched on."""
        return compared(self.remembered(first), self.remembered(second))

    def remembered(self, values: Values) -> Array:
        """Return `scores`, computed once for the same values."""
        return self._once(values, self.parts - 1)

    def _once(self, values: Values, parts: int) -> Array:
        key = (parts, repr(sorted(values.items())))
        if key not in self._known:
            self._known[key] = self._scores(values, parts, None)
        return self._known[key]

    def _scores(self, values: Values, parts: int, report: Report | None) -> Array:
        found: list[Array] = []
        before = 0
        for trials in self.trials:
            found.append(trials.scores(values, parts, _shifted(report, before)))
            before += len(found[-1])
        return np.concatenate(found)


def _shifted(report: Report | None, before: int) -> Report | None:
    if report is None:
        return None
    taken: Any = report
    return lambda block, score: taken(before + block, score)
