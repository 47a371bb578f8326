"""The table of a campaign, kinds by pipelines, and one case as a timeline."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.fault_campaign.campaign import Case
from benchmarks.fault_campaign.fault import Fault
from benchmarks.fault_campaign.feed import Record
from benchmarks.fault_campaign.judge import GRACE_S, MOVED, SILENT_OK_S, Errors, Verdict, errors_of
from benchmarks.fault_campaign.kinds import KINDS
from inertial_estimation.signals import NANOSECONDS

COLUMNS = {
    "cases": "cases",
    "escapes": "esc.",
    "over": "limit",
    "late": "late",
    "non_finite": "n.fin.",
    "inconsistent": "incons.",
    "wrong_ok": "OK!",
    "silent_ok": "OK?",
    "not_named": "unnamed",
    "moved": "moved",
    "silent": "silent",
    "not_recovered": "not rec.",
    "unbounded": "unbounded",
    "p50": "p50 [s]",
    "p90": "p90 [s]",
    "max": "max [s]",
    "longest": "step",
    "diagnostics": "diag.",
    "memory": "mem.",
}
DIAGNOSTICS_LIMIT, MEMORY_LIMIT_KB = 20_000, 50_000
LEGEND = f"""\
- esc.: an exception left push, tick or health; limit: ended by a limit of time or memory
- late: five steps longer than a period and 5 ms, or one longer than a period and 20 ms (processor time, to
  which a shared virtual machine adds its own interruptions), also when the case is repeated
- n.fin., incons.: results that are not finite, or physically inconsistent
- OK!: wrong by more than 2 deg or 10 % of a mass while health is OK for more than {GRACE_S} s
- OK?: no output for more than {SILENT_OK_S} s while health is OK
- unnamed: the estimate is wrong and health is not OK, but never names the input
- moved: published masses moved by more than {100 * MOVED:.0f} % in a fault of up to 0.5 s
- silent: output later than 1 s after the fault
- not rec.: not within 1 deg, 5 % of the masses, or not in control, at the end of the data (3.5 s later)
- unbounded: diagnostics of more than {DIAGNOSTICS_LIMIT} characters, or {MEMORY_LIMIT_KB} kB more memory
- p50, p90, max: recovery after the end of the fault, of the cases that recover
- step: fifth longest step as a share of the period; diag.: largest diagnostics [characters]; mem.: largest
  growth of memory [kB]"""

COUNTED = (
    *("escapes", "over", "late", "non_finite", "inconsistent"),
    *("wrong_ok", "silent_ok", "moved", "silent", "unbounded"),
)
EXCUSED = {"wrong_ok", "not_named", "moved", "not_recovered"}  # where the data cannot reveal the fault


def failures(v: Verdict) -> list[str]:
    """Return the columns in which a case fails; those that need the fault to be recognised if it can be."""
    failed = _failed_columns(v)
    return [c for c in failed if c not in EXCUSED] if KINDS[v.kind].why_undetectable(v.pipeline) else failed


def _failed_columns(v: Verdict) -> list[str]:
    found = {
        "escapes": bool(v.escape) and not v.over_time,
        "over": v.over_time,
        "late": v.late,
        "non_finite": v.non_finite > 0,
        "inconsistent": bool(v.inconsistent),
        "wrong_ok": v.wrong_ok_s > GRACE_S,
        "silent_ok": v.silent_ok_s > SILENT_OK_S,
        "not_named": v.named is False,
        "moved": v.moved > MOVED,
        "silent": v.silent,
        "unbounded": v.diagnostics > DIAGNOSTICS_LIMIT or v.memory_kb > MEMORY_LIMIT_KB,
        "not_recovered": v.recovery_s is None and not v.escape,
    }
    return [name for name, failed in found.items() if failed]


def _row(verdicts: Sequence[Verdict]) -> dict[str, float]:
    """Return the figures of one cell of the table, excused ones included."""
    failed = [_failed_columns(v) for v in verdicts]
    row: dict[str, float] = {name: sum(name in f for f in failed) for name in COLUMNS}
    times = [v.recovery_s for v in verdicts if v.recovery_s is not None]
    row["cases"] = len(verdicts)
    row["p50"], row["p90"], row["max"] = np.percentile(times, (50, 90, 100)) if times else (np.nan,) * 3
    row["longest"] = max(v.fifth_longest_s / v.period_s for v in verdicts)
    row["diagnostics"] = max(v.diagnostics for v in verdicts)
    row["memory"] = max(v.memory_kb for v in verdicts)
    return row


def _cells(verdicts: Sequence[Verdict]) -> dict[tuple[str, str], list[Verdict]]:
    cells: dict[tuple[str, str], list[Verdict]] = {}
    for verdict in verdicts:
        cells.setdefault((verdict.kind, verdict.pipeline), []).append(verdict)
    order = list(KINDS)
    return dict(sorted(cells.items(), key=lambda item: (order.index(item[0][0]), item[0][1])))


def table(verdicts: Sequence[Verdict]) -> str:
    """Return the table, kinds that the data cannot reveal in a part of their own."""
    cells = _cells(verdicts)
    hidden = {key: found for key, found in cells.items() if KINDS[key[0]].why_undetectable(key[1])}
    lines = [*_lines({key: found for key, found in cells.items() if key not in hidden}), "", LEGEND]
    if hidden:
        excused = ", ".join(COLUMNS[column] for column in COLUMNS if column in EXCUSED)
        lines += ["", f"Not detectable in principle ({excused} are listed, not counted):", ""]
        lines += [*_lines(hidden), ""]
        lines += [
            f"{kind}, {pipeline}: {KINDS[kind].why_undetectable(pipeline)}" for kind, pipeline in hidden
        ]
    return "\n".join(lines)


def summary(verdicts: Sequence[Verdict]) -> str:
    """Return kinds by pipelines: cases, what fails in them by column, and recovery p50 / max."""
    cells, pipelines = _cells(verdicts), sorted({v.pipeline for v in verdicts})
    lines = ["| kind | " + " | ".join(pipelines) + " |", "|---|" + "---|" * len(pipelines)]
    for kind in dict.fromkeys(kind for kind, _ in cells):
        texts = [_cell(cells.get((kind, pipeline), [])) for pipeline in pipelines]
        lines.append(f"| {kind} | " + " | ".join(texts) + " |")
    everything = [[v for v in verdicts if v.pipeline == pipeline] for pipeline in pipelines]
    return "\n".join([*lines, "| all | " + " | ".join(_cell(found) for found in everything) + " |"])


def _cell(verdicts: Sequence[Verdict]) -> str:
    if not verdicts:
        return ""
    failed = [failures(v) for v in verdicts]
    counts = {c: sum(c in names for names in failed) for c in COLUMNS}
    bad = ", ".join(f"**{count} {COLUMNS[c]}**" for c, count in counts.items() if count)
    row = _row(verdicts)
    return f"{len(verdicts)}: {bad or '0'}; {_figure('p50', row['p50'])} / {_figure('max', row['max'])} s"


def _lines(cells: dict[tuple[str, str], list[Verdict]]) -> list[str]:
    lines = [f"| {'kind':20} | {'pipeline':10} | " + " | ".join(COLUMNS.values()) + " |"]
    lines.append("|" + "---|" * (2 + len(COLUMNS)))
    everything = [v for found in cells.values() for v in found]
    rows = {key: _row(found) for key, found in cells.items()}
    if everything:
        rows["all", "all"] = _row(everything)
    for (kind, pipeline), row in rows.items():
        figures = " | ".join(_figure(name, value).rjust(len(COLUMNS[name])) for name, value in row.items())
        lines.append(f"| {kind:20} | {pipeline:10} | {figures} |")
    return lines


def _figure(name: str, value: float) -> str:
    if np.isnan(value):
        return "-"
    return f"{value:.2f}" if name in ("p50", "p90", "max", "longest") else f"{value:.0f}"


def worst_cells(verdicts: Sequence[Verdict]) -> str:
    """Return the cells that fail, the worst first, each with a case by which it is repeated."""
    found = []
    for (kind, pipeline), cell in _cells(verdicts).items():
        failed = {v.case: failures(v) for v in cell}
        counts = {column: sum(column in names for names in failed.values()) for column in COLUMNS}
        if not any(counts.values()):
            continue
        worst = max(cell, key=lambda v: (bool(v.escape), len(failed[v.case]), v.wrong_ok_s, v.worst))
        share = sum(counts[column] for column in COUNTED if column != "late") / len(cell)
        text = ", ".join(f"{COLUMNS[column]} {count}" for column, count in counts.items() if count)
        line = f"- {pipeline}, {kind}: of {len(cell)} {text}. `--case {worst.case}` ({worst.scene}; "
        found.append((share, f"{line}{worst.fault}): {_what(worst)}"))
    return "\n".join(line for _, line in sorted(found, key=lambda item: -item[0]))


def _what(v: Verdict) -> str:
    """Describe what is wrong with a case."""
    recovery = "never" if v.recovery_s is None else f"{v.recovery_s:.2f} s"
    return v.escape or (
        f"{v.inconsistent} error {v.worst:.3g}, wrong {v.wrong_s:.2f} s, called OK {v.wrong_ok_s:.2f} s, "
        f"no output and OK {v.silent_ok_s:.2f} s, moved {100 * v.moved:.1f} %, recovery {recovery}, "
        f"longest step {1e3 * v.longest_s:.0f} ms"
    )


def print_timeline(case: Case, fault: Fault, record: Record, clean: Errors, adapter: Any) -> None:
    """Print one case every 50 ms of data: time since the fault began, error, results, health."""
    found = errors_of(adapter, record.puts, clean)
    print(f"{case.name}, seed {case.seed}: {fault.text}; streams {', '.join(fault.streams)}")
    print(f"fault from 0 to {fault.duration_s:.3f} s; error in {adapter.unit}")
    for sample in record.health:
        time = (sample.arrival_ns - fault.begin_ns) / NANOSECONDS
        newest = int(np.searchsorted(found.arrivals_ns, sample.arrival_ns, side="right")) - 1
        error, age = "-", "-"
        if newest >= 0:
            error = f"{found.error[newest]:.3g}"
            age = f"{(sample.arrival_ns - found.arrivals_ns[newest]) / NANOSECONDS:.2f}"
        print(f"{time:7.2f} s  error {error:>8}  age {age:>5} s  {sample.level.name:5}  {sample.text[:200]}")
    if record.escape:
        print(f"escape: {record.escape}")
