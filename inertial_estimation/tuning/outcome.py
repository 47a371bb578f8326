"""What a search leaves: a parameter file and JSON."""

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from inertial_estimation.tuning.trials import Objective
from inertial_estimation.tuning.tuning import Judgement, TunedParameter, TuningResult


def tuned_text(results: Sequence[TuningResult], source: str) -> str:
    """Return the content of a parameter file with what has changed.

    Args:
        results: Of one or several estimators.
        source: What it was tuned on, for the comment at the top.

    Returns:
        YAML text to be read after the robot's own file.
    """
    lines = _comment(f"Written by `inertial-estimation tune` from {source}. Load it after the robot's file.")
    for result in results:
        objective = result.objective
        on = f"searched on {judgement_in_words(objective, result.training)}"
        held_out = f"held out {judgement_in_words(objective, result.held_out)}"
        said = [f"{objective.title}: {on}, {held_out}.", *(f"WARNING: {one}" for one in result.warnings)]
        lines += ["", *(line for text in said for line in _comment(text))]
        changed = [parameter for parameter in result.parameters if parameter.changed]
        lines += [f"/**/{objective.node}:", f"  ros__parameters:{'' if changed else ' {}'}"]
        for parameter in changed:
            value = f"    {parameter.variation.name}: {value_in_words(parameter.value)}"
            shipped = value_in_words(parameter.variation.shipped)
            lines.append(f"{value}  # before {shipped}; {interval_in_words(parameter)}")
    return "\n".join(lines) + "\n"


def judgement_in_words(objective: Objective, judgement: Judgement) -> str:
    """Return a judgement as text: shipped and tuned score, and whether they differ beyond noise."""
    shipped, tuned = objective.displayed(judgement.shipped), objective.displayed(judgement.tuned)
    unit = f" {objective.unit}" if objective.unit else ""
    beyond = "beyond noise" if judgement.comparison.significant else "within noise"
    return f"{shipped:.4g} -> {tuned:.4g}{unit} ({beyond})"


def interval_in_words(parameter: TunedParameter) -> str:
    """Return which values of a parameter score as well as the tuned one, as far as chance allows to say."""
    found, variation = parameter.sensitivity, parameter.variation
    below = "or less " if found.low <= variation.low * (1 + 1e-9) else ""
    above = " or more" if found.high >= variation.high * (1 - 1e-9) else ""
    return f"as good: {found.low:.3g} {below}to {found.high:.3g}{above}"


def value_in_words(value: float) -> str:
    """Return a number as YAML, to the four digits that data determine at most."""
    rounded = float(f"{value:.4g}")
    return f"{rounded:.1f}" if rounded.is_integer() and abs(rounded) < 1e6 else f"{rounded!r}"


def _comment(text: str) -> list[str]:
    return textwrap.wrap(text, 110, initial_indent="# ", subsequent_indent="# ", break_long_words=False)


def as_json(results: Sequence[TuningResult], provenance: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of `tuning.json`; numbers may be NaN."""
    estimators = {
        result.objective.node: {
            **asdict(result),
            "warnings": result.warnings,
            "best": result.best.values,
            "trials": [{**asdict(trial), "scores": trial.scores.tolist()} for trial in result.trials],
        }
        for result in results
    }
    return {"estimators": estimators, "provenance": provenance}
