"""The trial of a change: does a load explain the data, an earlier state again, or neither?"""

from enum import Enum

from inertial_estimation.estimators.inertial.filter_values import FilterState, FilterUpdate, Innovation
from inertial_estimation.estimators.inertial.inertial_filter import InertialFilter
from inertial_estimation.estimators.inertial.usual_level import UsualLevel
from inertial_estimation.estimators.inertial.watch_config import WatchConfig
from inertial_estimation.models.dynamics_measurement import LinearEquation
from inertial_estimation.signals import Decision

MOSTLY = (
    0.8  # share of the time in which a change must match the data for a fault to be no better explanation
)


class TrialOutcome(Enum):
    """What a trial has found.

    UNDECIDED: nothing yet. CHANGED: the located load explains the data. TOLERATED: the new parameters do, but
    it is not certain that it is a load. BACK: an earlier state explains them again, so
    that the change was a fault that has ended, or a load that was put down. GIVEN_UP: nothing explains them.
    """

    UNDECIDED = "undecided"
    CHANGED = "changed"
    TOLERATED = "tolerated"
    BACK = "back"
    GIVEN_UP = "given up"


class ChangeTrial:
    """Watches a re-opened filter and earlier states side by side.

    Attributes:
        earlier: The states to which the filter may return, the last good one first.
        returned_to: The one that explains the data; None while there is none.
        bodies: Numbers of the bodies on which the locator has found loads; empty for none.
        after_freeze: Whether learning was suspended before, so that the last good state is reported.
    """

    def __init__(
        self,
        config: WatchConfig,
        level: UsualLevel,
        earlier: tuple[FilterState, ...],
        *,
        bodies: tuple[int, ...],
        after_freeze: bool,
    ) -> None:
        """Begin when the filter has been opened.

        Args:
            config: Times and factors.
            level: Usual level of the NIS.
            earlier: States to which the filter may return, the last good one first.
            bodies: Numbers of those on which the locator has found loads, the only ones opened; or none.
            after_freeze: Whether learning was suspended before.
        """
        self.earlier = earlier
        self.returned_to: FilterState | None = None
        self.bodies, self.after_freeze = bodies, after_freeze
        self._config, self._level = config, level
        self._explained_for = [0.0] * len(earlier)
        self._matched_for = self._accepted_for = self._lasted_for = 0.0
        self._reopenings = 0
        self._matched_in_all = 0.0

    def feed(
        self,
        filter_: InertialFilter,
        equation: LinearEquation,
        update: FilterUpdate,
        dt: float,
        *,
        contradicted: bool,
    ) -> TrialOutcome:
        """Judge one update of the opened filter.

        Args:
            filter_: The filter, after the update.
            equation: The measurement.
            update: The outcome of the update.
            dt: Time since the last one [s].
            contradicted: Whether a push or a fault of one input explains the data better than any load.
        """
        config = self._config
        innovations = [filter_.innovation_of(state, equation) for state in self.earlier]
        if self._is_back(innovations, dt):
            return TrialOutcome.BACK
        if not filter_.is_sound:
            return TrialOutcome.GIVEN_UP
        self._lasted_for += dt
        self._reopenings += update.decision is Decision.REOPENED
        kept = update.decision is Decision.ACCEPTED
        self._accepted_for = self._accepted_for + dt if kept else 0.0
        matches = kept and update.nis <= self._level.limit(config.match)
        self._matched_for = self._matched_for + dt if matches else 0.0
        self._matched_in_all = self._matched_in_all + dt * matches if kept else 0.0
        if self._matched_for >= config.evidence:
            self._matched_for = 0.0
            if self.bodies or not self.earlier:
                return TrialOutcome.CHANGED
        if self._accepted_for >= config.patience:
            explained = self._matched_in_all >= MOSTLY * self._accepted_for
            self._accepted_for = self._matched_in_all = 0.0
            if explained or not contradicted:
                return TrialOutcome.TOLERATED
        hopeless = self._reopenings > config.reopenings or self._lasted_for >= config.give_up
        return TrialOutcome.GIVEN_UP if hopeless else TrialOutcome.UNDECIDED

    def _is_back(self, innovations: list[Innovation], dt: float) -> bool:
        limit = self._level.limit(self._config.suspect)
        for i, innovation in enumerate(innovations):
            self._explained_for[i] = self._explained_for[i] + dt if innovation.nis <= limit else 0.0
            if self._explained_for[i] >= self._config.evidence:
                self.returned_to = self.earlier[i]
                return True
        return False
