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

The repetition need not converge: where the data hardly bound a coordinate its points reach so far that the
regression over them has no fixed point near the mode, and the mean leaves for good (so it did after twelve
hours of a soak). A step is therefore only made where it lowers the variational free energy of the
distribution, F = E[cost(x)] - 1/2 log det P, else half of it is tried (a damped posterior linearisation;
that of Raitoharju, Svensson, Garcia-Fernandez and Piche, IEEE SPL 2018, compares the cost of the mean). So
what is reported is never farther from the posterior, by its Kullback-Leibler divergence, than the normal
distribution of the filter.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from inertial_estimation.compilation import Table, compiled
from inertial_estimation.construction import made_of_checked
from inertial_estimation.errors import MeasurementError, NumericalError
from inertial_estimation.estimators.inertial.filter_values import FilterState
from inertial_estimation.estimators.inertial.inertial_filter import InertialFilter
from inertial_estimation.estimators.inertial.linearisation import DataInformation
from inertial_estimation.estimators.inertial.posterior_steps import (
    CLOSE,
    free_energy,
    inverted,
    posterior_step,
)
from inertial_estimation.signals import Array, seconds

BODY_STEPS = 9  # most steps that follow one state, times the bodies
MOST_STEPS = 30  # the same where they are made at once
ASTRAY = 0.5  # times the number of coordinates: free energy above that of the filter's own distribution
LEAST_SHARE = 0.125  # of a step that is tried
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


@dataclass(frozen=True, slots=True, eq=False)
class _Normal:
    """A normal distribution of the coordinates, compared with the posterior.

    Attributes:
        mean: Shape (n,).
        covariance: Shape (n, n).
        energy: Its variational free energy; infinite where floating point does not suffice.
        fit: Regression of the parameters over it: offset, slope and error.
        moments: Second moments of the parameters about the estimate, shape (n_bodies, 10, 10).
    """

    mean: Array
    covariance: Array
    energy: float
    fit: tuple[Array, Array, Array]
    moments: Array


_normal = made_of_checked(_Normal)


class CurvedPosterior:
    """Mean and covariance of a filter's coordinates and parameters, of a new state at most once a period.

    Where the linearisation over the posterior fails, for a linear filter, and for one whose parameters walk
    at random, they are the filter's own.

    Attributes:
        period: Time between two states that are followed [s]; a covariance that changes by much is at once.
    """

    def __init__(self, filter_: InertialFilter, period: float) -> None:
        """Begin with the filter's state.

        Args:
            filter_: The filter, which is read and never changed.
            period: Time between two states that are followed [s].
        """
        self.period = period
        self._filter = filter_
        k = len(filter_.bodies)
        # memory of factors and points, which is written anew each time, and the shape of the second moments
        self._scratch = (np.empty((10 * k, 10)), np.empty((len(POINTS) * k, 10))), (k, 10, 10)
        self._against: tuple[Any, ...] = ()  # what distributions are compared with, as for `free_energy`
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
        return self._filter.parameters_in(state), self._second_moments

    @property
    def mean(self) -> Array:
        """Mean of the coordinates, shape (n,)."""
        return self._state.x if self._at is None else self._at.mean

    @property
    def covariance(self) -> Array:
        """Their covariance, shape (n, n)."""
        return self._state.P if self._at is None else self._at.covariance

    def _take(self, state: FilterState) -> None:
        """Begin with the filter's own mean and covariance."""
        self._state = state
        self._data: DataInformation | None = None  # None: not linearised over the posterior
        self._steps = 0  # left towards the state
        self._share = 1.0  # of the next step
        self._at: _Normal | None = None
        self._most = math.inf  # free energy of a distribution that is not astray

    def _own_second_moments(self) -> Array:
        return self._filter.parameters_of(self._state.x, self._state.P)[1]

    def _follow(self, state: FilterState, steps: int) -> None:
        """Take the data of a state, and a number of steps at most towards its posterior."""
        self._state, self._share = state, 1.0
        try:
            self._data = self._filter.data_of(state) if self._filter.is_curved else None
        except (MeasurementError, NumericalError):
            self._data = None
        self._steps = steps
        if self._data is None or not self._begin(self._data):
            self._give_up()

    def _give_up(self) -> None:
        """Take the filter's own posterior, until the next state is followed."""
        self._take(self._state)
        self._second_moments = self._own_second_moments()

    def _begin(self, data: DataInformation) -> bool:
        """Begin with the last distribution or the filter's, the nearer one; return whether there is one."""
        curved_map, prior = self._filter.curved_map, data.prior
        assert curved_map is not None
        G, pi_at, x_at = data.at.numbers
        inverses = np.empty(G.shape)
        if not inverted(G, inverses):
            return False
        self._against = (
            (inverses, pi_at, x_at),
            (POINTS, WEIGHTS),
            (data.information, data.pull, data.x),
            (prior.information, prior.centre),
            (curved_map[0], self._state.x),
        )
        own = self._normal(self._state.x, self._state.P)
        last = None if self._at is None else self._normal(self._at.mean, self._at.covariance)
        self._most = own.energy + ASTRAY * len(own.mean)
        if last is not None and last.energy <= self._most:
            self._at, self._second_moments = last, last.moments
        else:
            self._at = own
            self._second_moments = self._own_second_moments()
        return math.isfinite(self._at.energy)

    def _advance(self) -> None:
        """Try one step."""
        assert self._at is not None
        self._steps -= 1
        largest, trial = self._step(self._at)
        if trial is not None and trial.energy <= max(self._at.energy, self._most):
            self._at, self._second_moments = trial, trial.moments
            self._share = min(2.0 * self._share, 1.0)
        elif self._share > LEAST_SHARE and not math.isnan(largest):
            self._share *= 0.5
        else:
            self._steps = 0
        if largest < CLOSE:
            self._steps = 0

    def _step(self, at: _Normal) -> tuple[float, _Normal | None]:
        """Linearise over a distribution.

        Args:
            at: The distribution.

        Returns:
            The largest change of a coordinate in the whole step, NaN where floating point does not suffice;
            and the distribution after the share of the step.
        """
        curved_map = self._filter.curved_map
        assert curved_map is not None
        n, (over, of_bodies) = len(at.mean), self._scratch
        after, fit, moments = (np.empty(n), np.empty((n, n))), _empty_fit(n), np.empty(of_bodies)
        before: tuple[Any, ...] = (at.mean, at.covariance), at.fit, *self._against, curved_map[1], self._share
        written: tuple[Any, ...] = over, after, fit, moments.reshape(-1, 10)
        largest, energy = posterior_step(*before, *written)
        return largest, None if math.isnan(largest) else _normal(*after, energy, fit, moments)

    def _normal(self, mean: Array, covariance: Array) -> _Normal:
        """Compare a normal distribution with the posterior."""
        over, of_bodies = self._scratch
        fit, moments = _empty_fit(len(mean)), np.empty(of_bodies)
        written: tuple[Any, ...] = over, fit, moments.reshape(-1, 10)
        energy = free_energy(mean, covariance, *self._against, *written)
        return _normal(mean, covariance, energy, fit, moments)


def _empty_fit(n: int) -> tuple[Array, Array, Array]:
    """Return memory for a regression on n coordinates."""
    return np.empty(n), np.empty((n, n)), np.empty((n, n))
