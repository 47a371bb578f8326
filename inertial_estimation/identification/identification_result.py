"""What an identification gives: parameters, their certainty, costs, consistency; no files, no figures."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from inertial_estimation.signals import Array
from inertial_estimation.spatial.inertial_parameters import InertialParameters

__all__ = [
    "BodyResult",
    "DataSummary",
    "Identifiability",
    "IdentificationReport",
    "MethodResult",
    "ParameterResult",
    "RowError",
]


class Identifiability(Enum):
    """What the data say of one parameter.

    IDENTIFIABLE: by itself. COMBINATION: only together with others. NOT: nothing; it stays nominal, or
    moves with others where a method has a prior.
    """

    IDENTIFIABLE = "identifiable"
    COMBINATION = "in combination"
    NOT = "not identifiable"


@dataclass(frozen=True, slots=True)
class ParameterResult:
    """One standard parameter, before and after.

    Attributes:
        name: ``link/m``, ``link/mcx`` ... (about the link frame), ``joint/viscous`` ...
        unit: Its unit.
        nominal: Value of the URDF or of the known friction.
        value: Identified value.
        sigma: Standard deviation of the identified value from the noise of the rows; infinite where the
            data alone do not fix it (then `value` came from the nominal, a bound or a prior).
        identifiability: What the data say of it.
    """

    name: str
    unit: str
    nominal: float
    value: float
    sigma: float
    identifiability: Identifiability


@dataclass(frozen=True, slots=True, eq=False)
class BodyResult:
    """One identified body, a link with all that is fixed to it.

    Attributes:
        link: The link.
        nominal: About the link frame.
        inertia: About the link frame.
        violations: What makes it impossible; empty for a consistent body.
    """

    link: str
    nominal: InertialParameters
    inertia: InertialParameters
    violations: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RowError:
    """Residual of one row (a joint torque or a base row) over one set of data.

    Attributes:
        row: Name of the row.
        rms: Of measured minus predicted [Nm or N].
        rms_nominal: The same with the nominal parameters.
        rms_measured: Of the measured value, to judge by.
    """

    row: str
    rms: float
    rms_nominal: float
    rms_measured: float


@dataclass(frozen=True, slots=True, eq=False)
class MethodResult:
    """What one method found.

    Attributes:
        method: Its name.
        parameters: All identified parameters; by symmetry the mirrored ones as well.
        bodies: All identified bodies.
        friction: Identified friction by ``joint/term``.
        direct: Residuals per row on the data it was fitted to.
        validation: Residuals per row on other data; empty without any.
        cost: Sum of squares of the weighted residuals, per row, on the fitted data (1 at the noise level).
        cost_nominal: The same with nominal parameters.
        cost_validation: On other data, same weights; NaN without any.
        cost_validation_nominal: Cost on the other data with nominal parameters.
        relative_error: ||measured - predicted|| / ||measured|| over all torque rows, fitted data.
        relative_error_validation: The same on other data; NaN without any.
        notes: What a reader must know: iterations, bounds reached, why it stopped.
        x: The vector of unknowns, for `ParameterSet`.
        unfinished: Why this is not quite what the method promises; empty where it is.
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

    @property
    def consistent(self) -> bool:
        """Whether every body is one of positive mass."""
        return not any(body.violations for body in self.bodies)


@dataclass(frozen=True, slots=True)
class DataSummary:
    """What went in.

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


@dataclass(frozen=True, slots=True, eq=False)
class IdentificationReport:
    """All that is known after an identification.

    Attributes:
        rank: Rank of the weighted, scaled regressor.
        unknowns: Number of unknowns.
        condition: Condition number of its identifiable part (smallest kept singular value).
        singular_values: Of the weighted, scaled regressor, largest first, shape (unknowns,).
        row_names: Names of the rows.
        row_sigma: Noise level of each row that the weights were made of, shape (m,).
        training: What the methods were fitted to.
        validation: The other data, None without any.
        methods: Results by method, in the order they were asked for.
        chosen: Name of the method whose result is written.
        warnings: What is suspicious about the data, a sentence each.
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
