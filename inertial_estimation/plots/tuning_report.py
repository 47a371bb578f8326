"""Report of a search for parameters: one self-contained page with its figures."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from inertial_estimation.figures import GREY, Figure, Level, Mark, Panel, Series, Span
from inertial_estimation.plots.page import (
    DOUBT,
    GOOD,
    NO_NUMBER,
    Card,
    Cell,
    Notes,
    Page,
    Section,
    Table,
    number,
    sources,
    write_page,
)
from inertial_estimation.tuning.division import SIGNIFICANT
from inertial_estimation.tuning.outcome import JudgedMetric, interval_in_words, value_in_words
from inertial_estimation.tuning.tuning import Judgement, TunedParameter, TuningResult

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
        ~inertial_estimation.errors.ConfigurationError: If the file cannot be written.
    """
    names = ", ".join(Path(bag["path"]).name for bag in provenance["bags"])
    sections = [section for result in results for section in _sections(result)]
    if judged:
        sections.append(Section("Replays through the pipelines", list(_replays(judged))))
    sections.append(sources(provenance, {}))
    changed = [result for result in results if result.changes]
    lead = " ".join(_lead(result) for result in results)
    cards = [card for result in results for card in _cards(result)]
    page = Page(f"Tuning on {names}", lead, GOOD if changed else DOUBT, cards, sections)
    return write_page(path, page)


def _lead(result: TuningResult) -> str:
    node, count = result.objective.node, sum(parameter.changed for parameter in result.parameters)
    if not count:
        return f"{node}: the present values stay; the held-out data support no other ones."
    before, after = (result.objective.displayed(s) for s in (result.held_out.shipped, result.held_out.tuned))
    unit = f" {result.objective.unit}" if result.objective.unit else ""
    values = f"{count} value{'s' if count > 1 else ''}"
    return f"{node}: {values} changed, on held-out data {number(before)} → {number(after)}{unit}."


def _cards(result: TuningResult) -> Iterator[Card]:
    node, stopped = result.objective.node, sum(not t.complete and not t.failure for t in result.trials)
    yield Card(f"{node}: trials", str(len(result.trials)), f"{stopped} stopped early" if stopped else "")
    changed = sum(parameter.changed for parameter in result.parameters)
    yield Card(f"{node}: changed", f"{changed} of {len(result.parameters)}", "parameters")


def _sections(result: TuningResult) -> Iterator[Section]:
    objective = result.objective
    unit = f" [{objective.unit}]" if objective.unit else ""
    rows = []
    for p in result.parameters:
        tuned = Cell(value_in_words(p.value), "best") if p.changed else Cell("stays", "faded")
        names = (p.variation.name, p.variation.unit, value_in_words(p.variation.shipped))
        rows.append((*names, tuned, interval_in_words(p)))
    yield Section(
        objective.node,
        [
            *([Notes(result.warnings, DOUBT)] if result.warnings else []),
            f"Made small: {objective.title}{unit}.",
            Table(("parameter", "unit", "present", "tuned", ""), rows, (0, 1, 4)),
            "A parameter stays where no other value is better beyond noise, and all stay where the held-out "
            "data do not support the change.",
        ],
    )
    judgements = {"searched on": result.training, "held out": result.held_out}
    compared = [_row(title, judgement, result) for title, judgement in judgements.items()]
    yield Section(
        f"What the values for {objective.node} are worth",
        [
            Table(("data", "present", "tuned", "difference [sigma]", "blocks", ""), compared, (0, 5)),
            f"Compared in blocks of {max(result.blocks_s):.2g} s; negative: the tuned values are better.",
        ],
    )
    panels = [_trials_panel(result, unit), *(_sensitivity_panel(p, result, unit) for p in result.parameters)]
    yield Section(f"Trials of {objective.node}", [Figure("Trials, and how much each value matters", panels)])


def _row(title: str, judgement: Judgement, result: TuningResult) -> Sequence[str]:
    objective, comparison = result.objective, judgement.comparison
    verdict = "within noise"
    if comparison.significant:
        verdict = "better" if comparison.difference < 0.0 else "worse"
    sigmas = number(comparison.difference / comparison.sigma) if comparison.sigma > 0.0 else NO_NUMBER
    scores = (number(objective.displayed(score)) for score in (judgement.shipped, judgement.tuned))
    return (title, *scores, sigmas, str(comparison.blocks), verdict)


def _replays(judged: Sequence[JudgedMetric]) -> Iterator[str | Table]:
    yield "The whole recordings, with the present and with the tuned values of all estimators."
    for name in dict.fromkeys(metric.recording for metric in judged):
        rows = [(m.title, m.unit, number(m.shipped), number(m.tuned)) for m in judged if m.recording == name]
        yield Table((Path(name).name, "unit", "present", "tuned"), rows, (0, 1))


def _trials_panel(result: TuningResult, unit: str) -> Panel:
    """Return the score of every trial, and the least one until then."""
    objective = result.objective
    ran = [trial for trial in result.trials if not trial.failure]
    numbers = np.array([k for k, trial in enumerate(result.trials) if not trial.failure], dtype=float)
    scores = np.array([objective.displayed(trial.score) for trial in ran])
    complete = np.array([trial.complete for trial in ran], dtype=bool)
    least = np.minimum.accumulate(np.where(complete, scores, np.inf))
    series = [Series("trial", numbers[complete], scores[complete], "points", colour=0)]
    if not complete.all():
        stopped = "stopped early (mean until then)"
        series.append(Series(stopped, numbers[~complete], scores[~complete], "crosses", colour=GREY))
    least = np.where(np.isfinite(least), least, np.nan)
    series.append(Series("least until then", numbers, least, "steps", colour=1))
    shipped = objective.displayed(result.training.shipped)
    limits = _limits(float(scores.min()), float(max(np.quantile(scores, HIGHEST), shipped)))
    title = "Trials, on the parts that were searched on"
    levels = [Level(shipped, "present values")]
    return Panel(title, "number of the trial", f"score{unit}", series, levels=levels, y_limits=limits)


def _sensitivity_panel(parameter: TunedParameter, result: TuningResult, unit: str) -> Panel:
    """Return the score over the range of a parameter, the others at their tuned values."""
    variation, found, objective = parameter.variation, parameter.sensitivity, result.objective
    scores = np.array([objective.displayed(score) for score in found.scores])
    known = np.isfinite(scores)
    title = f"{variation.name}, the other parameters at their tuned values"
    if variation.choices:
        rows = np.arange(len(scores))[known]
        names = [str(value) for value in found.values]
        dots = Series("score", scores[known], rows, "points", colour=0)
        return Panel(title, f"score of a choice{unit}", "", [dots], rows=names)
    values = np.array(found.values, dtype=float)
    base = np.array(found.scores) - np.array([c.difference for c in found.comparisons])
    noise = np.array([SIGNIFICANT * c.sigma for c in found.comparisons])
    bound = np.array([objective.displayed(score) for score in base + noise])
    series = [
        Series("score", values[known], scores[known], colour=0),
        Series("worse beyond noise above", values[known], bound[known], "dotted", colour=GREY),
    ]
    finite = scores[known]
    limits = _limits(float(finite.min()), float(np.quantile(finite, HIGHEST))) if len(finite) else None
    label = f"{variation.name} [{variation.unit}]" if variation.unit else variation.name
    marks = [Mark(float(variation.shipped), "present value")]
    marks += [Mark(float(parameter.value), "tuned value")] if parameter.changed else []
    spans = [Span(found.low, found.high, "as good as the tuned value")]
    return Panel(title, label, f"score{unit}", series, spans, (), marks, None, limits, log_x=variation.log)


def _limits(low: float, high: float) -> tuple[float, float]:
    """Return limits from one score to another, with a margin of some per cent of their distance."""
    margin = 0.08 * max(high - low, 1e-9 * abs(high), 1e-12)
    return low - margin, high + margin
