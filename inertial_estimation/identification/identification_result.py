"""Result of an identification: parameters, their uncertainty, costs and physical consistency."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from inertial_estimation.models.inertia_posterior import InertiaPosterior
from inertial_estimation.signals import Array
from inertial_estimation.spatial.inertial_parameters import InertialParameters

HELD_BACK_SHARE = 0.2  # of a value by the data alone, that it differs from the one found, to be reported


def rounded(value: float, sigma: float) -> float:
    """Return a value rounded to the second digit of its standard deviation, to three digits without one."""
    size = sigma if 0.0 < sigma < math.inf else 0.1 * abs(value)
    if not size or not math.isfinite(value):
        return value
    return round(value, 1 - math.floor(math.log10(size)))


class Identifiability(Enum):
    """Identifiability of one parameter from the data.

    IDENTIFIABLE: by itself. COMBINATION: only in combination with others. NOT: not at all; the parameter
    stays nominal, or changes together with others where a method has a prior.
    """

    IDENTIFIABLE = "identifiable"
    COMBINATION = "in combination"
    NOT = "not identifiable"


@dataclass(frozen=True, slots=True)
class ParameterResult:
    """One standard parameter before and after the identification.

    Attributes:
        name: ``link/m``, ``link/mcx`` ... (about the link frame), ``joint/viscous`` ...
        unit: Its unit.
        nominal: Value of the URDF or of the known friction.
        value: Identified value.
        sigma: Standard deviation of the identified value from the residuals of the rows; infinite where the
            data do not determine it (`value` then comes from the nominal value, a bound or a prior).
        identifiability: Its identifiability from the data.
        alone: Value by the data alone, without prior or bound; NaN where they do not determine it.
    """

    name: str
    unit: str
    nominal: float
    value: float
    sigma: float
    identifiability: Identifiability
    alone: float = math.nan

    @property
    def held_back(self) -> bool:
        """Whether a prior or a bound keeps the value far from what the data alone say."""
        apart = abs(self.alone - self.value)
        return apart > 2.0 * self.sigma and apart > HELD_BACK_SHARE * abs(self.alone)


@dataclass(frozen=True, slots=True, eq=False)
class BodyResult:
    """One identified body, a link with all that is fixed to it.

    Attributes:
        link: The link.
        nominal: Nominal inertia about the link frame.
        inertia: Identified inertia about the link frame.
        violations: Violated conditions of physical consistency; empty for a consistent body.
    """

    link: str
    nominal: InertialParameters
    inertia: InertialParameters
    violations: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class PayloadResult:
    """A load on a link, without that link.

    Its standard deviations are infinite where its parameters are determined neither by the data nor by a
    prior. They contain the noise of the rows, its correlation over time and, with a prior, the uncertainty of
    the robot's own parameters, but no error that repeats with the motion.

    Attributes:
        link: The link it is fixed to; all values are in the frame of this link.
        name: Name of the load, of its link in the written URDF.
        inertia: Its mass, centre of mass [m] and inertia about the centre of mass [kg m^2].
        mass_sigma: Standard deviation of the mass [kg].
        com_sigma: Standard deviation of each component of the centre of mass [m], shape (3,).
        inertia_sigma: Standard deviation of each entry of the inertia [kg m^2], shape (3, 3).
        violations: Violated conditions of physical consistency; empty for a consistent body.
    """

    link: str
    name: str
    inertia: InertialParameters
    mass_sigma: float
    com_sigma: Array
    inertia_sigma: Array
    violations: tuple[str, ...]

    @property
    def mass_known(self) -> bool:
        """Whether the mass is more than two standard deviations away from zero; else nothing has a place."""
        return 2.0 * self.mass_sigma < self.inertia.mass


@dataclass(frozen=True, slots=True)
class RowError:
    """Residual of one row (a joint torque or a base row) over one set of data.

    Attributes:
        row: Name of the row.
        rms: Rms of measured minus predicted [Nm or N].
        rms_nominal: Rms of measured minus predicted with the nominal parameters [Nm or N].
        rms_measured: Rms of the measured value, for comparison [Nm or N].
        friction_share: Share of the squared residual that Coulomb and viscous friction of the row's joint
            would explain, in addition to what is identified.
    """

    row: str
    rms: float
    rms_nominal: float
    rms_measured: float
    friction_share: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class MethodResult:
    """Result of one method.

    Attributes:
        method: Its name.
        parameters: All identified parameters; by symmetry the mirrored ones as well.
        bodies: All identified bodies.
        friction: Identified friction by ``joint/term``.
        direct: Residuals per row on the data it was fitted to.
        validation: Residuals per row on other data; empty without any.
        cost: Sum of squares of the weighted residuals, per row, on the fitted data (1 at the noise level).
        cost_nominal: Cost on the fitted data with nominal parameters.
        cost_validation: Cost on the validation data with the weights of the fit; NaN without such data.
        cost_validation_nominal: Cost on the validation data with nominal parameters.
        relative_error: ||measured - predicted|| / ||measured|| over all torque rows, fitted data.
        relative_error_validation: Relative error on the validation data; NaN without such data.
        notes: Remarks on the solution: iterations, active bounds, reason for stopping.
        x: The vector of unknowns, for `ParameterSet`.
        unfinished: Reason why the solution is not the exact optimum of the method; empty if it is.
        payload: The load, where one is identified; the bodies are then those of the robot without it.
        posterior: Distribution of the bodies' parameters about their link frames, a load's after them; None
            for a method without the normal prior, or with inconsistent bodies.
    """

    method: str
    parameters: tuple[ParameterResult, ...]
    bodies: tuple[BodyResult, ...]
    friction: Mapping[str, float]
    direct: tuple[RowError, ...]
    validation: tuple[RowError, ...]
    cost: float
    cost_nominal: float
    cost_validation: float
    cost_validation_nominal: float
    relative_error: float
    relative_error_validation: float
    notes: tuple[str, ...]
    x: Array
    unfinished: str = ""
    payload: PayloadResult | None = None
    posterior: InertiaPosterior | None = None

    @property
    def consistent(self) -> bool:
        """Whether every body, and the load if any, is physically consistent."""
        load = self.payload is not None and self.payload.violations
        return not load and not any(body.violations for body in self.bodies)


@dataclass(frozen=True, slots=True)
class DataSummary:
    """Summary of the data of an identification.

    Attributes:
        samples: Samples of the uniform grid that were used.
        duration_s: Their time span [s].
        rows: Rows that were kept.
        stiction_rows: Rows left out because their joint stood still.
        dropped: Readings left out, by reason (NaN, gap, missing field, ...).
    """

    samples: int
    duration_s: float
    rows: int
    stiction_rows: int
    dropped: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HeldLinks:
    """Links that move and whose inertias are held at the description's values, and what the data say of that.

    Two least-squares fits with the same weights are compared: with these links held, and with all links free.
    Their squared errors e_h and e_f, ranks r_h and r_f and the number n of independent rows give

        F = ((e_h - e_f) / (r_f - r_h)) / (e_f / (n - r_f)),

    which has an F distribution if the description is right about the held links and the noise is white before
    its smoothing. Whatever else the model lacks (friction, say) raises F as well.

    Attributes:
        links: The links.
        gain: Share of the weighted squared error that disappears when they are free; NaN where the data
            cannot tell (a robot at rest, too few rows).
        F: The statistic; NaN like `gain`.
        probability: Of such an F or a larger one; NaN like `gain`.
    """

    links: tuple[str, ...]
    gain: float = math.nan
    F: float = math.nan
    probability: float = math.nan


@dataclass(frozen=True, slots=True, eq=False)
class IdentificationReport:
    """Results of all methods of an identification, with the rank analysis and the data they share.

    Attributes:
        rank: Rank of the weighted, scaled regressor.
        unknowns: Number of unknowns.
        condition: Condition number of its identifiable part (smallest kept singular value).
        singular_values: Of the weighted, scaled regressor, largest first, shape (unknowns,).
        row_names: Names of the rows.
        row_sigma: Noise level of each row, from which its weight is computed, shape (m,).
        training: Summary of the fitted data.
        validation: Summary of the validation data; None without such data.
        methods: Results by method, in the requested order.
        chosen: Name of the method whose result is written.
        warnings: Suspicious properties of the data, one sentence each.
        cost_least_squares: Smallest cost of any parameters on the fitted data, as `MethodResult.cost`; NaN
            for a robot at rest, whose mean rows leave nothing to compare with.
        unloaded: Whether recordings without the load are among the fitted data.
        inflation: Factor by which the scatter of the fit over blocks of time raises all variances over those
            of noise that only the smoothing correlates.
        held: Links that are held at the description's values; None where all links are identified.
    """

    rank: int
    unknowns: int
    condition: float
    singular_values: Array
    row_names: tuple[str, ...]
    row_sigma: Array
    training: DataSummary
    validation: DataSummary | None
    methods: Mapping[str, MethodResult]
    chosen: str
    warnings: tuple[str, ...]
    cost_least_squares: float = math.nan
    unloaded: bool = False
    inflation: float = 1.0
    held: HeldLinks | None = None
