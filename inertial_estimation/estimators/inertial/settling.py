"""For how long a state has explained the data: whether what was suspect is over."""

from inertial_estimation.estimators.inertial.usual_level import UsualLevel
from inertial_estimation.estimators.inertial.watch_config import WatchConfig


class Settling:
    """Tells innovations that are usual again from those that have only fallen below the limit.

    The limit at which data become suspect is a rare quantile, so that noise does not reach it; what goes on
    below it, several times the usual level, may be a small load or the end of a push. A suspicion that has
    begun therefore ends where the normalised innovation squared stays in its usual range (`usual_range`), or,
    since the noise may have changed for good, below the limit for as long as an unexplained change is waited
    for.

    Attributes:
        below_limit_for: Time for which the data have not been suspect [s].
        usual_for: Time for which they have been usual [s].
    """

    def __init__(self, level: UsualLevel) -> None:
        """Begin with nothing explained.

        Args:
            level: Usual level of the innovations.
        """
        self._level = level
        self.reset()

    def reset(self) -> None:
        """Begin anew: the data are suspect."""
        self.below_limit_for = self.usual_for = 0.0

    def feed(self, nis: float, dt: float, config: WatchConfig) -> None:
        """Add a measurement.

        Args:
            nis: Normalised innovation squared of the state.
            dt: Time since the last one [s].
            config: Factor of suspect data.
        """
        below = nis <= self._level.limit(config.suspect)
        usual = below and nis <= self._level.usual_range(config.suspect)
        self.below_limit_for = self.below_limit_for + dt if below else 0.0
        self.usual_for = self.usual_for + dt if usual else 0.0

    def is_over(self, config: WatchConfig) -> bool:
        """Return whether the state explains the data.

        Args:
            config: Times of the watch.
        """
        return self.usual_for >= config.evidence or self.below_limit_for >= config.patience

    def bound(self, config: WatchConfig) -> float:
        """Return the NIS up to which another state explains the present data, too.

        Args:
            config: Times of the watch, and factor of suspect data.
        """
        usual = self.usual_for >= config.evidence
        return self._level.usual_range(config.suspect) if usual else self._level.limit(config.suspect)
