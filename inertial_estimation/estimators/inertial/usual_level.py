"""The usual level and spread of the normalised innovation, against which suspect data stand out."""

from inertial_estimation.estimators.inertial.gate import InnovationGate, chi_square_quantile

__all__ = ["UsualLevel"]

WINDOW = 5.0  # time constant of the level [s]
SPREAD_WINDOW = 30.0  # time constant of the spread: a rest does not make the next motion suspect [s]
FIRST = 0.3  # time of data before there is a level [s]
LEAST_SHARE = 0.01  # of the number of rows: data without noise have no level of their own
RARE = 1e-6  # probability of one independent NIS above the limit
STATED_SPREAD, STATED_TIME = 0.5, 0.1  # variance of NIS / level before data, and the time it is worth [s]
LEAST_FACTOR = 3.0  # of the level: the noise of sensors and the errors of a model vary by less
MOST_RATIO = 20.0  # what one NIS counts at most in the spread, in levels
BETWEEN = 0.05  # time between two evaluations of the spread [s]


class UsualLevel:
    """Mean and variance of the normalised innovation squared over the last seconds without suspect data.

    The noise parameters of a robot are often conservative by a factor; a fault then stays far below the
    innovation gate but far above what the robot's sensors usually give. How far above depends on the robot:
    the NIS of white noise in many rows hardly varies, that of a few rows with errors of the model varies by
    a factor of ten. A scaled chi-square distribution with the mean and the variance seen has a quantile
    (Welch-Satterthwaite), from which on data stand out.
    """

    def __init__(self, rows: int, gate: InnovationGate) -> None:
        """Start without a level.

        Args:
            rows: Number of rows, the expected NIS.
            gate: The innovation gate, whose bound is the largest limit.
        """
        self._rows = rows
        self._least = LEAST_SHARE * rows
        self._gate = gate
        self.reset()

    def reset(self) -> None:
        """Discard the level."""
        self._mean = 0.0
        self._seen = 0.0
        self._spread, self._spread_seen = STATED_SPREAD, STATED_TIME
        self._factor, self._factor_age = _factor(self._spread), 0.0

    @property
    def is_known(self) -> bool:
        """Whether enough data have been seen."""
        return self._seen >= FIRST

    @property
    def variance(self) -> float:
        """Usual mean of the squared whitened innovations; the expected one while there is no level."""
        return max(self._mean, self._least) / self._rows if self.is_known else 1.0

    def feed(self, nis: float, dt: float) -> None:
        """Add the NIS of data that are not suspect.

        Args:
            nis: Normalised innovation squared.
            dt: Time since the last one [s].
        """
        self._seen = min(self._seen + dt, WINDOW)
        self._mean += min(dt / self._seen, 1.0) * (nis - self._mean) if self._seen > 0.0 else nis
        if self.is_known:
            self._feed_spread(min(nis / max(self._mean, self._least), MOST_RATIO), dt)

    def accept(self, nis: float) -> None:
        """Take a level that has lasted as the usual one."""
        self._mean = nis

    def limit(self, factor: float, *, widest: bool = False) -> float:
        """Return a multiple of the level, at most the gate's bound, which holds while there is no level.

        Args:
            factor: Largest multiple; a smaller one where the NIS seen varies by less.
            widest: Whether it is the largest multiple in any case.
        """
        if not self.is_known:
            return self._gate.bound
        multiple = factor if widest else min(factor, self._factor)
        return min(multiple * max(self._mean, self._least), self._gate.bound)

    def _feed_spread(self, ratio: float, dt: float) -> None:
        self._spread_seen = min(self._spread_seen + dt, SPREAD_WINDOW)
        self._spread += min(dt / self._spread_seen, 1.0) * ((ratio - 1.0) ** 2 - self._spread)
        self._factor_age += dt
        if self._factor_age >= BETWEEN:
            self._factor, self._factor_age = _factor(self._spread), 0.0


def _factor(spread: float) -> float:
    """Return the rare quantile of a scaled chi-square distribution of mean one with a variance."""
    freedom = 2.0 / max(spread, 1e-6)
    return max(LEAST_FACTOR, chi_square_quantile(freedom, 1.0 - RARE) / freedom)
