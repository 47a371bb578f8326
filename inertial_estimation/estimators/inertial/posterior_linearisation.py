"""Mean and covariance of a posterior whose map from coordinates to parameters is curved.

The filter's own (x, P) are the maximum of the posterior and the inverse Gauss-Newton Hessian there, which
hold the information of the data exactly. They say too little of the errors where the coordinates that agree
with the data lie on a curved surface wider than its curvature: second moments of bodies are covered by two
sigma in 82 % of all cases, not 95 %. The map is therefore linearised over the posterior, not at a point
(iterated posterior linearisation, Garcia-Fernandez, Svensson and Sarkka, IEEE TAC 2017), body by body:

    phi(x) = y + B (x - m) + e,   e ~ N(0, Omega),

by statistical linear regression over the points m +- sqrt(10) L e_i, L L' = P (cubature of degree three,
Arasaratnam and Haykin 2009). With data of information Lambda whose cost has the slope s at y,

    Lambda' = (1 + Lambda Omega)^-1 Lambda,   P^-1 = P_0^-1 + B' Lambda' B,
    m <- m + P (P_0^-1 (c - m) - B' (1 + Lambda Omega)^-1 s),

is repeated with the new (m, P), a step at each update until it has converged: all of them at once would make
every such update several times as long as the others. Here phi is expressed in the coordinates of the
filter's linearisation, in which its information is at hand; friction is linear.
"""

import math

import numpy as np

from inertial_estimation.compilation import Table, compiled
from inertial_estimation.errors import MeasurementError, NumericalError
from inertial_estimation.estimators.inertial.filter_values import FilterState
from inertial_estimation.estimators.inertial.inertial_filter import InertialFilter
from inertial_estimation.estimators.inertial.linearisation import DataInformation
from inertial_estimation.estimators.inertial.posterior_steps import CLOSE, body_points, posterior_step
from inertial_estimation.signals import Array, seconds

__all__ = ["CurvedPosterior"]

BODY_STEPS = 9  # most steps that follow one state, times the bodies
MOST_STEPS = 30  # the same where they are made at once
SHRUNK, GROWN = 0.7, 1.2  # of a variance since the last update, beyond which the next is due at once


def _points() -> tuple[Array, Array]:
    """Return points of a standard normal distribution of ten numbers, shape (40, 10), and their weights.

    Both the axes and the rows of a cosine transform, times +-sqrt(10), have its moments to degree three. A
    square of one coordinate has too large a variance on the axes (10 - 1, not 3 - 1) and too small a one
    on the others (1.5 - 1); the weights make its mean over them right.
    """
    k = np.arange(10)
    turned = np.sqrt(0.2) * np.cos(np.pi / 10.0 * (k[:, None] + 0.5) * k)
    turned[:, 0] = np.sqrt(0.1)
    half = np.sqrt(10.0) * np.concatenate((np.eye(10), turned))
    fourth = (np.mean(half[:10] ** 4), np.mean(half[10:] ** 4))
    axes = (3.0 - fourth[1]) / (fourth[0] - fourth[1])
    weights = np.repeat([axes, 1.0 - axes], 10) / 20.0
    return np.concatenate((half, -half)), np.tile(weights, 2)


POINTS, WEIGHTS = _points()


@compiled
def _variances_changed(P: Table, P_before: Table) -> tuple[bool, bool]:
    """Return whether a variance has grown beyond a factor, or is no number, and whether one has shrunk."""
    change = np.diag(P) / np.diag(P_before)
    return not (change <= GROWN).all(), not (change >= SHRUNK).all()


class CurvedPosterior:
    """Mean and covariance of a filter's coordinates and parameters, of a new state at most once a period.

    Where the linearisation over the posterior fails, for a linear filter, and for one whose parameters walk
    at random, they are the filter's own.

    Attributes:
        period: Time between two states that are followed [s]; a covariance that changes by much is at once.
        mean: Mean of the coordinates, shape (n,).
        covariance: Their covariance, shape (n, n).
    """

    def __init__(self, filter_: InertialFilter, period: float) -> None:
        """Begin with the filter's state.

        Args:
            filter_: The filter, which is read and never changed.
            period: Time between two states that are followed [s].
        """
        self.period = period
        self._filter = filter_
        self.reset()

    def reset(self) -> None:
        """Begin anew with the filter's state."""
        self._take(self._filter.state)
        self._second_moments = self._own_second_moments()
        self._followed_at_ns: int | None = None

    def update(self, state: FilterState, time_ns: int) -> None:
        """Make the next step, towards a state of the filter where that is due.

        Args:
            state: The state.
            time_ns: Its time [ns].
        """
        if self._is_due(state, time_ns):
            self._followed_at_ns = time_ns
            self._follow(state, max(1, BODY_STEPS // len(self._filter.bodies)))
        if self._steps:
            self._advance()

    def _is_due(self, state: FilterState, time_ns: int) -> bool:
        """Return whether a state is to be followed, and begin anew where what was known is not any more."""
        if state.x is self._state.x and state.P is self._state.P:
            return False
        forgotten, shrunk = _variances_changed(state.P, self._state.P)
        last = self._followed_at_ns
        waits = last is not None and 0.0 <= seconds(time_ns - last) < self.period
        if waits and not (forgotten or shrunk):
            return False
        if forgotten or self._data is None:
            self._take(state)
        return True

    @property
    def sigma_mass(self) -> Array:
        """Standard deviation of the mass of every body [kg], shape (n_bodies,)."""
        sigma: Array = np.sqrt(np.maximum(self._second_moments[:, 0, 0], 0.0))
        return sigma

    def converge(self, state: FilterState) -> None:
        """Repeat the steps until the mean of a state of the filter has converged.

        Args:
            state: The state.
        """
        self._take(state)
        self._follow(state, MOST_STEPS)
        while self._steps:
            self._advance()

    def parameters_of(self, state: FilterState) -> tuple[Array, Array]:
        """Return the estimate in C of every body (n, 10), and the second moment of its errors (n, 10, 10).

        The estimate is that of the filter, the most probable one, with errors about it: where the mean of the
        parameters differs from it, this counts.

        Args:
            state: The state of the last update, or one soon after it.
        """
        return self._filter.parameters_at(self._filter.body_coordinates(state.x)), self._second_moments

    def _take(self, state: FilterState) -> None:
        """Begin with the filter's own mean and covariance."""
        self._state = state
        self._data: DataInformation | None = None  # None: not linearised over the posterior
        self._steps = 0  # left towards the state
        self.mean: Array = state.x
        self.covariance: Array = state.P
        self._at_mean: tuple[Array, Array] | None = None

    def _own_second_moments(self) -> Array:
        return self._filter.parameters_of(self._state.x, self._state.P)[1]

    def _follow(self, state: FilterState, steps: int) -> None:
        """Take the data of a state, and a number of steps at most towards its posterior."""
        self._state = state
        try:
            self._data = self._filter.data_of(state) if self._filter.is_curved else None
        except (MeasurementError, NumericalError):
            self._data = None
        self._steps = steps
        if self._data is None:
            self._give_up()

    def _give_up(self) -> None:
        """Take the filter's own posterior, until the next state is followed."""
        self._take(self._state)
        self._second_moments = self._own_second_moments()

    def _advance(self) -> None:
        """Make one step."""
        assert self._data is not None
        self._steps -= 1
        try:
            if self._step(self._data) < CLOSE:
                self._steps = 0
        except (MeasurementError, NumericalError):
            self._give_up()

    def _step(self, data: DataInformation) -> float:
        """Linearise over the present mean and covariance; return the largest change of a coordinate."""
        at, prior, curved_map = data.at, data.prior, self._filter.curved_map
        assert curved_map is not None
        k, n = len(at.pi_C), len(self.mean)
        moments: Array = np.empty((k, 10, 10))
        L, pi = np.empty((10 * k, 10)), np.empty((len(POINTS) * k, 10))
        if self._at_mean is None:
            if not body_points(self.mean, self.covariance, POINTS, curved_map[0], L, pi):
                raise NumericalError("the covariance of a body is not positive definite")
            self._at_mean = L, pi
            L, pi = np.empty_like(L), np.empty_like(pi)
        mean, covariance = np.empty(n), np.empty((n, n))
        largest = posterior_step(
            self.mean,
            at.numbers,
            self._at_mean,
            (POINTS, WEIGHTS),
            (data.information, data.pull, data.x),
            (prior.information, prior.centre),
            curved_map,
            self._state.x,
            (mean, covariance, L, pi),
            moments.reshape(-1, 10),
        )
        if math.isnan(largest):
            raise NumericalError("the equations of the linearisation over the posterior cannot be solved")
        self.mean, self.covariance, self._at_mean, self._second_moments = mean, covariance, (L, pi), moments
        return largest
