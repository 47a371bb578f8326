"""The table of a campaign, and kinds by pipelines."""

from collections.abc import Sequence

import numpy as np

from benchmarks.fault_campaign.campaign import totals
from benchmarks.fault_campaign.fault import KINDS
from benchmarks.fault_campaign.judge import COLUMNS, Verdict


def _rows(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join("| " + " | ".join(row) + " |" for row in (header, ["---"] * len(header), *rows))


def kinds_by_pipelines(verdicts: Sequence[Verdict]) -> str:
    """Return kinds by pipelines: cases, what fails in them, mean time wrong, and recovery p50 / max."""
    pipelines = sorted({v.pipeline for v in verdicts})
    rows = []
    for kind in [kind for kind in KINDS if any(v.kind == kind for v in verdicts)]:
        found = [[v for v in verdicts if (v.kind, v.pipeline) == (kind, name)] for name in pipelines]
        rows.append([kind, *map(_cell, found)])
    return _rows(["kind", *pipelines], rows)


def _cell(verdicts: Sequence[Verdict]) -> str:
    if not verdicts:
        return ""
    row = totals(verdicts)
    bad = ", ".join(f"**{row[name]:.0f} {name}**" for name in COLUMNS if row[name]) or "0"
    times = [v.recovery_s for v in verdicts if v.recovery_s is not None] or [np.nan]
    wrong_s = np.mean([v.time_wrong_s for v in verdicts])
    text = f"{len(verdicts)}{' hidden' * verdicts[0].hidden}: {bad}; {wrong_s:.2f} s"
    return f"{text}; {np.median(times):.2f} / {np.max(times):.2f} s"


def table(verdicts: Sequence[Verdict]) -> str:
    """Return the totals by pipeline, with what the columns mean."""
    rows = []
    for name in sorted({v.pipeline for v in verdicts}):
        found = [v for v in verdicts if v.pipeline == name]
        row = totals(found)
        figures = [f"{row[column]:.0f}" for column in ("counted", *COLUMNS)]
        rows.append([name, str(len(found)), *figures, f"{row['time_wrong_s']:.3f}"])
    legend = [f"- {name}: {text}" for name, text in COLUMNS.items()]
    legend.append("- time_wrong_s: mean of the total time in which what is published is wrong [s]")
    return "\n".join([_rows(["pipeline", "cases", "counted", *COLUMNS, "time_wrong_s"], rows), "", *legend])


def kinds_table() -> str:
    """Return the kinds, with the pipelines that they apply to and why data cannot reveal them."""
    rows = []
    for kind in KINDS.values():
        hidden = f" Not revealed by the data{' of ' * bool(kind.hidden_in)}{', '.join(kind.hidden_in)}: "
        rows.append([f"`{kind.name}`", kind.text + (hidden + kind.hidden + ".") * bool(kind.hidden)])
    return _rows(["kind", "what happens"], rows)
