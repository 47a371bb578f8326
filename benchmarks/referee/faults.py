"""Faults in the readings: the counts of the fault campaign, all pipelines, also from the first reading on."""

import os
from functools import partial

from benchmarks.referee.row import Better, Row
from benchmarks.referee.task import SkippedError, Task

PART = "faults"
CASES = 2  # of each kind
COLUMNS = {  # of the campaign, and how they are said
    "escapes": "exceptions that escaped",
    "wrongly_ok": "wrong while health says OK",
    "moved": "masses or estimates moved beyond their bound",
    "silent": "silent",
    "not_recovered": "not recovered",
    "late": "with steps longer than a period",
    "time_wrong_s": "time wrong",
}


def tasks(seed: int, _count: int) -> list[Task]:
    """Return the campaign from a settled state and from the first reading on, each with all processes."""
    jobs = os.cpu_count() or 1
    return [
        Task(PART, name, partial(campaign_rows, seed, early, jobs), 240.0, processes=True)
        for name, early in (("campaign", False), ("campaign from the first reading on", True))
    ]


def campaign_rows(seed: int, early: bool, jobs: int) -> list[Row]:
    """Run the campaign and return its counts for each pipeline.

    Counts of rare cases vary by their root from seed to seed, which is their spread; the time that outputs
    are wrong varies by a third.
    """
    try:
        from benchmarks.fault_campaign import run_campaign
    except ImportError as error:
        raise SkippedError(f"this fault campaign has no run_campaign ({error})") from error

    counts = run_campaign(seed, CASES, early=early, jobs=jobs)
    when = "from the first reading on, " if early else ""
    rows = []
    for pipeline, found in counts.items():
        for column, text in COLUMNS.items():
            value = float(found[column])
            spread = value / 3.0 if column == "time_wrong_s" else max(1.0, value**0.5)
            unit = "s" if column == "time_wrong_s" else ""
            note = f"of {found['counted']:g} cases, {CASES} of a kind"
            rows.append(Row(f"{when}{pipeline}: {text}", value, unit, Better.LOWER, spread, note))
    return rows
