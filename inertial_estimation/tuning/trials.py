"""Trials: an estimator run over a recording with parameters of one's choice, and how it is scored."""

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
OUTLIERS = 0.01  # share of measurements that are taken for outliers
WIDER = 10.0  # their standard deviation over that of the others
NO_INNOVATION = (Decision.WAITING_FOR_REST, Decision.CALIBRATING)


@dataclass(frozen=True)
class Objective:
    """What a search minimises."""

    node: str  # whose parameters it judges
    title: str  # what it is, for tables and figures
    unit: str = ""  # unit of the displayed value
    squared: bool = False  # whether scores are mean squares, of which the root is displayed

    def displayed(self, score: float) -> float:
        """Return a mean score in the unit that is displayed."""
        return float(np.sqrt(max(score, 0.0))) if self.squared else float(score)


class Trials(ABC):
    """Runs an estimator over one recording again and again; can be pickled.

    Attributes:
        objective: What its scores are.
        division: Parts and blocks of the recording.
    """

    objective: Objective
    division: Division

    @abstractmethod
    def scores(self, values: Values, parts: int) -> Array:
        """Score the estimator with other parameters.

        Args:
            values: The parameters that differ, by dotted name.
            parts: How many of the recording's parts are run, from the first one.

        Returns:
            Score of each block, small is good, shape (blocks,); NaN where a block has none.

        Raises:
            ~inertial_estimation.errors.InertialEstimationError: If the estimator cannot run with them.
        """


class LikelihoodTrials(Trials):
    """Scores the inertial filter by the negative log-likelihood of its innovations, per row.

    Where noise parameters are varied the filter must not adapt them: it would scale any value to the same.
    """

    objective = Objective(INERTIAL_NODE, "negative log-likelihood of an innovation, per row")

    def __init__(self, run: RecordedRun, division: Division, *, adapting: bool) -> None:
        """Take the recording and its division; the filter may adapt its noise, or uses it as stated."""
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

    A share of all measurements are outliers ~ N(0, c^2 S), so that single ones do not decide:

        -log[(1 - e) exp(-NIS/2) + e c^-m exp(-NIS/(2 c^2))] + (log det S + m log 2 pi) / 2

    Args:
        update: Outcome of an update.

    Returns:
        NaN for a measurement that was not compared.
    """
    if update.decision in NO_INNOVATION or not math.isfinite(update.log_det):
        return math.nan
    m = len(update.innovation)
    inlier = math.log1p(-OUTLIERS) - 0.5 * update.nis
    outlier = math.log(OUTLIERS) - m * math.log(WIDER) - 0.5 * update.nis / WIDER**2
    return float(0.5 * (update.log_det + m * math.log(2.0 * math.pi)) - np.logaddexp(inlier, outlier)) / m
