"""Search for the parameters with the least score: a low-discrepancy sequence in boxes around the best trial.

The first quarter of the trials is spread over the ranges by a Halton sequence. The others are spread, batch
by batch, over a box around the best trial so far, which becomes smaller with every batch. The values of a
batch are chosen together, so that the search is the same for any number of processes. On quadratic and
rippled bowls of 1 to 6 dimensions it comes as close in 100 trials as a tree-structured Parzen estimator.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.stats import qmc

from inertial_estimation.signals import Array
from inertial_estimation.tuning.trials import Values
from inertial_estimation.tuning.variation import Variation

BATCH = 8  # trials whose values are chosen together
SPREAD = 0.25  # share of the trials spread over the ranges, and half width of the first box in ranges
SHRINKING = 0.8  # ratio of the width of a box to that of the box before


@dataclass(frozen=True, eq=False)
class Trial:
    """One run of an estimator with given values."""

    values: Mapping[str, Any]  # the parameters by name
    score: float  # mean score over the blocks; NaN if the estimator did not run
    # score of every block, NaN where a block has none
    scores: Array = field(default_factory=lambda: np.zeros(0))
    failure: str = ""  # why the estimator did not run with these values; empty if it did


def best_of(trials: Sequence[Trial]) -> Trial | None:
    """Return the trial with the least score; None if all failed."""
    return min((trial for trial in trials if not trial.failure), key=lambda trial: trial.score, default=None)


def searched(
    variations: Sequence[Variation], count: int, seed: int, run: Callable[[Sequence[Values]], Sequence[Trial]]
) -> list[Trial]:
    """Run a number of trials; the first has the values in effect, if they are within the ranges.

    Args:
        variations: The parameters.
        count: Number of trials.
        seed: Seed of the sequence.
        run: Function that runs trials with given values.
    """
    sequence, done = qmc.Halton(len(variations), seed=seed), list[Trial]()
    centre, reach = np.full(len(variations), 0.5), 0.5
    while len(done) < count:
        offsets = reach * (2.0 * sequence.random(min(BATCH, count - len(done))) - 1.0)
        points = [
            {v.name: v.value_at(share) for v, share in zip(variations, row, strict=True)}
            for row in np.clip(centre + offsets, 0.0, 1.0).tolist()
        ]
        if not done and all(v.low <= v.shipped <= v.high for v in variations):
            points[0] = {v.name: v.shipped for v in variations}
        done += run(points)
        best = best_of(done)
        if best is not None and len(done) >= SPREAD * count:
            centre = np.array([v.share_of(best.values[v.name]) for v in variations])
            reach = SPREAD if reach > SPREAD else SHRINKING * reach
    return done
