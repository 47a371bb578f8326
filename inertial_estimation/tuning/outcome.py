"""What a search leaves: metrics of replays with its values, a parameter file and JSON."""

import textwrap
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from inertial_estimation.configuration.node_names import TILT_NODE
from inertial_estimation.files.yaml_file import yaml_line
from inertial_estimation.replay.reference import ReplayReference
from inertial_estimation.replay.replay import replay_recording
from inertial_estimation.replay.results import replay_results
from inertial_estimation.tuning.objectives import Objective
from inertial_estimation.tuning.recorded_run import Overrides, RecordedRun
from inertial_estimation.tuning.tuning import Judgement, TunedParameter, TuningResult

WIDTH = 110  # columns
DIGITS = 4  # of a value; the data never determine more
METRICS = (
    ("tilt error, rms", ("tilt_error_deg", "rms"), "deg"),
    ("tilt error, 95 %", ("tilt_error_deg", "p95"), "deg"),
    ("tilt error, rms, without alignment", ("truth", "tilt_error_deg", "rms"), "deg"),
    ("NIS, mean", ("nis", "mean"), ""),
    ("NIS, expected", ("nis", "expected"), ""),
    ("NIS, share in the 95 % interval", ("nis", "inside_95"), ""),
    ("measurements accepted", ("accepted_fraction",), ""),
)


@dataclass(frozen=True)
class JudgedMetric:
    """One figure of the replay of a recording.

    Attributes:
        recording: Name of the recording.
        title: What it is.
        unit: Its unit.
        shipped: With the present values.
        tuned: With the tuned ones.
    """

    recording: str
    title: str
    unit: str
    shipped: float
    tuned: float


def judged_replays(
    runs: Sequence[RecordedRun],
    references: Sequence[ReplayReference],
    changes: Overrides,
    nodes: Collection[str],
) -> list[JudgedMetric]:
    """Replay all recordings with the present and with the tuned values.

    Args:
        runs: The recordings.
        references: What each is compared with.
        changes: The tuned values.
        nodes: Nodes that were tuned; if it is the tilt observer alone, it alone is replayed.

    Returns:
        The figures that both replays have; those of the tilt need a reference.
    """
    found, only = [], [TILT_NODE] if set(nodes) == {TILT_NODE} else []
    for run, reference in zip(runs, references, strict=True):
        if only and not reference.samples:
            continue
        before = _metrics(run, reference, (), only)
        after = _metrics(run, reference, changes, only) if changes else before
        for title, path, unit in METRICS:
            shipped, tuned = _at(before, path), _at(after, path)
            if shipped is not None and tuned is not None:
                found.append(JudgedMetric(run.name, title, unit, shipped, tuned))
    return found


def _metrics(
    run: RecordedRun, reference: ReplayReference, overrides: Overrides, only: Sequence[str]
) -> dict[str, Any]:
    pipelines = run.pipelines(overrides, only=only)
    topics = run.topics(pipelines)
    replayed = replay_recording(run.recording, topics, tilt=pipelines.tilt, inertial=pipelines.inertial)
    return replay_results(replayed, pipelines=pipelines, reference=reference).metrics


def _at(metrics: Any, path: Sequence[str]) -> float | None:
    for name in path:
        if not isinstance(metrics, dict) or name not in metrics:
            return None
        metrics = metrics[name]
    return float(metrics)


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


def as_json(
    results: Sequence[TuningResult], judged: Sequence[JudgedMetric], provenance: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the content of `tuning.json`; numbers may be NaN.

    Args:
        results: Of the estimators.
        judged: Metrics of replays with both sets of values.
        provenance: Where they come from.
    """
    estimators = {
        result.objective.node: {
            **asdict(result),
            "warnings": result.warnings,
            "best": result.best.values,
            "trials": [{**asdict(trial), "scores": trial.scores.tolist()} for trial in result.trials],
        }
        for result in results
    }
    replays = [asdict(metric) for metric in judged]
    return {"estimators": estimators, "replays": replays, "provenance": provenance}
