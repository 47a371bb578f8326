"""Trials of the inertial filter, judged by its innovations, or by data from which it did not learn."""

import math
from collections.abc import Callable, Iterator

import numpy as np

from inertial_estimation.configuration.node_names import INERTIAL_NODE
from inertial_estimation.inertial.estimator import StepOutcome
from inertial_estimation.signals import Array, Decision
from inertial_estimation.tuning.division import Division
from inertial_estimation.tuning.objectives import Report, Trials, Values
from inertial_estimation.tuning.recorded_run import RecordedRun

OUTLIERS = 0.01  # share of measurements that are taken for outliers
WIDER = 10.0  # their standard deviation over that of the others
NO_INNOVATION = (Decision.WAITING_FOR_REST, Decision.CALIBRATING)


class FilterTrials(Trials):
    """Replays a recording through the inertial filter again and again.

    Where noise parameters are varied the filter must not adapt them: it would scale any value to the same.
    """

    def __init__(self, run: RecordedRun, division: Division, *, adapting: bool = True) -> None:
        """Take what is replayed.

        Args:
            run: The recording.
            division: Its parts and blocks.
            adapting: Whether the filter may adapt its noise, if the parameter files have it so.
        """
        self._run, self.division = run, division
        self._fixed: Values = {} if adapting else {"adapt_noise": False}

    def updates(
        self, values: Values, parts: int, learn_until_ns: int | None = None
    ) -> Iterator[tuple[int, StepOutcome]]:
        """Replay the first parts of the recording.

        Args:
            values: The parameters that differ, by dotted name.
            parts: How many parts.
            learn_until_ns: Stamp from which on the parameters are frozen [ns]; None: never.

        Yields:
            Stamp [ns] and outcome of each update.
        """
        changed = [(INERTIAL_NODE, name, value) for name, value in {**self._fixed, **values}.items()]
        end_ns = self.division.part_end_ns(parts - 1)
        for step, update in self._run.updates(changed, learn_until_ns):
            if step.stamp_ns > end_ns:
                return
            yield step.stamp_ns, update

    def means(
        self,
        updates: Iterator[tuple[int, StepOutcome]],
        score: Callable[[StepOutcome], float],
        report: Report | None,
    ) -> Array:
        """Return the mean score of the updates of each block; blocks are reported when they are over."""
        stamps: list[int] = []
        values: list[float] = []
        begin, current = 0, -1
        for stamp_ns, update in updates:
            block = int(self.division.blocks_at(np.array([stamp_ns]))[0])
            if block != current:
                known = [value for value in values[begin:] if math.isfinite(value)]
                if report is not None and current >= 0 and known:
                    report(current, sum(known) / len(known))
                begin, current = len(values), block
            stamps.append(stamp_ns)
            values.append(score(update))
        return self.division.means(np.array(stamps, dtype=np.int64), np.array(values, dtype=float))


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


class LikelihoodTrials(FilterTrials):
    """Scores the filter by the negative log-likelihood of its innovations, per row."""

    def scores(self, values: Values, parts: int, report: Report | None = None) -> Array:
        """Score the innovations; see `Trials.scores`."""
        return self.means(self.updates(values, parts), negative_log_likelihood, report)


class TorqueTrials(FilterTrials):
    """Scores what the filter has learnt by the residual of data from which it did not learn.

    The filter learns until the last of the parts that are run begins, and is frozen then. Each row counts by
    its mean square over that of the nominal model: 1 is no better than the description.
    """

    def __init__(self, run: RecordedRun, division: Division, *, adapting: bool = True) -> None:
        """Take what is replayed; see `FilterTrials`."""
        super().__init__(run, division, adapting=adapting)
        self._nominal: dict[int, Array] = {}  # mean squares by number of parts, the same in every trial

    def scores(self, values: Values, parts: int, report: Report | None = None) -> Array:
        """Score the residuals of the last part; see `Trials.scores`. No trial can be stopped before it."""
        begin_ns = self.division.part_end_ns(parts - 2)
        if parts not in self._nominal:
            frozen = self.updates({}, parts, learn_until_ns=0)
            rows = np.array([update.innovation for stamp_ns, update in frozen if stamp_ns >= begin_ns])
            self._nominal[parts] = np.maximum((rows**2).mean(axis=0), np.finfo(float).tiny)
        nominal = self._nominal[parts]

        def share(update: StepOutcome) -> float:
            return float(np.mean(update.innovation**2 / nominal))

        found = self.means(self.updates(values, parts, begin_ns), share, None)
        found[self.division.part_of_block < parts - 1] = np.nan
        return found
