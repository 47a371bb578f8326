"""Trials of an experiment, and its result: a table with the paper's values and bounds, facts, panels.

The result is written as a JSON document, in which numbers that are not finite are null.
"""

import math
import operator
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.figures import Panel, thinned
from inertial_estimation.parallel import Call, Workers

Progress = Callable[[str, float], None]
"""Called with a text on the work in progress and the completed share of the experiment, 0 to 1."""

ResultT = TypeVar("ResultT")
CaseT = TypeVar("CaseT", bound=Hashable)


def silent(_what: str, _share: float) -> None:
    """Show no progress."""


def over_time(title: str, y_label: str, *curves: tuple[Any, ...], **more: Any) -> Panel:
    """Return a panel of curves over the time, each as the arguments of `thinned`.

    Args:
        title: Title of the panel.
        y_label: Label of the ordinate, with the unit.
        curves: Label, times, values, style and colour; the last two may be missing.
        more: Further fields of the panel.
    """
    return Panel(title, more.pop("x_label", "time [s]"), y_label, [thinned(*c) for c in curves], **more)


class Trials:
    """Runs the trials of an experiment, in several processes if the workers have them.

    Attributes:
        seeds: Seeds of the random numbers.
        quick: Whether this is a shortened run, which exercises all code but has no significant results.
        progress: Called with a text on the work in progress and the completed share of the experiment.
    """

    def __init__(
        self,
        seeds: Sequence[int],
        *,
        quick: bool = False,
        workers: Workers | None = None,
        progress: Progress = silent,
    ) -> None:
        """Set the seeds, of which a quick run uses only the first, and the workers (None: this process).

        Raises:
            ConfigurationError: If there is no seed.
        """
        if not seeds:
            raise ConfigurationError("an experiment got no seeds, expected at least one")
        self.seeds = tuple(seeds[:1] if quick else seeds)
        self.quick = quick
        self.progress = progress
        self._workers = workers or Workers()

    def results(self, calls: Sequence[Call[ResultT]]) -> list[ResultT]:
        """Run independent trials, which share no mutable state; return their results in order."""

        def done(count: int) -> None:
            self.progress(f"{count} of {len(calls)} runs", count / len(calls))

        done(0)
        return self._workers.results(calls, done)

    def by_seed(self, function: Callable[[int], ResultT]) -> list[ResultT]:
        """Return the results of a function for every seed."""
        return self.results([partial(function, seed) for seed in self.seeds])

    def by_case(
        self, cases: Mapping[CaseT, Callable[[int], ResultT]], first_seed_only: Collection[CaseT] = ()
    ) -> dict[CaseT, list[ResultT]]:
        """Call the function of every case with every seed, or of some cases with the first seed only.

        Returns:
            Results of each case, in the order of the seeds.
        """
        calls = [
            (case, partial(function, seed))
            for case, function in cases.items()
            for seed in (self.seeds[:1] if case in first_seed_only else self.seeds)
        ]
        found: dict[CaseT, list[ResultT]] = {case: [] for case in cases}
        results = self.results([call for _case, call in calls])
        for (case, _call), result in zip(calls, results, strict=True):
            found[case].append(result)
        return found


RELATIONS: Mapping[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    "<": operator.lt,
    ">=": operator.ge,
    ">": operator.gt,
    "==": operator.eq,
}
SUMMARIES: Mapping[str, Callable[[Any], Any]] = {
    "mean": np.mean,
    "median": np.median,
    "min": np.min,
    "max": np.max,
    "sum": np.sum,
}


def keeps(value: float, bound: str) -> bool | None:
    """Return whether a value meets a bound such as "<= 5"; NaN meets none; None where there is no bound."""
    relation, _, limit = bound.partition(" ")
    return RELATIONS[relation](value, float(limit)) if bound else None


@dataclass(frozen=True, slots=True)
class TableRow:
    """One quantity of an experiment."""

    quantity: str  # the quantity in words
    unit: str  # its unit, empty for a pure number
    ours: float  # the value measured here
    spread: float | None = None  # standard deviation of the values if `ours` is their mean or median
    paper: float | None = None  # the value reported by the paper
    bound: str = ""  # required range of the value in its unit, such as "<= 5"; empty where there is none
    aim: str = ""  # desired range of the value, stricter than the bound
    values: tuple[float, ...] = ()  # the values that `ours` summarises, usually one for each seed

    @property
    def bound_met(self) -> bool | None:
        """Whether the bound is met; None where there is none."""
        return keeps(self.ours, self.bound)

    @property
    def aim_met(self) -> bool | None:
        """Whether the aim is met; None where there is none."""
        return keeps(self.ours, self.aim)


def row(
    quantity: str,
    unit: str,
    values: ArrayLike,
    summary: str = "mean",
    *,
    paper: float | None = None,
    bound: str = "",
) -> TableRow:
    """Build a row from a number, or from one value for each seed (or trial).

    Args:
        quantity: The quantity in words.
        unit: Unit of the values; empty for a pure number.
        values: A number, or values of shape (n,); the summary of no values is NaN.
        summary: One of `SUMMARIES`, by which the values become the number that is compared with the bound.
        paper: Value reported by the paper; None where it gives no number.
        bound: Required and desired range, "<= 5, aim <= 2", or one of the two.
    """
    array = np.asarray(values, dtype=np.float64)
    ours = float(SUMMARIES[summary](array)) if array.size else math.nan
    spread = float(array.std()) if array.ndim and array.size and summary in ("mean", "median") else None
    each = tuple(array.tolist()) if array.ndim else ()
    must, _, aim = bound.partition("aim ")
    return TableRow(quantity, unit, ours, spread, paper, must.rstrip(", "), aim, each)


WORDS = {"mean": "", "median": ", median", "min": ", least", "max": ", largest", "sum": ", sum"}


def metric_rows(
    name: str,
    trials: Sequence[Mapping[tuple[str, str], float]],
    rules: Mapping[str, Sequence[Mapping[str, Any]]],
) -> list[TableRow]:
    """Return rows of the metrics of trials, of their mean over the trials where no rule says otherwise.

    Args:
        name: Prefix of the quantities.
        trials: Values of each trial by quantity and unit.
        rules: Arguments of `row` for each row of a quantity, by quantity.
    """
    return [
        row(
            f"{name}: {quantity}{WORDS[rule.get('summary', 'mean')]}",
            unit,
            [one[quantity, unit] for one in trials],
            **rule,
        )
        for quantity, unit in trials[0]
        for rule in rules.get(quantity, ({},))
    ]


@dataclass(frozen=True, slots=True, eq=False)
class ExperimentResult:
    """Result of one run of an experiment."""

    seeds: tuple[int, ...]
    rows: Sequence[TableRow]
    facts: Sequence[str] = ()  # needed to interpret the table, one sentence each, also unfavourable ones
    caveat: str = ""  # main reservation about the verdict on the bounds, in one line
    panels: Sequence[Panel] = ()  # panels of the figure

    @property
    def missed(self) -> tuple[TableRow, ...]:
        """Rows whose bound is not met."""
        return tuple(row for row in self.rows if row.bound_met is False)

    @property
    def verdict(self) -> str:
        """Number of bounds met, names of the missed ones, and the caveat, in one line."""
        count = sum(bool(row.bound) for row in self.rows)
        verdict = f"all {count} bounds met" if count else "no bounds"
        if self.missed:
            names = "; ".join(row.quantity for row in self.missed)
            verdict = f"*** {len(self.missed)} of {count} bounds NOT MET: {names} ***"
        return f"{verdict}; BUT {self.caveat}" if self.caveat else verdict


def result_document(
    name: str, source: str, result: ExperimentResult, versions: Mapping[str, str], *, quick: bool = False
) -> dict[str, Any]:
    """Return the content of the JSON file: mappings, lists, strings, numbers and None only.

    `name` is the name of the experiment, `versions` holds the versions of packages by name.
    """
    return {
        "experiment": name,
        "source": source,
        "quick": quick,
        "seeds": list(result.seeds),
        "bounds_met": not result.missed,
        "table": [{**asdict(row), "bound_met": row.bound_met, "aim_met": row.aim_met} for row in result.rows],
        "facts": list(result.facts),
        "caveat": result.caveat,
        "versions": dict(versions),
    }
