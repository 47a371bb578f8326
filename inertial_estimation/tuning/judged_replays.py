"""Tuned and shipped values in the pipelines themselves: metrics of replays of all recordings."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from inertial_estimation.replay.replay_metrics import ReplayReference, replay_results
from inertial_estimation.tuning.recorded_run import Overrides, RecordedRun

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
    runs: Sequence[RecordedRun], references: Sequence[ReplayReference], changes: Overrides
) -> list[JudgedMetric]:
    """Replay all recordings with the present and with the tuned values.

    Args:
        runs: The recordings.
        references: What each is compared with.
        changes: The tuned values.

    Returns:
        The figures that both replays have.
    """
    found = []
    for run, reference in zip(runs, references, strict=True):
        before = _metrics(run, reference, ())
        after = _metrics(run, reference, changes) if changes else before
        for title, path, unit in METRICS:
            shipped, tuned = _at(before, path), _at(after, path)
            if shipped is not None and tuned is not None:
                found.append(JudgedMetric(run.name, title, unit, shipped, tuned))
    return found


def _metrics(run: RecordedRun, reference: ReplayReference, overrides: Overrides) -> dict[str, Any]:
    replayed = run.replayed(overrides, keep=False)
    return replay_results(replayed.run, pipelines=replayed.pipelines, reference=reference).metrics


def _at(metrics: Any, path: Sequence[str]) -> float | None:
    for name in path:
        if not isinstance(metrics, dict) or name not in metrics:
            return None
        metrics = metrics[name]
    return float(metrics)
