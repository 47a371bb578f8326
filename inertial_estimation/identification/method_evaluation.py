"""Evaluation of a method's solution: parameters, bodies, residuals and costs."""

from dataclasses import dataclass

import numpy as np

from inertial_estimation.identification.equation_stack import EquationStack
from inertial_estimation.identification.identifiability import IdentifiableSpace
from inertial_estimation.identification.identification_result import (
    BodyResult,
    MethodResult,
    ParameterResult,
    PayloadResult,
    RowError,
)
from inertial_estimation.identification.methods import IdentificationMethod, MethodSolution
from inertial_estimation.identification.parameter_set import ParameterSet
from inertial_estimation.identification.payload import payload_result
from inertial_estimation.models.inertia_posterior import InertiaPosterior, TruncatedPosterior, square_root
from inertial_estimation.models.measurement_rows import BASE_ROWS
from inertial_estimation.signals import Array
from inertial_estimation.spatial.inertial_parameters import InertialParameters


@dataclass(frozen=True, eq=False)
class MethodEvaluation:
    """Evaluates solutions against the data.

    Attributes:
        parameters: The unknowns and their relation to the standard parameters.
        space: The identifiable space.
        least: Least-squares solution in the identifiable space, shape (n,).
        sigma: Noise level of each row, shape (m,).
        training: The fitted rows.
        validation: The validation rows; None without such data.
    """

    parameters: ParameterSet
    space: IdentifiableSpace
    least: Array
    sigma: Array
    training: EquationStack
    validation: EquationStack | None

    def result(self, method: IdentificationMethod, solution: MethodSolution) -> MethodResult:
        """Return the result of one method."""
        x, nominal = solution.x, np.zeros(len(solution.x))
        phi = self.parameters.standard(x)
        friction = {self.parameters.names[i]: float(phi[i]) for i in self.parameters.friction_rows}
        bodies, payload = self._bodies(phi), self._payload(solution, phi)
        inconsistent = any(body.violations for body in bodies) or (payload and payload.violations)
        return MethodResult(
            method=method.name,
            parameters=self._parameters(phi),
            bodies=bodies,
            friction=friction,
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
            posterior=None if inconsistent else self._posterior(solution),
        )

    def _posterior(self, solution: MethodSolution) -> InertiaPosterior | None:
        """Return the normal distribution of the bodies about the solution, truncated to consistent ones."""
        if solution.covariance is None:
            return None
        own = np.ones(len(self.parameters.E), dtype=bool)
        own[list(self.parameters.friction_rows)] = False
        half = square_root(solution.covariance)
        mean = self.parameters.standard(solution.x)[own].reshape(-1, 10)
        return TruncatedPosterior(mean, self.parameters.E[own] @ half, np.zeros(half.shape[1]))

    def least_cost(self) -> float:
        """Return the cost of least squares in the identifiable space, as `MethodResult.cost`."""
        return self._cost(self.training, self.least)

    def _payload(self, solution: MethodSolution, phi: Array) -> PayloadResult | None:
        payload, covariance = self.parameters.payload, solution.covariance
        if payload is None:
            return None
        if covariance is not None:
            covariance = covariance[-10:, -10:]
        elif np.isfinite(self.space.deviations(self.parameters.E)[-10:]).all():
            factor = self.space.covariance_factor()[-10:]
            covariance = factor @ factor.T
        return payload_result(payload, phi[-10:], covariance)

    def _parameters(self, phi: Array) -> tuple[ParameterResult, ...]:
        given = self.parameters
        verdicts = self.space.verdicts(given.E)
        sigma = self.space.deviations(given.E)
        alone = np.where(np.isfinite(sigma), given.standard(self.least), np.nan)
        columns = (given.nominal.tolist(), phi.tolist(), sigma.tolist(), verdicts, alone.tolist())
        return tuple(ParameterResult(*one) for one in zip(given.names, given.units, *columns, strict=True))

    def _bodies(self, phi: Array) -> tuple[BodyResult, ...]:
        found = []
        for i, body in enumerate(self.parameters.bodies):
            inertia = InertialParameters.from_vector(self.parameters.body(phi, i))
            nominal = InertialParameters.from_vector(self.parameters.body(self.parameters.nominal, i))
            found.append(BodyResult(body.link, nominal, inertia, tuple(inertia.violations())))
        return tuple(found)

    def _cost(self, stack: EquationStack | None, x: Array) -> float:
        if stack is None or not stack.rows:
            return float("nan")
        return float(np.sum(stack.residual_squares(x) / self.sigma**2) / stack.rows)


def _row_errors(stack: EquationStack, x: Array) -> tuple[RowError, ...]:
    counts = np.maximum(stack.counts, 1)
    squares = (stack.residual_squares(x), stack.residual_squares(np.zeros(len(x))), stack.measured_squares())
    numbers = np.stack([*(np.sqrt(one / counts) for one in squares), stack.friction_shares(x)], axis=1)
    return tuple(RowError(name, *row) for name, row in zip(stack.row_names, numbers.tolist(), strict=True))


def _relative_error(stack: EquationStack | None, x: Array) -> float:
    """Return ||measured - predicted|| / ||measured|| over the joint torque rows, or all rows if none are."""
    if stack is None or not stack.rows:
        return float("nan")
    torques = np.array([name not in BASE_ROWS for name in stack.row_names])
    chosen = torques if torques.any() else ~torques
    measured = float(stack.measured_squares()[chosen].sum())
    error = float(stack.residual_squares(x)[chosen].sum())
    return float(np.sqrt(error / measured)) if measured > 0.0 else float("nan")
