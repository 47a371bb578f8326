"""A result as a JSON file: numbers, seeds, settings, versions; what is not finite becomes null."""

from collections.abc import Mapping
from typing import Any

from inertial_estimation.experiments.experiment_result import Bound, ExperimentResult, TableRow
from inertial_estimation.experiments.registry import RegisteredExperiment


def result_document(
    experiment: RegisteredExperiment,
    result: ExperimentResult,
    versions: Mapping[str, str],
    *,
    quick: bool = False,
) -> dict[str, Any]:
    """Return what the file holds.

    Args:
        experiment: What was run.
        result: What it gave.
        versions: Versions of the packages by name.
        quick: Whether it was the shortened version.

    Returns:
        Mappings, lists, strings, numbers and None only.
    """
    return {
        "experiment": experiment.name,
        "source": experiment.source,
        "summary": experiment.summary,
        "quick": quick,
        "seeds": list(result.seeds),
        "bounds_met": not result.missed,
        "table": [_row(row) for row in result.rows],
        "per_seed": {name: list(values) for name, values in result.per_seed.items()},
        "settings": dict(result.settings),
        "facts": list(result.facts),
        "caveat": result.caveat,
        "versions": dict(versions),
    }


def _row(row: TableRow) -> dict[str, Any]:
    return {
        "quantity": row.quantity,
        "unit": row.unit,
        "paper": row.paper,
        "ours": row.ours,
        "spread": row.spread,
        "bound": _bound(row.bound, row.bound_met),
        "aim": _bound(row.aim, row.aim_met),
    }


def _bound(bound: Bound | None, met: bool | None) -> dict[str, Any] | None:
    return None if bound is None else {"relation": bound.relation, "value": bound.value, "met": met}
