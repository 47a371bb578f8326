"""Report of a search for parameters: one self-contained page."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from inertial_estimation.files.outputs import write_text
from inertial_estimation.plots.identification_figures import inline_svg
from inertial_estimation.plots.page import page_environment
from inertial_estimation.plots.tuning_figures import figure_of_sensitivities, figure_of_trials
from inertial_estimation.tuning.judged_replays import JudgedMetric
from inertial_estimation.tuning.tuned_file import interval_in_words, value_in_words
from inertial_estimation.tuning.tuning import Judgement, TuningResult


def write_tuning_report(
    path: Path,
    results: Sequence[TuningResult],
    judged: Sequence[JudgedMetric],
    provenance: Mapping[str, Any],
) -> Path:
    """Write the page.

    Args:
        path: File to write.
        results: Of the estimators.
        judged: Metrics of replays with the present and the tuned values.
        provenance: Where they come from.

    Raises:
        ConfigurationError: If the file cannot be written.
    """
    return write_text(path, tuning_page(results, judged, provenance))


def tuning_page(
    results: Sequence[TuningResult], judged: Sequence[JudgedMetric], provenance: Mapping[str, Any]
) -> str:
    """Return the page as HTML; see `write_tuning_report`."""
    names = ", ".join(Path(bag["path"]).name for bag in provenance["bags"])
    page: str = (
        page_environment()
        .get_template("tuning.html")
        .render(
            title=f"Tuning on {names}",
            sections=[_section(result) for result in results],
            recordings=_by_recording(judged),
            provenance=provenance,
        )
    )
    return page


def _section(result: TuningResult) -> dict[str, Any]:
    objective = result.objective
    rows = [("searched on", result.training)]
    rows += [(f"part {fold.part + 1} left out of these", fold.judgement) for fold in result.folds]
    rows += [("held out", result.held_out)]
    return {
        "node": objective.node,
        "objective": objective,
        "warnings": result.warnings,
        "trials": len(result.trials),
        "stopped": sum(not trial.complete and not trial.failure for trial in result.trials),
        "judgements": [_row(title, judgement, result) for title, judgement in rows],
        "block_s": max(result.blocks_s),
        "parameters": [
            {
                "name": p.variation.name,
                "unit": p.variation.unit,
                "shipped": value_in_words(p.variation.shipped),
                "tuned": value_in_words(p.value),
                "changed": p.changed,
                "interval": interval_in_words(p),
                "importance": p.importance,
            }
            for p in result.parameters
        ],
        "figures": [
            ("Trials", _svg(figure_of_trials(result), f"{objective.node}-trials")),
            ("How much each value matters", _svg(figure_of_sensitivities(result), f"{objective.node}-range")),
        ],
    }


def _row(title: str, judgement: Judgement, result: TuningResult) -> dict[str, Any]:
    objective, comparison = result.objective, judgement.comparison
    verdict = "within noise"
    if comparison.significant:
        verdict = "better" if comparison.difference < 0.0 else "worse"
    return {
        "title": title,
        "shipped": objective.displayed(judgement.shipped),
        "tuned": objective.displayed(judgement.tuned),
        "sigmas": comparison.difference / comparison.sigma if comparison.sigma > 0.0 else float("nan"),
        "blocks": comparison.blocks,
        "verdict": verdict,
    }


def _by_recording(judged: Sequence[JudgedMetric]) -> dict[str, list[JudgedMetric]]:
    found: dict[str, list[JudgedMetric]] = {}
    for metric in judged:
        found.setdefault(Path(metric.recording).name, []).append(metric)
    return found


def _svg(figure: Any, name: str) -> Markup:
    return Markup(inline_svg(figure, name))  # drawn by matplotlib, which escapes its text
