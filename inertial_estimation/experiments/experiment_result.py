"""Result of an experiment: a table with the paper's values, values of each seed, settings, facts, panels."""

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from inertial_estimation.errors import ConfigurationError, listing
from inertial_estimation.experiments.figure_description import Panel
from inertial_estimation.signals import Array

RELATIONS: Mapping[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    "<": operator.lt,
    ">=": operator.ge,
    ">": operator.gt,
    "==": operator.eq,
}


@dataclass(frozen=True, slots=True)
class Bound:
    """What a value must be.

    Attributes:
        relation: One of <=, <, >=, >, ==.
        value: The other side, in the unit of the row.
    """

    relation: str
    value: float

    def __post_init__(self) -> None:
        if self.relation not in RELATIONS:
            raise ConfigurationError(
                f"the relation of a bound is '{self.relation}', expected one of: {listing(RELATIONS)}"
            )

    def met(self, value: float) -> bool:
        """Say whether a value keeps it; NaN keeps none."""
        return not math.isnan(value) and RELATIONS[self.relation](value, self.value)

    def __str__(self) -> str:
        return f"{self.relation} {self.value:g}"


@dataclass(frozen=True, slots=True)
class TableRow:
    """One quantity of an experiment.

    Attributes:
        quantity: What it is, in words.
        unit: Its unit, empty for a pure number.
        ours: What was measured here, the mean over the seeds where there are several.
        spread: Standard deviation over the seeds; None for one that does not depend on them.
        paper: What the paper reports; None where it gives no number.
        bound: Required range of the value; None without a requirement.
        aim: What it should be, stricter than the bound.
    """

    quantity: str
    unit: str
    ours: float
    spread: float | None = None
    paper: float | None = None
    bound: Bound | None = None
    aim: Bound | None = None

    @classmethod
    def over_seeds(
        cls,
        quantity: str,
        unit: str,
        values: Array,
        *,
        paper: float | None = None,
        bound: Bound | None = None,
        aim: Bound | None = None,
    ) -> "TableRow":
        """Build a row from one value for each seed: their mean and standard deviation.

        Args:
            quantity: What it is, in words.
            unit: Its unit.
            values: One for each seed, shape (n,).
            paper: What the paper reports.
            bound: What the mean must be.
            aim: What it should be.
        """
        return cls(quantity, unit, float(values.mean()), float(values.std()), paper, bound, aim)

    @property
    def bound_met(self) -> bool | None:
        """Whether the bound is met; None where there is none."""
        return None if self.bound is None else self.bound.met(self.ours)

    @property
    def aim_met(self) -> bool | None:
        """Whether the aim is met; None where there is none."""
        return None if self.aim is None else self.aim.met(self.ours)


@dataclass(frozen=True, slots=True, eq=False)
class ExperimentResult:
    """What one run of an experiment gives.

    Attributes:
        seeds: Seeds it was run with.
        rows: The table.
        per_seed: Values by quantity, one for each seed (NaN where one has none).
        settings: Settings by name, numbers and text.
        facts: Facts needed to interpret the table, one sentence each, including unfavourable ones.
        caveat: Main reservation about the verdict on the bounds, one line; empty for none.
        panels: What the figure shows, filled row by row.
        columns: Columns of panels in the figure.
    """

    seeds: tuple[int, ...]
    rows: tuple[TableRow, ...]
    per_seed: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    settings: Mapping[str, float | str] = field(default_factory=dict)
    facts: tuple[str, ...] = ()
    caveat: str = ""
    panels: tuple[Panel, ...] = ()
    columns: int = 1

    def __post_init__(self) -> None:
        for quantity, values in self.per_seed.items():
            if len(values) != len(self.seeds):
                raise ConfigurationError(
                    f"'{quantity}' has {len(values)} values, expected one for each of {len(self.seeds)} seeds"
                )

    @property
    def missed(self) -> tuple[TableRow, ...]:
        """Rows whose bound is not met."""
        return tuple(row for row in self.rows if row.bound_met is False)
