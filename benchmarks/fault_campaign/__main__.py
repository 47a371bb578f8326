"""Faults by the thousand against the four pipelines: what escapes, what is wrong, and how it recovers.

Run from the root of the project: ``python -m benchmarks.fault_campaign --cases 10 --output faults.json``; one
case alone: ``--case tilt/stuck/3`` with the options of its campaign. Another version of the package is judged
from a folder that holds nothing but a link to this ``benchmarks``, with ``PYTHONPATH`` naming the root of
that version. Times of steps are processor time of the child. SIGINT and SIGTERM end a run early; what it has
found is printed.
"""

import argparse
import contextlib
import json
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks.fault_campaign.campaign import ALL, Case, all_cases, run_cases, totals
from benchmarks.fault_campaign.fault import KINDS
from benchmarks.fault_campaign.judge import COLUMNS, Verdict


def _rows(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join("| " + " | ".join(row) + " |" for row in (header, ["---"] * len(header), *rows))


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


def _parser() -> argparse.ArgumentParser:
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=formatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cases", type=int, default=2, metavar="N", help="cases of each kind and pipeline")
    parser.add_argument("--kind", action="append", choices=list(KINDS), metavar="K", help="may be repeated")
    parser.add_argument("--pipeline", action="append", choices=ALL, help="may be repeated")
    parser.add_argument("--early", action="store_true", help="only faults from the first message on")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes")
    parser.add_argument("--output", type=Path, metavar="FILE.json", help="every verdict")
    parser.add_argument("--case", metavar="PIPELINE/KIND/NUMBER", help="of them one alone")
    parser.add_argument("--list", action="store_true", help="print the kinds")
    return parser


def _run(cases: Sequence[Case], jobs: int) -> list[Verdict]:
    """Run cases, and print those that fail; Ctrl-C returns what has been found."""
    found = []
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with contextlib.suppress(KeyboardInterrupt):
        for verdict in run_cases(cases, jobs):
            found.append(verdict)
            if verdict.failures:
                text = f"{', '.join(verdict.failures)} {verdict.escape or verdict.inconsistent}"
                print(f"{verdict.case}: {text} ({verdict.scene}; {verdict.fault})", flush=True)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    if options.list:
        print(kinds_table())
        return 0
    begin = time.perf_counter()
    count = options.cases if options.case is None else int(options.case.rpartition("/")[2]) + 1
    cases = all_cases(range(count), options.seed, options.pipeline or ALL, options.kind, options.early)
    cases = [case for case in cases if options.case in (None, case.name)]
    verdicts = _run(cases, options.jobs)
    print("", table(verdicts), "", sep="\n")
    print(f"{len(verdicts)} of {len(cases)} cases, seed {options.seed}, {time.perf_counter() - begin:.0f} s")
    if options.output:
        options.output.write_text(json.dumps([asdict(v) for v in verdicts], indent=1) + "\n")
    return 1 if any(verdict.failures for verdict in verdicts) else 0


if __name__ == "__main__":
    sys.exit(main())
