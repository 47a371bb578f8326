"""Report of a search for parameters: one self-contained page with its figures."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from inertial_estimation.errors import counted
from inertial_estimation.figures import GREY, Figure, Mark, Panel, Series, Span
from inertial_estimation.plots.page import (
    CAUTION,
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
)
from inertial_estimation.tuning.division import SIGNIFICANT, Judgement
from inertial_estimation.tuning.tuning import (
    TunedParameter,
    TuningResult,
    interval_in_words,
    value_in_words,
)


def tuning_page(results: Sequence[TuningResult], provenance: Mapping[str, Any]) -> Page:
    """Return the page.

    Args:
        results: Results of the estimators.
        provenance: Sources of the results.
    """
    names = ", ".join(Path(bag["path"]).name for bag in provenance["bags"])
    sections = [section for result in results for section in _sections(result)]
    tone = GOOD if any(result.changes for result in results) else CAUTION
    cards = [
        Card(f"{result.objective.node}: changed", str(len(result.changes)), f"in {len(result.trials)} trials")
        for result in results
    ]
    lead = " ".join(map(_lead, results))
    return Page(f"Tuning on {names}", lead, tone, cards, [*sections, sources(provenance, {})])


def _lead(result: TuningResult) -> str:
    node, count = result.objective.node, len(result.changes)
    if not count:
        return f"{node}: the present values stay; the held-out data support no other ones."
    before, after = (result.objective.displayed(s) for s in (result.held_out.before, result.held_out.mean))
    unit = f" {result.objective.unit}" if result.objective.unit else ""
    values = counted(count, "value")
    return f"{node}: {values} changed, on held-out data {number(before)} → {number(after)}{unit}."


def _sections(result: TuningResult) -> Iterator[Section]:
    objective = result.objective
    unit = f" [{objective.unit}]" if objective.unit else ""
    rows = []
    for p in result.parameters:
        tuned = Cell(value_in_words(p.value), "best") if p.changed else Cell("stays", "faded")
        names = (p.variation.name, p.variation.unit, value_in_words(p.variation.shipped))
        rows.append((*names, tuned, interval_in_words(p)))
    judged = [_row("searched on", result.training, result), _row("held out", result.held_out, result)]
    yield Section(
        objective.node,
        [
            *([Notes(result.warnings, CAUTION)] if result.warnings else []),
            Table(("parameter", "unit", "present", "tuned", ""), rows, (0, 1, 4)),
            "A parameter stays where no other value is better beyond noise, and all stay where the held-out "
            "data do not support the change.",
            Table(("data", "present", "tuned", "difference [sigma]", "blocks", ""), judged, (0, 5)),
            f"Minimised: {objective.title}{unit}, compared block by block; negative: the tuned values are "
            "better.",
        ],
        printed=True,
    )
    panels = [_sensitivity_panel(p, result, unit) for p in result.parameters]
    title = f"How much each value of {objective.node} matters"
    yield Section(title, [Figure(title, panels)])


def _row(title: str, judgement: Judgement, result: TuningResult) -> Sequence[str]:
    verdict = "within noise"
    if judgement.significant:
        verdict = "better" if judgement.difference < 0.0 else "worse"
    sigmas = number(judgement.difference / judgement.sigma) if judgement.sigma > 0.0 else NO_NUMBER
    scores = (number(result.objective.displayed(score)) for score in (judgement.before, judgement.mean))
    return (title, *scores, sigmas, str(judgement.blocks), verdict)


def _sensitivity_panel(parameter: TunedParameter, result: TuningResult, unit: str) -> Panel:
    """Return the score over the range of a parameter, the others at their tuned values."""
    variation, found, objective = parameter.variation, parameter.sensitivity, result.objective
    scores = np.array([objective.displayed(score) for score in found.scores])
    values = np.array(found.values)
    base = np.array(found.scores) - np.array([c.difference for c in found.comparisons])
    noise = np.array([SIGNIFICANT * c.sigma for c in found.comparisons])
    bound = np.array([objective.displayed(score) for score in base + noise])
    bound = np.where(np.isfinite(bound), bound, np.nan)
    series = [
        Series("score", values, scores, colour=0),
        Series("worse beyond noise above", values, bound, "dotted", colour=GREY),
    ]
    label = f"{variation.name} [{variation.unit}]" if variation.unit else variation.name
    marks = [Mark(variation.shipped, "present value")]
    marks += [Mark(parameter.value, "tuned value")] if parameter.changed else []
    spans = [Span(found.low, found.high, "as good as the tuned value")]
    title = f"{variation.name}, the other parameters at their tuned values"
    low, high = np.nanquantile(scores, (0.0, 0.9)).tolist()  # the worst scores would hide the others
    margin = 0.1 * (high - low)
    limits = (low - margin, high + margin) if margin > 0.0 else None
    return Panel(title, label, f"score{unit}", series, spans, (), marks, None, limits, log_x=variation.log)
