"""One table by which every change of the package is judged, in at most 12 minutes on two idle cores.

    python -m benchmarks.referee --output after.json [--against before.json] [--only recordings,speed]

Parts: `recordings` of real robots, `synthetic` readings with known truth, `faults` in the readings,
`ordinary` robots as users bring them, `diagnosis` of injected errors, `speed` and `size`. Random seeds
differ from run to run unless `--seed` fixes them, so that nothing is tuned to one. With `--against` a second
table shows the rows that differ from an earlier run by more than their spread over seeds or runs, the worst
first. Tasks that cannot run here are listed with the reason. The first run after a change of compiled
functions compiles them, which takes minutes more.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.referee.parts import PARTS, tasks
from benchmarks.referee.row import Row, comparison_text, table
from benchmarks.referee.task import Done, run


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the parts and print their table."""
    args = _parser().parse_args(arguments)
    os.environ.setdefault("MPLBACKEND", "Agg")
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(name, "1")  # inherited by the processes of the tasks: the matrices are small
    before = json.loads(args.against.read_text(encoding="utf-8")) if args.against else None
    every = [task for part in args.only for task in tasks(part, args.seed, args.seeds)]
    chosen = [task for task in every if args.task in task.name]
    commit, begin_s = _commit(), time.monotonic()
    print(f"seed {args.seed}, commit {commit}, {len(chosen)} tasks", flush=True)
    done: dict[tuple[str, str], Done] = {}
    for one in run(chosen, args.jobs):
        part, name = one.task[:2]
        done[part, name] = one
        print(f"  {part:<11} {name:<44} {one.cpu_s:6.0f} s {one.failure}", file=sys.stderr, flush=True)
    ordered = [done[task.part, task.name] for task in chosen]
    found = {
        part: [row for one in ordered if one.task.part == part for row in one.rows] for part in args.only
    }
    stored = {
        "seed": args.seed,
        "commit": commit,
        "wall_s": time.monotonic() - begin_s,
        "cpu_s": sum(one.cpu_s for one in ordered),
        "failures": {f"{one.task.part}: {one.task.name}": one.failure for one in ordered if one.failure},
        "parts": {part: [row.as_dict for row in rows] for part, rows in found.items()},
    }
    args.output.parent.mkdir(parents=True, exist_ok=True)
    args.output.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
    print(table(found, stored["failures"]))
    times = f"{stored['wall_s']:.0f} s, {stored['cpu_s']:.0f} s of processor time"
    print(f"{times}, seed {args.seed}: {args.output}")
    if before:
        known = {part: [Row.of(row) for row in rows] for part, rows in before["parts"].items()}
        print(comparison_text(known, found, f"{args.against} (commit {before['commit']})"))
    return 0


def _parser() -> argparse.ArgumentParser:
    def parts(text: str) -> tuple[str, ...]:
        unknown = set(text.split(",")) - set(PARTS)
        if unknown:
            raise argparse.ArgumentTypeError(f"no part {sorted(unknown)}; there are {', '.join(PARTS)}")
        return tuple(text.split(","))

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--output", type=Path, required=True, metavar="FILE.json")
    parser.add_argument("--against", type=Path, metavar="FILE.json", help="an earlier run to compare with")
    parser.add_argument(
        "--only", type=parts, default=tuple(PARTS), metavar="PART[,PART]", help=", ".join(PARTS)
    )
    parser.add_argument("--task", default="", metavar="TEXT", help="only tasks whose names contain this")
    clock = time.time_ns() // 10**9 % 10**6
    parser.add_argument("--seed", type=int, default=clock, help="of all random numbers (the clock's)")
    parser.add_argument("--seeds", type=int, default=3, help="of synthetic readings, from that one on (3)")
    parser.add_argument("--jobs", type=int, default=2, help="processes (2)")
    return parser


def _commit() -> str:
    """Return the commit of the checkout, and whether it has changes."""
    commit, changed = (
        subprocess.run(
            ["git", *words], cwd=Path(__file__).parent, capture_output=True, text=True
        ).stdout.strip()
        for words in (["rev-parse", "--short", "HEAD"], ["status", "--porcelain"])
    )
    return f"{commit}, changed" if changed else commit or "unknown"


if __name__ == "__main__":
    sys.exit(main())
