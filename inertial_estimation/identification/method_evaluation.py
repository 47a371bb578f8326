"""Evaluation of a method's solution: parameters, bodies, load, residuals and costs."""

from dataclasses import dataclass

import numpy as np

from inertial_estimation.identification.equations import EquationStack
from inertial_estimation.identification.identifiability import IdentifiableSpace
from inertial_estimation.identification.identification_result import (
    BodyResult,
    MethodResult,
    ParameterResult,
    PayloadResult,
    RowError,
)
from inertial_estimation.identification.methods import MethodSolution
from inertial_estimation.identification.parameter_set import ParameterSet
from inertial_estimation.models.estimated_model import TruncatedPosterior, square_root
from inertial_estimation.models.measurement_rows import BASE_ROWS
from inertial_estimation.signals import Array
from inertial_estimation.spatial.inertial_parameters import InertialParameters

STEP_SHARE = 1e-6  # of the prior deviations, for the derivatives of mass, centre of mass and moments


@dataclass(frozen=True, eq=False)
class MethodEvaluation:
    """Evaluates solutions against the data."""

    parameters: ParameterSet
    space: IdentifiableSpace
    least: Array  # least-squares solution in the identifiable space, shape (n,)
    sigma: Array  # noise level of each row, shape (m,)
    training: EquationStack  # the fitted rows
    validation: EquationStack | None  # None without such data

    def result(self, name: str, solution: MethodSolution) -> MethodResult:
        """Return the result of the method of a name."""
        given, x, nominal = self.parameters, solution.x, np.zeros(len(solution.x))
        phi, payload = given.standard(x), self._payload(solution)
        bodies = tuple(
            BodyResult(
                body.link,
                InertialParameters.from_vector(given.body(given.nominal, i)),
                inertia := InertialParameters.from_vector(given.body(phi, i)),
                tuple(inertia.violations()),
            )
            for i, body in enumerate(given.bodies)
        )
        posterior = None
        inconsistent = any(body.violations for body in bodies) or (payload and payload.violations)
        if solution.covariance is not None and not inconsistent:
            own = np.delete(np.arange(len(phi)), given.friction_rows)
            half = square_root(solution.covariance)
            mean = phi[own].reshape(-1, 10)
            posterior = TruncatedPosterior(mean, given.E[own] @ half, np.zeros(half.shape[1]))
        return MethodResult(
            method=name,
            parameters=self._parameters(phi),
            bodies=bodies,
            friction={given.names[i]: float(phi[i]) for i in given.friction_rows},
            direct=_row_errors(self.training, x),
            validation=_row_errors(self.validation, x) if self.validation else (),
            cost=self._cost(self.training, x),
            cost_nominal=self._cost(self.training, nominal),
            cost_validation=self._cost(self.validation, x),
            cost_validation_nominal=self._cost(self.validation, nominal),
            relative_error=_relative_error(self.training, x),
            relative_error_validation=_relative_error(self.validation, x),
            notes=solution.notes,
            x=x,
            unfinished=solution.unfinished,
            payload=payload,
            posterior=posterior,
        )

    def least_cost(self) -> float:
        """Return the cost of least squares in the identifiable space, as `MethodResult.cost`."""
        return self._cost(self.training, self.least)

    def _parameters(self, phi: Array) -> tuple[ParameterResult, ...]:
        given = self.parameters
        sigma = self.space.deviations(given.E)
        alone = np.where(np.isfinite(sigma), given.standard(self.least), np.nan)
        columns = (given.nominal.tolist(), phi.tolist(), sigma.tolist(), self.space.verdicts(given.E))
        named = zip(given.names, given.units, *columns, alone.tolist(), strict=True)
        return tuple(ParameterResult(*one) for one in named)

    def _cost(self, stack: EquationStack | None, x: Array) -> float:
        if stack is None:
            return float("nan")
        return float(np.sum(stack.residual_squares(x) / self.sigma**2) / stack.rows)

    def _payload(self, solution: MethodSolution) -> PayloadResult | None:
        """Return the load with the standard deviations of its mass, centre of mass and moments of inertia."""
        payload, covariance, pi = self.parameters.payload, solution.covariance, solution.x[-10:]
        if payload is None:
            return None
        if covariance is not None:
            covariance = covariance[-10:, -10:]
        elif np.isfinite(self.space.deviations(self.parameters.E)[-10:]).all():
            factor = self.space.covariance_factor()[-10:]
            covariance = factor @ factor.T
        inertia, sigma = InertialParameters.from_vector(pi), np.full(10, np.inf)
        if covariance is not None and inertia.mass > 0.0:
            steps = STEP_SHARE * payload.unit
            pairs = [(_physical(pi + step) - _physical(pi - step)) for step in np.diag(steps)]
            slopes = np.stack(pairs, axis=1) / (2.0 * steps)
            sigma = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", slopes, covariance, slopes), 0.0))
        return PayloadResult(
            link=payload.link,
            name=payload.name,
            inertia=inertia,
            mass_sigma=float(sigma[0]),
            com_sigma=sigma[1:4],
            inertia_sigma=sigma[np.array([[4, 5, 7], [5, 6, 8], [7, 8, 9]])],
            violations=tuple(inertia.violations()),
        )


def _physical(pi: Array) -> Array:
    """Return mass, centre of mass and moments about it, in the order of `PARAMETER_NAMES`, shape (10,)."""
    value = InertialParameters.from_vector(pi)
    moments = value.inertia_Fcm[[0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2]]
    return np.concatenate(([value.mass], value.com_F, moments))


def _row_errors(stack: EquationStack, x: Array) -> tuple[RowError, ...]:
    squares = (stack.residual_squares(x), stack.residual_squares(np.zeros(len(x))), stack.measured_squares())
    numbers = np.sqrt(np.stack(squares, axis=1) / stack.times)
    return tuple(RowError(name, *row) for name, row in zip(stack.row_names, numbers.tolist(), strict=True))


def _relative_error(stack: EquationStack | None, x: Array) -> float:
    """Return ||measured - predicted|| / ||measured|| over the joint torque rows, or all rows if none are."""
    if stack is None:
        return float("nan")
    torques = np.array([name not in BASE_ROWS for name in stack.row_names])
    chosen = torques if torques.any() else ~torques
    measured = float(stack.measured_squares()[chosen].sum())
    error = float(stack.residual_squares(x)[chosen].sum())
    return float(np.sqrt(error / measured)) if measured > 0.0 else float("nan")
