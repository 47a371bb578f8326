"""Report of a search for parameters: one self-contained page with its figures."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from inertial_estimation.files.outputs import write_text
from inertial_estimation.plots.page import render, svg
from inertial_estimation.plots.style import BLACK, COLOURS, GREY, new_figure, tidy
from inertial_estimation.tuning.division import SIGNIFICANT
from inertial_estimation.tuning.outcome import JudgedMetric, interval_in_words, value_in_words
from inertial_estimation.tuning.trials import Objective
from inertial_estimation.tuning.tuning import Judgement, TunedParameter, TuningResult

ROW_HEIGHT = 2.1  # [inch]
HIGHEST = 0.9  # quantile of the scores up to which the axis reaches: bad trials would hide the others


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
    names = ", ".join(Path(bag["path"]).name for bag in provenance["bags"])
    page = render(
        "tuning.html",
        title=f"Tuning on {names}",
        sections=[_section(result) for result in results],
        recordings=_by_recording(judged),
        provenance=provenance,
    )
    return write_text(path, page)


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
            ("Trials", svg(figure_of_trials(result), f"{objective.node}-trials")),
            ("How much each value matters", svg(figure_of_sensitivities(result), f"{objective.node}-range")),
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


def figure_of_trials(result: TuningResult) -> Any:
    """Draw the score of every trial, and the least one until then."""
    figure, (axis,) = new_figure(1, row_height=2.6)
    objective = result.objective
    ran = [trial for trial in result.trials if not trial.failure]
    numbers = np.array([trial.number for trial in ran])
    scores = np.array([objective.displayed(trial.score) for trial in ran])
    complete = np.array([trial.complete for trial in ran])
    axis.plot(numbers[complete], scores[complete], "o", ms=3.5, color=COLOURS[0], label="trial")
    if not complete.all():
        stopped = ~complete
        axis.plot(
            numbers[stopped], scores[stopped], "x", ms=4, color=GREY, label="stopped early\n(mean until then)"
        )
    least = np.minimum.accumulate(np.where(complete, scores, np.inf))
    axis.step(numbers, least, where="post", color=COLOURS[1], lw=1.4, label="least until then")
    shipped = objective.displayed(result.training.shipped)
    axis.axhline(shipped, color=BLACK, lw=1.0, ls=(0, (6, 3)), label="present values")
    _limit_to(axis, float(scores.min()), float(max(np.quantile(scores, HIGHEST), shipped)), 0.06)
    axis.set_xlabel("number of the trial")
    tidy(axis, ylabel=_label(objective), title="Trials, on the parts that were searched on")
    return figure


def figure_of_sensitivities(result: TuningResult) -> Any:
    """Draw the score over the range of each parameter, the others at their tuned values."""
    figure, axes = new_figure(len(result.parameters), row_height=ROW_HEIGHT, shared=False)
    for number, (axis, parameter) in enumerate(zip(axes, result.parameters, strict=True)):
        _draw(axis, parameter, result, named=number == 0)
    return figure


def _draw(axis: Any, parameter: TunedParameter, result: TuningResult, *, named: bool) -> None:
    variation, found, objective = parameter.variation, parameter.sensitivity, result.objective
    scores = np.array([objective.displayed(score) for score in found.scores])
    known = np.isfinite(scores)
    places = np.arange(len(scores)) if variation.choices else np.array(found.values, dtype=float)
    axis.plot(places[known], scores[known], "o-", ms=3, lw=1.2, color=COLOURS[0], label="score")
    noise = np.array([SIGNIFICANT * c.sigma for c in found.comparisons])
    base = np.array(found.scores) - np.array([c.difference for c in found.comparisons])
    band = np.array([objective.displayed(b + n) for b, n in zip(base, noise, strict=True)])
    axis.plot(places[known], band[known], color=GREY, lw=1.0, ls=":", label="worse beyond\nnoise above")
    if variation.choices:
        axis.set_xticks(places, [str(value) for value in found.values])
    else:
        _mark_range(axis, parameter)
    finite = scores[known]
    top = float(np.quantile(finite, HIGHEST)) if len(finite) else 1.0
    low = float(finite.min()) if len(finite) else 0.0
    _limit_to(axis, low, top, 0.08)
    unit = f" [{variation.unit}]" if variation.unit else ""
    tidy(axis, ylabel=objective.unit and f"[{objective.unit}]", title=f"{variation.name}{unit}")
    if not named and axis.get_legend() is not None:
        axis.get_legend().remove()


def _mark_range(axis: Any, parameter: TunedParameter) -> None:
    """Mark the present value, the tuned one and the range that cannot be distinguished from it."""
    variation, found = parameter.variation, parameter.sensitivity
    same = {"color": COLOURS[2], "alpha": 0.15, "lw": 0, "label": "as good as\nthe tuned value"}
    axis.axvspan(found.low, found.high, **same)
    axis.axvline(float(variation.shipped), color=BLACK, lw=1.0, ls=(0, (6, 3)), label="present value")
    axis.axvline(float(parameter.value), color=COLOURS[1], lw=1.4, label="tuned value")
    axis.set_xscale("log" if variation.log else "linear")
    axis.set_xlim(min(found.values), max(found.values))


def _limit_to(axis: Any, low: float, high: float, share: float) -> None:
    """Let the axis reach from one score to another, with a margin that is a share of their distance."""
    margin = share * max(high - low, 1e-9 * abs(high), 1e-12)
    axis.set_ylim(low - margin, high + margin)


def _label(objective: Objective) -> str:
    unit = f" [{objective.unit}]" if objective.unit else ""
    return f"{objective.title.replace(', ', ',' + chr(10))}{unit}"
