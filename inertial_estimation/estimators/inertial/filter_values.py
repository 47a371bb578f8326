"""Values of an inertial filter: a state to return to, an innovation, the outcome of an update."""

import math
from dataclasses import dataclass

import numpy as np

from inertial_estimation.errors import MeasurementError
from inertial_estimation.estimators.inertial.filter_steps import parameters_near
from inertial_estimation.estimators.inertial.linearisation import BodyLinearisation
from inertial_estimation.signals import Array, Decision


@dataclass(frozen=True, slots=True, eq=False)
class FilterUpdate:
    """Result of one update.

    Attributes:
        innovation: Measured minus predicted, before the update, shape (m,).
        nis: y' S^-1 y.
        accepted: Whether the state was corrected.
        decision: ACCEPTED, REJECTED, REOPENED, UNRESOLVABLE or DISABLED.
        iterations: Number of linearisations until the posterior is linearised at its new mean.
        variance: Of each innovation before the update, the diagonal of S, shape (m,).
        log_det: Logarithm of the determinant of S; NaN where floating point cannot factorise S.
    """

    innovation: Array
    nis: float
    accepted: bool
    decision: Decision
    iterations: int
    variance: Array
    log_det: float = math.nan


def parameters_by(at: BodyLinearisation, x: Array) -> Array:
    """Return parameters about the joint frames by a linearisation, friction last, shape (n,).

    Args:
        at: The linearisation.
        x: State, shape (n,).
    """
    phi = np.empty(len(x))
    parameters_near((at.dphi, at.phi, at.x), x, phi)
    return phi


@dataclass(frozen=True, slots=True, eq=False)
class FilterState:
    """All that the data have changed in a filter, to return to.

    Attributes:
        x: State, shape (n,).
        P: Its covariance, shape (n, n).
        centre: Mean of the prior, shape (n,).
        at: Linearisation of the posterior.
        parameters: Those about the joint frames, as `phi`, and those of the bodies in C, shape
            (n_bodies, 10), where they have been computed with the state; else None.
    """

    x: Array
    P: Array
    centre: Array
    at: BodyLinearisation
    parameters: tuple[Array, Array] | None = None

    @property
    def phi(self) -> Array:
        """Parameters about the joint frames by the linearisation, friction last, shape (n,)."""
        return parameters_by(self.at, self.x) if self.parameters is None else self.parameters[0]


@dataclass(frozen=True, slots=True, eq=False)
class Innovation:
    """A measurement compared with the prediction of a state.

    Attributes:
        y: Measured minus predicted, shape (m,).
        nis: y' S^-1 y; infinite where floating point cannot factorise S.
        S: Its covariance, shape (m, m).
        log_det: Logarithm of the determinant of S; NaN where floating point cannot factorise S.
    """

    y: Array
    nis: float
    S: Array
    log_det: float

    def reported(self) -> FilterUpdate:
        """Return the outcome of a measurement from which nothing is learned.

        Raises:
            MeasurementError: If the measurement is not finite.
        """
        if not math.isfinite(self.nis):
            return unresolvable(self.y, self.S.diagonal())
        return FilterUpdate(self.y, self.nis, False, Decision.DISABLED, 0, self.S.diagonal(), self.log_det)


def unresolvable(innovation: Array, variance: Array) -> FilterUpdate:
    """Return the outcome of a measurement that floating point cannot relate to the state.

    Its NIS is that of rows taken as independent.

    Args:
        innovation: Measured minus predicted, shape (m,).
        variance: Of each row, shape (m,).

    Raises:
        MeasurementError: If it is not finite.
    """
    nis = float((innovation**2 / np.maximum(variance, np.finfo(float).tiny)).sum())
    if not math.isfinite(nis):
        raise MeasurementError(
            "the measurement equation is not finite: readings are beyond any sensor's range"
        )
    return FilterUpdate(innovation, nis, False, Decision.UNRESOLVABLE, 0, variance)
