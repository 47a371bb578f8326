"""The tuned values as a ROS 2 parameter file, with what is known of each value as a comment."""

import textwrap
from collections.abc import Sequence
from typing import Any

from inertial_estimation.files.safe_yaml import yaml_line
from inertial_estimation.tuning.trials import Objective
from inertial_estimation.tuning.tuning import Judgement, TunedParameter, TuningResult

WIDTH = 110  # columns
DIGITS = 4  # of a value; the data never determine more


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
        lines += _section(result)
    return "\n".join(lines) + "\n"


def judgement_in_words(objective: Objective, judgement: Judgement) -> str:
    """Return a judgement as text: shipped and tuned score, and whether they differ beyond noise."""
    shipped, tuned = objective.displayed(judgement.shipped), objective.displayed(judgement.tuned)
    unit = f" {objective.unit}" if objective.unit else ""
    beyond = "beyond noise" if judgement.comparison.significant else "within noise"
    return f"{shipped:.4g} -> {tuned:.4g}{unit} ({beyond})"


def interval_in_words(parameter: TunedParameter) -> str:
    """Return which values of a parameter score as well as the tuned one, as far as chance allows to say."""
    found = parameter.sensitivity
    if parameter.variation.choices:
        others = [value_in_words(v) for v in found.equivalent if v != parameter.value]
        return f"as good: {', '.join(others)}" if others else "all other choices score worse"
    low, high = found.low, found.high
    below = "or less " if low <= parameter.variation.low * (1 + 1e-9) else ""
    above = " or more" if high >= parameter.variation.high * (1 - 1e-9) else ""
    hardly = "hardly determined, " if found.hardly_determined else ""
    return f"{hardly}as good: {low:.3g} {below}to {high:.3g}{above}"


def value_in_words(value: Any) -> str:
    """Return a value as YAML, numbers to `DIGITS` digits."""
    if isinstance(value, float):
        rounded = float(f"{value:.{DIGITS}g}")
        return f"{rounded:.1f}" if rounded.is_integer() and abs(rounded) < 1e6 else f"{rounded!r}"
    return yaml_line(value)


def _section(result: TuningResult) -> list[str]:
    objective = result.objective
    said = [
        f"{objective.title}: searched on {judgement_in_words(objective, result.training)}, held out "
        f"{judgement_in_words(objective, result.held_out)}.",
        *(f"WARNING: {warning}" for warning in result.warnings),
    ]
    lines = ["", *(line for text in said for line in _comment(text))]
    changed = [parameter for parameter in result.parameters if parameter.changed]
    lines += [f"/**/{objective.node}:", f"  ros__parameters:{'' if changed else ' {}'}"]
    if changed:
        lines += [f"    {name}: {value_in_words(value)}" for name, value in result.selected.items()]
    for parameter in changed:
        value = f"    {parameter.variation.name}: {value_in_words(parameter.value)}"
        shipped = value_in_words(parameter.variation.shipped)
        lines.append(f"{value}  # before {shipped}; {interval_in_words(parameter)}")
    return lines


def _comment(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent="# ", subsequent_indent="# ", break_long_words=False)
