"""EKF in log-Cholesky coordinates, in which every estimate is physically consistent (F 16-21)."""

import numpy as np

from inertial_estimation.errors import ConfigurationError, listing
from inertial_estimation.estimators.inertial.coordinate_limits import (
    CoordinateLimits,
    limit_coordinates,
    touches_limits,
)
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
    fill_parameters,
    log_cholesky_from_parameters,
    parameters_and_jacobian,
)

# From nominal: mass within e^6 = 400 times, radii of gyration within 12 times, shears within 5 of them, the
# centre of mass within 10. Beyond, floating point cannot distinguish consistent from inconsistent bodies.
LARGEST_DEVIATION = np.array([3.0] + 3 * [2.5] + 3 * [5.0] + 3 * [10.0])
# Several shears at their limits together do so, too. Bodies of robots have 1e3 to 1e6.
LARGEST_CONDITION = 1e11
OF_NOMINAL = 10.0  # times the condition of the nominal body, where that is larger


class LogCholeskyEkf(InertialFilter):
    """The physically consistent filter, in either convention of the coordinates.

    Rucker's (J = U U') separates the mass from the centre of mass and is the default; Foster's
    (J = U' U) is available for comparison. See docs/inertial_filter.md for measured differences.
    """

    curved_map: tuple[bool, CoordinateLimits]

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
        self.convention = convention
        super().__init__(bodies, prior, gate, memory, overlap, walk)
        nominal = self._x_nominal[: self._n_inertial].copy()
        conditions = condition_bounds(self.body_coordinates(nominal))
        deviation = np.tile(LARGEST_DEVIATION, len(bodies))
        largest = np.maximum(LARGEST_CONDITION, OF_NOMINAL * conditions)
        limits: CoordinateLimits = (nominal, deviation, largest)
        self.curved_map = self.convention == "foster", limits

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
        limit_coordinates(self.curved_map[1], bounded)
        return bounded

    def touches_bound(self, x: Array) -> bool:
        """Return whether a body is at the bound of what floating point can tell from inconsistent."""
        return touches_limits(self.curved_map[1], x)

    def parameters_at(self, coordinates: Array) -> Array:
        """Return the parameters in C of bodies with given coordinates, shape (k, 10) both."""
        pi_C = np.empty(coordinates.shape)
        fill_parameters(coordinates, self.convention == "foster", pi_C)
        return pi_C

    def _body_map(self, coordinates: Array) -> tuple[Array, Array]:
        return parameters_and_jacobian(coordinates, self.convention)

    def _curvature(self, x: Array, slope_pi: Array) -> Array:
        return contracted_curvature(self.body_coordinates(x), slope_pi, self.convention)
