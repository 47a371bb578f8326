"""The tilt observer over a recording with other parameters."""

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.configuration.node_names import TILT_NODE
from inertial_estimation.signals import Array
from inertial_estimation.tuning.division import Division
from inertial_estimation.tuning.recorded_run import RecordedRun
from inertial_estimation.tuning.tilt_scores import TiltScore
from inertial_estimation.tuning.trials import Report, Trials, Values


class TiltTrials(Trials):
    """Replays a recording through the tilt pipeline again and again."""

    def __init__(self, run: RecordedRun, division: Division, score: TiltScore) -> None:
        """Take what a trial needs.

        Args:
            run: The recording.
            division: Its parts and blocks.
            score: Judges the estimates.
        """
        self._run, self.division, self._score = run, division, score

    def scores(self, values: Values, parts: int, report: Report | None = None) -> Array:
        """Score the tilt with other parameters; see `Trials.scores`."""
        until_ns = self.division.part_end_ns(parts - 1)
        return self.checked(self._score.of(*self.tilts(values, until_ns), until_ns), parts)

    def tilts(self, values: Values, until_ns: int | None = None) -> tuple[NDArray[np.int64], Array]:
        """Return stamps [ns] and verticals in the base frame, shapes (n,) and (n, 3), of a trial.

        Args:
            values: The parameters that differ, by dotted name.
            until_ns: Stamp after which nothing is replayed [ns]; None: all is.
        """
        overrides = [(TILT_NODE, name, value) for name, value in values.items()]
        base = self._run.replayed(overrides, only=[TILT_NODE], until_ns=until_ns).run.base
        stamps = np.array([estimate.state.stamp_ns for estimate in base], dtype=np.int64)
        return stamps, np.array([estimate.tilt_B for estimate in base]).reshape(-1, 3)
