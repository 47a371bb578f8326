"""For how long a state has explained the data: whether what was suspect is over."""

from inertial_estimation.estimators.inertial.usual_level import UsualLevel
from inertial_estimation.estimators.inertial.watch_config import WatchConfig


class Settling:
    """Measures for how long the normalised innovation squared has stayed below the limit.

    Attributes:
        below_limit_for: Time for which the data have not been suspect [s].
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
        self.below_limit_for = 0.0

    def feed(self, nis: float, dt: float, config: WatchConfig) -> None:
        """Add a measurement.

        Args:
            nis: Normalised innovation squared of the state.
            dt: Time since the last one [s].
            config: Factor of suspect data.
        """
        below = nis <= self._level.limit(config.suspect)
        self.below_limit_for = self.below_limit_for + dt if below else 0.0

    def is_over(self, config: WatchConfig) -> bool:
        """Return whether the state explains the data.

        Args:
            config: Times of the watch.
        """
        return self.below_limit_for >= config.evidence
