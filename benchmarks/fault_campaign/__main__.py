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

from benchmarks.fault_campaign.campaign import ALL, Case, all_cases, run_cases
from benchmarks.fault_campaign.fault import KINDS
from benchmarks.fault_campaign.judge import Verdict
from benchmarks.fault_campaign.report import kinds_by_pipelines, kinds_table, table


def _parser() -> argparse.ArgumentParser:
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=formatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cases", type=int, default=2, metavar="N", help="cases of each kind and pipeline")
    parser.add_argument("--kind", action="append", choices=list(KINDS), metavar="K", help="may be repeated")
    parser.add_argument("--pipeline", action="append", choices=ALL, help="may be repeated")
    parser.add_argument("--early", action="store_true", help="only faults from the first message on")
    parser.add_argument("--others", action="store_true", help="robots and recordings not looked at first")
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
    chosen = {"early": options.early, "others": options.others}
    count = options.cases if options.case is None else int(options.case.rpartition("/")[2]) + 1
    cases = all_cases(range(count), options.seed, options.pipeline or ALL, options.kind, **chosen)
    cases = [case for case in cases if options.case in (None, case.name)]
    verdicts = _run(cases, options.jobs)
    print("", kinds_by_pipelines(verdicts), "", table(verdicts), "", sep="\n")
    print(f"{len(verdicts)} of {len(cases)} cases, seed {options.seed}, {time.perf_counter() - begin:.0f} s")
    if options.output:
        options.output.write_text(json.dumps([asdict(v) for v in verdicts], indent=1) + "\n")
    return 1 if any(verdict.failures for verdict in verdicts) else 0


if __name__ == "__main__":
    sys.exit(main())
