"""Extended Kalman filter in log-Cholesky coordinates: every estimate is a possible body (F 16-21)."""

import numpy as np

from inertial_estimation.errors import ConfigurationError, listing
from inertial_estimation.estimators.gate import InnovationGate
from inertial_estimation.estimators.inertial_filter import InertialFilter, PriorSigma
from inertial_estimation.models.body_reference import BodyReference
from inertial_estimation.signals import Array
from inertial_estimation.spatial.log_cholesky import (
    CONVENTIONS,
    log_cholesky_from_parameters,
    parameters_and_jacobian,
)

__all__ = ["LogCholeskyEkf"]

LARGEST_LOGARITHM = 4.0  # from nominal: mass within e^8 = 3000 times, radii of gyration within 55 times


class LogCholeskyEkf(InertialFilter):
    """The physically consistent filter, in either convention of the coordinates.

    Rucker's (J = U U') separates the mass from the centre of mass and is the default; Foster's
    (J = U' U) is there for comparison. See docs/inertial_filter.md for measured differences.
    """

    def __init__(
        self,
        bodies: tuple[BodyReference, ...],
        prior: PriorSigma,
        gate: InnovationGate,
        memory: float,
        overlap: float = 1.0,
        convention: str = "rucker",
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
        super().__init__(bodies, prior, gate, memory, overlap)

    def _coordinates(self, pi_C: Array) -> Array:
        return log_cholesky_from_parameters(pi_C, self.convention)

    def _nonlinearity(self) -> float:
        # exp(2 alpha) with variance s^2 of alpha: first order varies by 4 s^2, second order by 8 s^4.
        variances = self.P.diagonal()[: self._n_inertial].reshape(-1, 10)[:, :4]
        return 2.0 * float(variances.max())

    def _bounded(self, x: Array) -> Array:
        bounded: Array = x.copy()
        logarithms = self._body_coordinates(bounded)[:, :4]  # a view
        nominal = self._body_coordinates(self._x_nominal)[:, :4]
        np.clip(logarithms, nominal - LARGEST_LOGARITHM, nominal + LARGEST_LOGARITHM, out=logarithms)
        return bounded

    def _body_map(self, coordinates: Array) -> tuple[Array, Array]:
        return parameters_and_jacobian(coordinates, self.convention)
