"""Files that the command tune writes, and what it prints."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from inertial_estimation.files.outputs import write_text
from inertial_estimation.replay.result_files import write_metrics
from inertial_estimation.tuning.judged_replays import JudgedMetric
from inertial_estimation.tuning.tuned_file import (
    interval_in_words,
    judgement_in_words,
    tuned_text,
    value_in_words,
)
from inertial_estimation.tuning.tuning import TuningResult
from inertial_estimation.tuning.tuning_json import as_json

TUNED_FILE, JSON_FILE, REPORT_FILE = "tuned.yaml", "tuning.json", "report.html"
OWN_FILES = (TUNED_FILE, JSON_FILE, REPORT_FILE)


def write_tuning(
    folder: Path,
    results: Sequence[TuningResult],
    judged: Sequence[JudgedMetric],
    provenance: Mapping[str, Any],
    *,
    figures: bool,
) -> None:
    """Write parameter file, JSON and report.

    Args:
        folder: Existing folder.
        results: Of the estimators.
        judged: Metrics of replays with the present and the tuned values.
        provenance: Where the results come from.
        figures: Whether the report is written.
    """
    bags = ", ".join(Path(bag["path"]).name for bag in provenance["bags"])
    write_text(folder / TUNED_FILE, tuned_text(results, bags))
    write_metrics(folder / JSON_FILE, as_json(results, judged, provenance))
    if not figures:
        return
    try:
        from inertial_estimation.plots.tuning_report import write_tuning_report
    except ImportError as error:
        print(f"no report: {error} (pip install matplotlib jinja2)", file=sys.stderr)
        return
    write_tuning_report(folder / REPORT_FILE, results, judged, provenance)


def print_tuning(folder: Path, results: Sequence[TuningResult], judged: Sequence[JudgedMetric]) -> None:
    """Print what was found and what speaks against it.

    Args:
        folder: Where the files are.
        results: Of the estimators.
        judged: Metrics of replays with the present and the tuned values.
    """
    for result in results:
        objective = result.objective
        print(f"{objective.node}: {len(result.trials)} trials, {objective.title}")
        print(f"  {'searched on':<22}{judgement_in_words(objective, result.training)}")
        for fold in result.folds:
            words = judgement_in_words(objective, fold.judgement)
            print(f"  {f'  part {fold.part + 1} left out':<22}{words}")
        print(f"  {'held out':<22}{judgement_in_words(objective, result.held_out)}")
        for parameter in result.parameters:
            shipped, value = (value_in_words(v) for v in (parameter.variation.shipped, parameter.value))
            change = f"{shipped} -> {value}" if parameter.changed else f"{shipped} stays"
            unit = f" {parameter.variation.unit}" if parameter.variation.unit else ""
            print(f"  {parameter.variation.name:<22}{change}{unit}; {interval_in_words(parameter)}")
        for warning in result.warnings:
            print(f"warning: {warning}", file=sys.stderr)
    for metric in judged:
        unit = f" {metric.unit}" if metric.unit else ""
        print(f"{metric.title:<36}{metric.shipped:.4g} -> {metric.tuned:.4g}{unit}")
    print(f"results               {folder}")
