"""The usual level of the normalised innovation, against which suspect data stand out."""

from collections import deque

import numpy as np

from inertial_estimation.compilation import Column, compiled, warm_up
from inertial_estimation.estimators.inertial.gate import InnovationGate, chi_square_quantile
from inertial_estimation.models.dynamics_measurement import LinearEquation

WINDOW = 5.0  # time constant of the level [s]
FIRST_AT_REST = 0.3  # time of data before there is a level [s]
FIRST_IN_MOTION = 1.0  # the same; the first data of a motion are those of its smooth begin [s]
LEAST_SHARE = 0.01  # of the number of rows: data without noise have no level of their own
LEAST_UNSEEN = 0.5  # of the gate's quantile: limit of a motion that is judged by the rest before it
RARE = 1e-6  # probability of one independent NIS of white noise above its share of the limit
MARGIN = 1.6  # over that of white noise, for errors of the model
PROBATION = 0.2  # time for which data must stay unsuspected until they count: a fault begins gradually [s]


class _Usual:
    """Mean of the normalised innovation in one state of motion.

    Attributes:
        mean: The level.
        is_known: Whether enough data have been seen.
    """

    def __init__(self, least: float, first: float) -> None:
        """Begin without data.

        Args:
            least: Smallest level.
            first: Time of data before it is known [s].
        """
        self._least, self._first = least, first
        self.reset()

    def reset(self) -> None:
        """Discard the data."""
        self.mean = self._seen = 0.0
        self.is_known = False

    @property
    def level(self) -> float:
        """The mean, no lower than the smallest level."""
        return max(self.mean, self._least)

    def feed(self, nis: float, dt: float) -> None:
        """Add the NIS of a time [s]."""
        self._seen = seen = min(self._seen + dt, WINDOW)
        self.mean += min(dt / seen, 1.0) * (nis - self.mean) if seen > 0.0 else nis
        self.is_known = seen >= self._first


class UsualLevel:
    """Mean of the normalised innovation squared over the last seconds without suspect data.

    The noise parameters of a robot are often conservative by a factor; a fault then stays far below the
    innovation gate but far above what the robot's sensors usually give. Data stand out from a multiple of
    the mean on; of white noise a smaller one suffices the more rows there are, as their mean varies less.

    Errors of the model show in motion only, so rest and motion have their own mean. A state that has not been
    seen is judged by the other one, a motion by no less than what the stated noise may explain.

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
        self._largest = MARGIN * chi_square_quantile(rows, 1.0 - RARE) / rows
        least = LEAST_SHARE * rows
        self._rest, self._motion = _Usual(least, FIRST_AT_REST), _Usual(least, FIRST_IN_MOTION)
        self._recent: deque[tuple[_Usual, float, float]] = deque()
        self.moving, self._waiting = True, 0.0

    def reset(self) -> None:
        """Discard the level."""
        self._rest.reset()
        self._motion.reset()
        self.forget_recent()

    @property
    def is_known(self) -> bool:
        """Whether enough data have been seen for the present state of motion."""
        return self._usual.is_known

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

    def limit(self, factor: float) -> float:
        """Return a multiple of the level, at most the gate's bound, which holds while there is no level.

        Args:
            factor: The multiple; a smaller one where that many rows of white noise stay far below it.
        """
        bound, usual = self._gate.bound, self._usual
        if not usual.is_known:
            return bound
        limit = min(factor, self._largest) * usual.level
        if self.moving and usual is self._rest:
            limit = max(limit, LEAST_UNSEEN * self._gate.quantile)
        return min(limit, bound)

    @property
    def _usual(self) -> _Usual:
        """What is usual in the present state of motion, or in the other one where it has not been seen."""
        own, other = (self._motion, self._rest) if self.moving else (self._rest, self._motion)
        return own if own.is_known or not other.is_known else other


@compiled
def _fastest(v: Column) -> float:
    """Return the largest magnitude, 0 of none, NaN where one is."""
    return float(np.abs(v).max()) if len(v) else 0.0
