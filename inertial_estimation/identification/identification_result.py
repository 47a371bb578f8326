"""Result of an identification: parameters, their uncertainty, costs and physical consistency."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from inertial_estimation.identification.equations import EquationStack
from inertial_estimation.identification.identifiability import IdentifiableSpace
from inertial_estimation.identification.methods import MethodSolution
from inertial_estimation.identification.parameter_set import ParameterSet
from inertial_estimation.models.estimated_model import InertiaPosterior, TruncatedPosterior, square_root
from inertial_estimation.models.measurement_rows import BASE_ROWS
from inertial_estimation.models.sensor_errors import SCALE
from inertial_estimation.signals import Array, Identifiability
from inertial_estimation.spatial.inertial_parameters import InertialParameters


def rounded(value: float, sigma: float) -> float:
    """Return a value rounded to the second digit of its standard deviation, or else to three digits."""
    size = sigma if 0.0 < sigma < math.inf else 0.1 * abs(value)
    if not size or not math.isfinite(value):
        return value
    return round(value, 1 - math.floor(math.log10(size)))


@dataclass(frozen=True)
class ParameterResult:
    """One standard parameter before and after the identification.

    Its standard deviation follows from the residuals of the rows. It is infinite if the data do not
    determine the parameter, whose value then comes from the nominal value, a bound or a prior.
    """

    name: str  # ``link/m``, ``link/mcx`` ... (about the link frame), ``joint/viscous`` ...
    unit: str
    nominal: float  # value of the URDF or of the known friction
    value: float  # identified value
    sigma: float
    identifiability: Identifiability


@dataclass(frozen=True, eq=False)
class BodyResult:
    """One identified body, a link with all that is fixed to it; inertias are about the link frame."""

    link: str
    nominal: InertialParameters
    inertia: InertialParameters  # identified parameters
    violations: tuple[str, ...]  # violated conditions of physical consistency; empty if consistent


@dataclass(frozen=True, eq=False)
class PayloadResult:
    """A load on a link, without that link; all values are in the frame of the link.

    Its standard deviations are infinite if neither data nor a prior determine its parameters. They contain
    the noise of the rows, its correlation over time, a common relative error `SCALE` of the drives' gains,
    which scales a load as well, and, with a prior, the uncertainty of the robot's own parameters, but no
    error that repeats with the motion.
    """

    link: str  # link to which it is fixed
    name: str  # name of its link in the written URDF
    inertia: InertialParameters
    mass_sigma: float  # [kg]
    com_sigma: Array  # of each component of the centre of mass [m], shape (3,)
    inertia_sigma: Array  # of the inertia about the centre of mass [kg m^2], shape (3, 3)
    violations: tuple[str, ...]

    @property
    def mass_known(self) -> bool:
        """Whether the mass exceeds two standard deviations; otherwise a centre of mass means nothing."""
        return 2.0 * self.mass_sigma < self.inertia.mass


@dataclass(frozen=True)
class RowError:
    """Root mean square of one row, a joint torque or a base row, over one set of data [Nm or N]."""

    row: str
    rms: float  # rms of measured minus predicted
    rms_nominal: float  # rms of measured minus predicted with the nominal parameters
    rms_measured: float  # rms of the measured value, for comparison


def relative_error(rows: Sequence[RowError], which: str = "rms") -> float:
    """Return ||measured - predicted|| / ||measured|| over the joint torque rows, or all rows if none are.

    The prediction is that of the identified parameters, or ("rms_nominal") the nominal one; NaN without rows.
    """
    chosen = [row for row in rows if row.row not in BASE_ROWS] or list(rows)
    measured = math.hypot(*(row.rms_measured for row in chosen))
    return math.hypot(*(getattr(row, which) for row in chosen)) / measured if measured > 0.0 else math.nan


@dataclass(frozen=True, eq=False)
class MethodResult:
    """Result of one method.

    A cost is the sum of squares of the weighted residuals per row, 1 at the noise level. A relative error is
    ||measured - predicted|| / ||measured|| over all torque rows. Those of validation data may be NaN.
    """

    method: str
    parameters: tuple[ParameterResult, ...]  # with symmetry, also those of the mirrored links
    bodies: tuple[BodyResult, ...]
    friction: Mapping[str, float]  # values by ``joint/term``
    direct: tuple[RowError, ...]  # errors on the fitted data
    validation: tuple[RowError, ...]  # errors on validation data; empty without any
    cost: float  # cost on the fitted data
    cost_nominal: float
    cost_validation: float  # cost on the validation data, with the weights of the fit
    cost_validation_nominal: float
    relative_error: float
    relative_error_validation: float
    notes: tuple[str, ...]  # on the solution: iterations, active bounds, reason for stopping
    x: Array  # the unknowns of `ParameterSet`, shape (n,)
    unfinished: str = ""  # reason why the solution is not the exact optimum; empty if it is
    payload: PayloadResult | None = None  # the load; `bodies` are then those of the robot without it
    posterior: InertiaPosterior | None = None  # of bodies and load; None without a prior, or inconsistent

    @property
    def consistent(self) -> bool:
        """Whether every body, and the load if any, is physically consistent."""
        load = self.payload is not None and self.payload.violations
        return not load and not any(body.violations for body in self.bodies)

    def values(self) -> dict[str, Any]:
        """Return all but the posterior for a JSON file, parameters, rows and bodies by name."""
        load = self.payload
        return {
            **{name: value for name, value in vars(self).items() if name not in ("posterior", "payload")},
            "consistent": self.consistent,
            "parameters": {one.name: one for one in self.parameters},
            "direct": {one.row: one for one in self.direct},
            "validation": {one.row: one for one in self.validation},
            "bodies": {one.link: one for one in self.bodies},
            **({} if load is None else {"payload": {**vars(load), **asdict(load.inertia)}}),
        }


@dataclass(frozen=True)
class DataSummary:
    """Summary of the data of an identification."""

    samples: int  # number of samples of the uniform grid that are used
    duration_s: float  # their time span [s]
    rows: int  # number of rows
    dropped: Mapping[str, int] = field(default_factory=dict)  # number of readings left out, by reason


@dataclass(frozen=True, eq=False)
class IdentificationReport:
    """Results of all methods of an identification, with the rank analysis and the data they share."""

    rank: int  # rank of the weighted, scaled regressor
    unknowns: int  # number of unknowns
    condition: float  # condition number of the identifiable part of the regressor
    singular_values: Array  # singular values of the regressor, largest first, shape (unknowns,)
    row_names: tuple[str, ...]
    row_sigma: Array  # noise level of each row, from which its weight is computed, shape (m,)
    training: DataSummary
    validation: DataSummary | None  # None without such data
    methods: Mapping[str, MethodResult]  # in the requested order
    chosen: str  # name of the method whose result is written
    warnings: tuple[str, ...]  # suspicious properties of the data, one sentence each
    cost_least_squares: float = math.nan  # smallest cost of any parameters on the fitted data
    unloaded: bool = False  # whether recordings without the load are among the fitted data
    inflation: float = 1.0  # factor of variances over those of noise that only the smoothing correlates
    held: tuple[str, ...] = ()  # links that move and are held at the description's values

    def values(self) -> dict[str, Any]:
        """Return all values for a JSON file, methods and noise levels by name."""
        return {
            **vars(self),
            "row_sigma": dict(zip(self.row_names, self.row_sigma.tolist(), strict=True)),
            "methods": {name: result.values() for name, result in self.methods.items()},
        }


STEP_SHARE = 1e-6  # step of the derivatives of mass, centre of mass and moments, share of prior deviations


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
        """Return the result of a method, given its name and its solution."""
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
        direct, validation = _row_errors(self.training, x), _row_errors(self.validation, x)
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
            direct=direct,
            validation=validation,
            cost=self._cost(self.training, x),
            cost_nominal=self._cost(self.training, nominal),
            cost_validation=self._cost(self.validation, x),
            cost_validation_nominal=self._cost(self.validation, nominal),
            relative_error=relative_error(direct),
            relative_error_validation=relative_error(validation),
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
        columns = (given.nominal.tolist(), phi.tolist(), sigma.tolist(), self.space.verdicts(given.E))
        named = zip(given.names, given.units, *columns, strict=True)
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
            covariance = covariance + np.outer(SCALE * pi, SCALE * pi)
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


def _row_errors(stack: EquationStack | None, x: Array) -> tuple[RowError, ...]:
    if stack is None:
        return ()
    squares = (stack.residual_squares(x), stack.residual_squares(np.zeros(len(x))), stack.measured_squares())
    numbers = np.sqrt(np.stack(squares, axis=1) / stack.times)
    return tuple(RowError(name, *row) for name, row in zip(stack.row_names, numbers.tolist(), strict=True))
