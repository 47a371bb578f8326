"""Faults by the thousand against the four pipelines: what escapes, what is wrong, and how it recovers.

Run from the root of the project: ``python -m benchmarks.fault_campaign --cases 75 --output faults.json``.
Times of steps are processor time of the child. SIGINT and SIGTERM end a run early; what it has found until
then is written. One case alone, as a timeline:
``python -m benchmarks.fault_campaign --case tilt/stuck/3``.
"""

import argparse
import contextlib
import json
import signal
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from benchmarks.fault_campaign.campaign import (
    Case,
    all_cases,
    case_named,
    run_cases,
    run_share,
    scene_shares,
)
from benchmarks.fault_campaign.judge import Verdict
from benchmarks.fault_campaign.kinds import KINDS
from benchmarks.fault_campaign.outputs import ADAPTERS
from benchmarks.fault_campaign.report import (
    COUNTED,
    failures,
    print_timeline,
    summary,
    table,
    worst_cells,
)
from inertial_estimation.commands.arguments import add_workers
from inertial_estimation.parallel import Workers, open_workers


def run(cases: Sequence[Case], workers: Workers) -> list[Verdict]:
    """Run cases on workers and return the verdicts in the order of the cases; Ctrl-C returns those found."""
    shares = scene_shares(cases)
    found: dict[str, Verdict] = {}
    with contextlib.suppress(KeyboardInterrupt), workers:
        for _number, verdicts in workers.completed([partial(run_share, share) for share in shares]):
            found |= {verdict.case: verdict for verdict in verdicts}
            _tell(verdicts)
            print(f"{len(found)} of {len(cases)} cases", file=sys.stderr, flush=True)
    return [found[case.name] for case in cases if case.name in found]


def _tell(verdicts: Sequence[Verdict]) -> None:
    for verdict in verdicts:
        failed = [name for name in failures(verdict) if name in COUNTED]
        if failed:
            print(f"{verdict.case}: {', '.join(failed)} {verdict.escape}", file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=int, default=5, metavar="N", help="cases of each kind and pipeline")
    parser.add_argument("--kind", action="append", choices=list(KINDS), metavar="K", help="may be repeated")
    parser.add_argument("--pipeline", action="append", choices=list(ADAPTERS), help="may be repeated")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, metavar="N", help="number of the first case of each")
    parser.add_argument(
        "--early", action="store_true", help="only faults that begin with the first reading of all"
    )
    parser.add_argument(
        "--others", action="store_true", help="robots and recordings that were not looked at first"
    )
    parser.add_argument(
        "--read", type=Path, nargs="+", metavar="FILE.json", help="no run: the table of runs already made"
    )
    add_workers(parser, "cases")
    parser.add_argument("--output", type=Path, metavar="FILE.json", help="every verdict")
    parser.add_argument("--worst", type=Path, metavar="FILE.md", help="the cells that fail, with a case each")
    parser.add_argument("--case", metavar="PIPELINE/KIND/NUMBER", help="one case alone, with its timeline")
    parser.add_argument("--list", action="store_true", help="print the kinds")
    options = parser.parse_args(arguments)
    if options.list:
        print("\n".join(KINDS))
        return 0
    if options.case:
        verdict = next(
            run_cases([case_named(options.case, options.seed, others=options.others)], print_timeline)
        )
        print(json.dumps(verdict.as_dict, indent=1))
        print("fails:", ", ".join(failures(verdict)) or "nothing")
        return 0
    begin = time.perf_counter()
    if options.read:
        stored = [found for file in options.read for found in json.loads(file.read_text())]
        verdicts = [Verdict(**found) for found in stored]
    else:
        numbers = range(options.first, options.first + options.cases)
        kinds, pipelines = options.kind or list(KINDS), options.pipeline or list(ADAPTERS)
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        workers = open_workers(options.jobs, options.cluster)
        chosen = {"early": options.early, "others": options.others}
        cases = all_cases(numbers, options.seed, kinds, pipelines, **chosen)
        verdicts = run(cases, workers)
    print(summary(verdicts), table(verdicts), sep="\n\n")
    print(f"\n{len(verdicts)} cases, seed {options.seed}, {time.perf_counter() - begin:.0f} s")
    if options.output:
        options.output.write_text(json.dumps([v.as_dict for v in verdicts], indent=1) + "\n")
    if options.worst:
        options.worst.write_text(worst_cells(verdicts) + "\n")
    return 1 if any(set(failures(v)) & set(COUNTED) for v in verdicts) else 0


if __name__ == "__main__":
    sys.exit(main())
