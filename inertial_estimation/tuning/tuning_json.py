"""The result of a search as JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from inertial_estimation.tuning.judged_replays import JudgedMetric
from inertial_estimation.tuning.tuning import Judgement, TunedParameter, TuningResult


def as_json(
    results: Sequence[TuningResult], judged: Sequence[JudgedMetric], provenance: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the content of `tuning.json`; numbers may be NaN.

    Args:
        results: Of the estimators.
        judged: Metrics of replays with both sets of values.
        provenance: Where they come from.
    """
    return {
        "estimators": {result.objective.node: _estimator(result) for result in results},
        "replays": [asdict(metric) for metric in judged],
        "provenance": provenance,
    }


def _estimator(result: TuningResult) -> dict[str, Any]:
    return {
        "objective": asdict(result.objective),
        "parameters": {p.variation.name: _parameter(p) for p in result.parameters},
        "training": _judgement(result.training),
        "held_out": _judgement(result.held_out),
        "folds": [
            {"part": fold.part, "values": dict(fold.values), **_judgement(fold.judgement)}
            for fold in result.folds
        ],
        "warnings": result.warnings,
        "block_s": list(result.blocks_s),
        "trials": [
            {"number": trial.number, "values": trial.values, "score": trial.score, "failure": trial.failure}
            for trial in result.trials
        ],
    }


def _parameter(parameter: TunedParameter) -> dict[str, Any]:
    variation, found = parameter.variation, parameter.sensitivity
    return {
        "shipped": variation.shipped,
        "tuned": parameter.value,
        "changed": parameter.changed,
        "unit": variation.unit,
        "range": list(variation.choices) or [variation.low, variation.high],
        "log": variation.log,
        "interval": list(found.equivalent) if variation.choices else [found.low, found.high],
        "importance": parameter.importance,
        "sensitivity": [
            {"value": value, "score": score, "difference": c.difference, "sigma": c.sigma}
            for value, score, c in zip(found.values, found.scores, found.comparisons, strict=True)
        ],
    }


def _judgement(judgement: Judgement) -> dict[str, Any]:
    return {
        "shipped": judgement.shipped,
        "tuned": judgement.tuned,
        "difference": judgement.comparison.difference,
        "sigma": judgement.comparison.sigma,
        "blocks": judgement.comparison.blocks,
        "significant": judgement.comparison.significant,
    }
