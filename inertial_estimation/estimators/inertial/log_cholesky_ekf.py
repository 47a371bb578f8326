"""EKF in log-Cholesky coordinates, in which every estimate is physically consistent (F 16-21)."""

import numpy as np

from inertial_estimation.compilation import Column, MutableColumn, compiled
from inertial_estimation.errors import ConfigurationError, listing
from inertial_estimation.estimators.inertial.gate import InnovationGate
from inertial_estimation.estimators.inertial.inertial_filter import InertialFilter
from inertial_estimation.estimators.inertial.prior import PriorSigma
from inertial_estimation.models.body_reference import BodyReference
from inertial_estimation.models.inertia_posterior import InertiaPosterior, LogCholeskyPosterior
from inertial_estimation.signals import Array
from inertial_estimation.spatial.log_cholesky import (
    CONVENTIONS,
    condition_bounds,
    contracted_curvature,
    fill_condition_bounds,
    fill_parameters,
    log_cholesky_from_parameters,
    parameters_and_jacobian,
)

__all__ = ["LogCholeskyEkf"]

# From nominal: mass within e^6 = 400 times, radii of gyration within 12 times, shears within 5 of them, the
# centre of mass within 10. Beyond, floating point cannot distinguish consistent from inconsistent bodies.
LARGEST_DEVIATION = np.array([3.0] + 3 * [2.5] + 3 * [5.0] + 3 * [10.0])
# Several shears at their limits together do so, too. Bodies of robots have 1e3 to 1e6.
LARGEST_CONDITION = 1e11
OF_NOMINAL = 10.0  # times the condition of the nominal body, where that is larger
HALVINGS = 30  # of the way from nominal, until the limit is met to 1e-9 of it


class LogCholeskyEkf(InertialFilter):
    """The physically consistent filter, in either convention of the coordinates.

    Rucker's (J = U U') separates the mass from the centre of mass and is the default; Foster's
    (J = U' U) is available for comparison. See docs/inertial_filter.md for measured differences.
    """

    def __init__(
        self,
        bodies: tuple[BodyReference, ...],
        prior: PriorSigma,
        gate: InnovationGate,
        memory: float,
        overlap: float = 1.0,
        convention: str = "rucker",
        walk: PriorSigma | None = None,
    ) -> None:
        """Start at the nominal parameters; arguments as for `InertialFilter`.

        Raises:
            ConfigurationError: If the convention is neither "rucker" nor "foster".
        """
        if convention not in CONVENTIONS:
            raise ConfigurationError(
                f"no log-Cholesky convention '{convention}'; there are {listing(CONVENTIONS)}"
            )
        self.convention, self._is_foster = convention, convention == "foster"
        super().__init__(bodies, prior, gate, memory, overlap, walk)
        nominal = self.body_coordinates(self._x_nominal)
        self._largest_condition = np.maximum(LARGEST_CONDITION, OF_NOMINAL * condition_bounds(nominal))
        self._largest_deviation = np.tile(LARGEST_DEVIATION, len(bodies))
        self._range = (nominal - LARGEST_DEVIATION).ravel(), (nominal + LARGEST_DEVIATION).ravel()

    def posterior_of(self, x: Array, P: Array) -> InertiaPosterior:
        """Return the normal distribution of the coordinates."""
        n = self._n_inertial
        to_link = np.array([body.to_link for body in self.bodies])
        return LogCholeskyPosterior(self.body_coordinates(x), P[:n, :n], to_link, self.convention)

    def _coordinates(self, pi_C: Array) -> Array:
        return log_cholesky_from_parameters(pi_C, self.convention)

    def bounded(self, x: Array) -> Array:
        """Limit the state to what floating point can distinguish from inconsistent bodies."""
        bounded: Array = x.copy()
        if _clipped(*self._range, self._largest_condition, bounded):
            return bounded
        coordinates, nominal = self.body_coordinates(bounded), self.body_coordinates(self._x_nominal)
        for body in np.flatnonzero(condition_bounds(coordinates) > self._largest_condition).tolist():
            coordinates[body] = _within(self._largest_condition[body], nominal[body], coordinates[body])
        return bounded

    def touches_bound(self, x: Array) -> bool:
        """Return whether a body is at the bound of what floating point can tell from inconsistent."""
        return _touches(self._x_nominal, self._largest_deviation, self._largest_condition, x)

    def parameters_at(self, coordinates: Array) -> Array:
        """Return the parameters in C of bodies with given coordinates, shape (k, 10) both."""
        pi_C = np.empty(coordinates.shape)
        fill_parameters(coordinates, self._is_foster, pi_C)
        return pi_C

    def _body_map(self, coordinates: Array) -> tuple[Array, Array]:
        return parameters_and_jacobian(coordinates, self.convention)

    def _curvature(self, x: Array, slope_pi: Array) -> Array:
        return contracted_curvature(self.body_coordinates(x), slope_pi, self.convention)


@compiled
def _clipped(lower: Column, upper: Column, largest: Column, x: MutableColumn) -> bool:
    """Limit the coordinates of k bodies; return whether the bodies are then within their largest conditions.

    Args:
        lower: Least coordinates, shape (10 k,).
        upper: Largest coordinates, shape (10 k,).
        largest: Largest bounds of the condition numbers, shape (k,).
        x: State, bodies first; the coordinates of bodies are changed.
    """
    n, conditions = len(lower), np.empty(len(largest))
    x[:n] = np.minimum(np.maximum(x[:n], lower), upper)
    fill_condition_bounds(x[:n].reshape(-1, 10), conditions)
    return not bool((conditions > largest).any())


@compiled
def _touches(nominal: Column, deviation: Column, largest: Column, x: Column) -> bool:
    """Return whether a coordinate of k bodies, or the condition of one of them, is at its bound.

    Args:
        nominal: Nominal state, bodies first.
        deviation: Largest distances of the coordinates from nominal, shape (10 k,).
        largest: Largest bounds of the condition numbers, shape (k,).
        x: State, bodies first.
    """
    n, conditions = len(deviation), np.empty(len(largest))
    fill_condition_bounds(x[:n].reshape(-1, 10), conditions)
    near = bool((conditions >= largest * (1.0 - 1e-6)).any())
    return near or bool((np.abs(x[:n] - nominal[:n]) >= deviation * (1.0 - 1e-9)).any())


def _within(limit: float, nominal: Array, coordinates: Array) -> Array:
    """Return the farthest point on the way from nominal to coordinates whose condition is within a limit."""
    inside, outside = 0.0, 1.0
    for _ in range(HALVINGS):
        share = 0.5 * (inside + outside)
        if condition_bounds((nominal + share * (coordinates - nominal))[None])[0] <= limit:
            inside = share
        else:
            outside = share
    point: Array = nominal + inside * (coordinates - nominal)
    return point
