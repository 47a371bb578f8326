"""The inertial filter over a recording with other parameters."""

import math
from collections.abc import Callable, Iterator

import numpy as np

from inertial_estimation.configuration.node_names import INERTIAL_NODE
from inertial_estimation.inertial.estimator import StepOutcome
from inertial_estimation.signals import Array
from inertial_estimation.tuning.division import Division
from inertial_estimation.tuning.filter_scores import kolmogorov_distance, negative_log_likelihood
from inertial_estimation.tuning.recorded_run import RecordedRun
from inertial_estimation.tuning.trials import Report, Trials, Values

ADAPTATION = "adapt_noise"


class FilterTrials(Trials):
    """Replays a recording again and again.

    Where noise parameters are varied the filter must not adapt them: it would scale any value to the same.
    """

    def __init__(self, run: RecordedRun, division: Division, *, adapting: bool = True) -> None:
        """Take what is replayed.

        Args:
            run: The recording.
            division: Its parts and blocks.
            adapting: Whether the filter may adapt its noise, if the parameter files have it so.
        """
        self._run, self.division, self._fixed = run, division, {} if adapting else {ADAPTATION: False}

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


class LikelihoodTrials(FilterTrials):
    """Scores the filter by the negative log-likelihood of its innovations, per row."""

    def scores(self, values: Values, parts: int, report: Report | None = None) -> Array:
        """Score the innovations; see `Trials.scores`."""
        return self.checked(
            _by_blocks(self.updates(values, parts), self.division, negative_log_likelihood, report), parts
        )


class CalibrationTrials(FilterTrials):
    """Scores the filter by the distance of the distribution of its NIS from chi-square."""

    def scores(self, values: Values, parts: int, report: Report | None = None) -> Array:
        """Score the NIS; see `Trials.scores`."""
        count = self.division.parts * self.division.blocks
        seen: list[list[float]] = [[] for _ in range(count)]
        rows = 1
        for stamp_ns, update in self.updates(values, parts):
            rows, block = len(update.innovation), self.division.block_at(stamp_ns)
            if block >= 0:
                seen[block].append(update.nis)
        return self.checked(np.array([kolmogorov_distance(np.array(nis), rows) for nis in seen]), parts)


class TorqueTrials(FilterTrials):
    """Scores what the filter has learnt by the residual of data from which it did not learn.

    The filter learns until the last of the parts that are run begins, and is frozen then. Each row counts by
    its mean square over that of the nominal model: 1 is no better than the description.
    """

    def __init__(self, run: RecordedRun, division: Division, *, adapting: bool = True) -> None:
        """Take what is replayed; see `FilterTrials`."""
        super().__init__(run, division, adapting=adapting)
        self._usual: dict[int, Array] = {}  # by number of parts, the same in every trial

    def scores(self, values: Values, parts: int, report: Report | None = None) -> Array:
        """Score the residuals of the last part; see `Trials.scores`."""
        begin_ns = self.division.part_end_ns(parts - 2)
        if parts not in self._usual:
            self._usual[parts] = self._nominal(parts, begin_ns)
        usual = self._usual[parts]

        def share(update: StepOutcome) -> float:
            return float(np.mean(update.innovation**2 / usual))

        found = _by_blocks(self.updates(values, parts, begin_ns), self.division, share, report)
        found[self.division.part_of_block < parts - 1] = np.nan
        return self.checked(found, parts)

    def _nominal(self, parts: int, begin_ns: int) -> Array:
        """Return the mean square residual of each row by the nominal model, in the last part."""
        rows = [
            update.innovation
            for stamp_ns, update in self.updates({}, parts, learn_until_ns=0)
            if stamp_ns >= begin_ns
        ]
        usual: Array = np.maximum((np.array(rows) ** 2).mean(axis=0), np.finfo(float).tiny)
        return usual


def _by_blocks(
    updates: Iterator[tuple[int, StepOutcome]],
    division: Division,
    score: Callable[[StepOutcome], float],
    report: Report | None,
) -> Array:
    """Return the mean score of the updates of each block; blocks are reported when they are over."""
    stamps: list[int] = []
    values: list[float] = []
    begin, current = 0, -1
    for stamp_ns, update in updates:
        block = division.block_at(stamp_ns)
        if report is not None and block != current and current >= 0:
            _report(values[begin:], current, report)
            begin = len(values)
        current = block
        stamps.append(stamp_ns)
        values.append(score(update))
    return division.means(np.array(stamps, dtype=np.int64), np.array(values, dtype=float))


def _report(values: list[float], block: int, report: Report) -> None:
    known = [value for value in values if math.isfinite(value)]
    if known:
        report(block, sum(known) / len(known))
