"""Trials: an estimator is run over a recording with changed parameters, and scored."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from inertial_estimation.configuration.node_names import INERTIAL_NODE
from inertial_estimation.inertial.estimator import StepOutcome
from inertial_estimation.signals import Array, Decision
from inertial_estimation.tuning.division import Division
from inertial_estimation.tuning.recorded_run import RecordedRun

Values = Mapping[str, Any]  # by dotted name
OUTLIERS = 0.01  # share e of outliers among the measurements
WIDER = 10.0  # ratio c of the standard deviation of outliers to that of other measurements
NO_INNOVATION = (Decision.WAITING_FOR_REST, Decision.CALIBRATING)


@dataclass(frozen=True)
class Objective:
    """Objective that a search minimises."""

    node: str  # node whose parameters it scores
    title: str  # name of the objective, for tables and figures
    unit: str = ""  # unit of the displayed value
    squared: bool = False  # whether scores are mean squares, of which the root is displayed

    def displayed(self, score: float) -> float:
        """Return a mean score in the displayed unit."""
        return float(np.sqrt(max(score, 0.0))) if self.squared else float(score)


class Trials(ABC):
    """Runs an estimator over one recording repeatedly; can be pickled.

    Attributes:
        objective: Objective of which the scores are.
        division: Parts and blocks of the recording.
    """

    objective: Objective
    division: Division

    @abstractmethod
    def scores(self, values: Values, parts: int) -> Array:
        """Score the estimator with other parameters.

        Args:
            values: The parameters that differ, by dotted name.
            parts: Number of parts of the recording that are run, from the first one.

        Returns:
            Score of each block, smaller is better, shape (blocks,); NaN where a block has none.

        Raises:
            ~inertial_estimation.errors.InertialEstimationError: If the estimator cannot run with the values.
        """


class LikelihoodTrials(Trials):
    """Scores the inertial filter by the negative log-likelihood of its innovations, per row.

    If noise parameters are varied the filter must not adapt them: it would scale any value to the same noise.
    """

    objective = Objective(INERTIAL_NODE, "negative log-likelihood of an innovation, per row")

    def __init__(self, run: RecordedRun, division: Division, *, adapting: bool) -> None:
        """Set the recording and its division, and whether the filter adapts its noise or uses that stated."""
        self._run, self.division, self._adapting = run, division, adapting

    def scores(self, values: Values, parts: int) -> Array:
        """Score the innovations; see `Trials.scores`."""
        changed = [(INERTIAL_NODE, name, value) for name, value in values.items()]
        end_ns, scored = self.division.part_end_ns(parts - 1), list[tuple[int, float]]()
        for stamp_ns, update in self._run.updates(changed, adapting=self._adapting):
            if stamp_ns > end_ns:
                break
            scored.append((stamp_ns, negative_log_likelihood(update)))
        stamps, found = zip(*scored, strict=True) if scored else ((), ())
        return self.division.means(np.array(stamps, dtype=np.int64), np.array(found, dtype=np.float64))


def negative_log_likelihood(update: StepOutcome) -> float:
    """Return the negative log-likelihood of an innovation y ~ N(0, S), for each of its m rows.

    A share e of all measurements are outliers ~ N(0, c^2 S), so that single ones do not dominate the score:

        -log[(1 - e) exp(-NIS/2) + e c^-m exp(-NIS/(2 c^2))] + (log det S + m log 2 pi) / 2

    Args:
        update: Outcome of an update.

    Returns:
        The score; NaN for a measurement without an innovation.
    """
    if update.decision in NO_INNOVATION or not math.isfinite(update.log_det):
        return math.nan
    m = len(update.innovation)
    inlier = math.log1p(-OUTLIERS) - 0.5 * update.nis
    outlier = math.log(OUTLIERS) - m * math.log(WIDER) - 0.5 * update.nis / WIDER**2
    return float(0.5 * (update.log_det + m * math.log(2.0 * math.pi)) - np.logaddexp(inlier, outlier)) / m
