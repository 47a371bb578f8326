"""The usual level and spread of the normalised innovation, against which suspect data stand out."""

import math
from collections import deque

import numpy as np

from inertial_estimation.compilation import Column, compiled, warm_up
from inertial_estimation.estimators.inertial.gate import InnovationGate, chi_square_quantile
from inertial_estimation.models.dynamics_measurement import LinearEquation

WINDOW = 5.0  # time constant of the level [s]
SPREAD_WINDOW = 30.0  # time constant of the spread: it needs more data than the level [s]
FIRST = 0.3  # time of data before there is a level [s]
LEAST_SHARE = 0.01  # of the number of rows: data without noise have no level of their own
RARE = 1e-6  # probability of one independent NIS above the limit
STATED_SPREAD, STATED_TIME = 0.5, 0.1  # variance of NIS / level before data, and the time it is worth [s]
PROBATION = 0.2  # time for which data must stay unsuspected until they count: a fault begins gradually [s]
LEAST_FACTOR = 3.0  # of the level: the noise of sensors and the errors of a model vary by less
COMMON = 0.99  # probability of one independent NIS within the usual range: of the two in 0.1 s, 98 %
WHITE_SPREAD = 0.5  # largest one of noise, 1.5 times the variance of a mean of six squares, a wrench's, 2 / 6
INDEPENDENT = 0.1  # time between two independent NIS [s]
LEAST_RANGE = 1.5  # of the level, half of `LEAST_FACTOR`: the level itself is a mean of a few seconds
MOST_RATIO = 20.0  # what one NIS counts at most in the spread, in levels
BETWEEN = 0.05  # time between two evaluations of the spread [s]


class _Usual:
    """Mean and variance of the normalised innovation in one state of motion.

    Attributes:
        mean: The level.
        factor: Of the level, from which on data stand out.
        common: Of the level, up to which data are usual; infinite where that is not known.
        is_known: Whether enough data have been seen.
    """

    def __init__(self, least: float) -> None:
        """Begin without data.

        Args:
            least: Smallest level.
        """
        self._least = least
        self.reset()

    def reset(self) -> None:
        """Discard the data."""
        self.mean = self._seen = 0.0
        self.is_known = False
        self._spread, self._spread_seen = STATED_SPREAD, STATED_TIME
        self._set_factors()

    @property
    def level(self) -> float:
        """The mean, no lower than the smallest level."""
        return max(self.mean, self._least)

    def feed(self, nis: float, dt: float) -> None:
        """Add the NIS of a time [s]."""
        self._seen = seen = min(self._seen + dt, WINDOW)
        self.mean += min(dt / seen, 1.0) * (nis - self.mean) if seen > 0.0 else nis
        if seen < FIRST:
            return
        self.is_known, ratio = True, min(nis / self.level, MOST_RATIO)
        self._spread_seen = min(self._spread_seen + dt, SPREAD_WINDOW)
        self._spread += min(dt / self._spread_seen, 1.0) * ((ratio - 1.0) ** 2 - self._spread)
        self._factor_age += dt
        if self._factor_age >= BETWEEN:
            self._set_factors()

    def _set_factors(self) -> None:
        self.factor = max(LEAST_FACTOR, _quantile(self._spread, 1.0 - RARE))
        # two standard deviations above it: that of the logarithm of a variance from n data is sqrt(2 / n)
        largest = self._spread * math.exp(2.0 * math.sqrt(2.0 * INDEPENDENT / self._spread_seen))
        white = largest <= WHITE_SPREAD
        self.common = max(LEAST_RANGE, _quantile(self._spread, COMMON)) if white else math.inf
        self._factor_age = 0.0


class UsualLevel:
    """Mean and variance of the normalised innovation squared over the last seconds without suspect data.

    The noise parameters of a robot are often conservative by a factor; a fault then stays far below the
    innovation gate but far above what the robot's sensors usually give. How far above depends on the robot:
    the NIS of white noise in many rows hardly varies, that of a few rows with errors of the model varies by
    a factor of ten. A scaled chi-square distribution with the mean and the variance seen has a quantile
    (Welch-Satterthwaite), from which on data stand out.

    Errors of the model show in motion only, so how little the NIS varies at rest says nothing about the
    motion that follows: both have their own mean and variance. Until a motion has been seen, the limit is the
    largest multiple of the level at rest; a rest that has not been seen is judged as a motion.

    Attributes:
        moving: Whether the robot moves.
    """

    def __init__(self, rows: int, gate: InnovationGate, rest_speed: float) -> None:
        """Start without a level.

        Args:
            rows: Number of rows, the expected NIS.
            gate: The innovation gate, whose bound is the largest limit.
            rest_speed: Joint speed below which the robot counts as at rest [rad/s].
        """
        warm_up()
        self._rows, self._gate, self._rest_speed = rows, gate, rest_speed
        least = LEAST_SHARE * rows
        self._rest, self._motion = _Usual(least), _Usual(least)
        self._recent: deque[tuple[_Usual, float, float]] = deque()
        self.moving, self._waiting = True, 0.0

    def reset(self) -> None:
        """Discard the level."""
        self._rest.reset()
        self._motion.reset()
        self.forget_recent()

    @property
    def is_known(self) -> bool:
        """Whether enough data have been seen, at rest or in motion."""
        return self._motion.is_known or self._rest.is_known

    @property
    def variance(self) -> float:
        """Usual mean of the squared whitened innovations; the expected one while there is no level."""
        return self._usual.level / self._rows if self.is_known else 1.0

    def look_at(self, equation: LinearEquation) -> None:
        """Note whether the robot moves; it does where the measurement does not tell."""
        state = equation.state
        self.moving = state is None or _fastest(np.ascontiguousarray(state.v)) > self._rest_speed

    def feed(self, nis: float, dt: float) -> None:
        """Add the NIS of data that are not suspect; where there is a level, it counts after a probation.

        Args:
            nis: Normalised innovation squared.
            dt: Time since the last one [s].
        """
        usual = self._motion if self.moving else self._rest
        if not usual.is_known:
            usual.feed(nis, dt)
            return
        self._recent.append((usual, nis, dt))
        self._waiting += dt
        while self._waiting > PROBATION:
            usual, nis, dt = self._recent.popleft()
            self._waiting -= dt
            usual.feed(nis, dt)

    def forget_recent(self) -> None:
        """Drop what is on probation: the data have become suspect."""
        self._recent.clear()
        self._waiting = 0.0

    def accept(self, nis: float) -> None:
        """Take a level that has lasted as the usual one."""
        self._usual.mean = nis

    def limit(self, factor: float, *, widest: bool = False) -> float:
        """Return a multiple of the level, at most the gate's bound, which holds while there is no level.

        Args:
            factor: Largest multiple; a smaller one where the NIS seen varies by less.
            widest: Whether it is the largest multiple in any case.
        """
        bound, usual = self._gate.bound, self._usual
        if not usual.is_known:
            return bound
        multiple = factor if widest or self._is_unseen_motion else min(factor, usual.factor)
        return min(multiple * usual.level, bound)

    def usual_range(self, factor: float) -> float:
        """Return the NIS up to which data are usual, at most the limit of suspect data.

        It is the `COMMON` quantile of the same distribution. Where errors of the model make the NIS vary by
        more than noise does, it may stay at several times its level for as long as the motion that shows
        them: then, and while the distribution is not known, the range reaches to the limit.

        Args:
            factor: Largest multiple of the level of the limit.
        """
        limit = self.limit(factor)
        if not self.is_known or self._is_unseen_motion:
            return limit
        return min(self._usual.common * self._usual.level, limit)

    @property
    def _is_unseen_motion(self) -> bool:
        return self.moving and self._usual is self._rest

    @property
    def _usual(self) -> _Usual:
        """What is usual in the present state of motion; in the other one where that has not been seen."""
        own, other = (self._motion, self._rest) if self.moving else (self._rest, self._motion)
        return own if own.is_known or not other.is_known else other


def _quantile(spread: float, probability: float) -> float:
    """Return a quantile of a scaled chi-square distribution of mean one with a variance."""
    freedom = 2.0 / max(spread, 1e-6)
    return chi_square_quantile(freedom, probability) / freedom


@compiled
def _fastest(v: Column) -> float:
    """Return the largest magnitude, 0 of none, NaN where one is."""
    return float(np.abs(v).max()) if len(v) else 0.0
