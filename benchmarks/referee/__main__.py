"""One table by which every change of the package is judged, in at most 12 minutes on two idle cores.

    python -m benchmarks.referee --output after.json [--against before.json] [--only recordings,speed]

Parts: `recordings` of real robots, `synthetic` readings with known truth, `faults` in the readings,
`ordinary` robots as strangers bring them, `diagnosis` of injected errors, `speed` and `size`. Random seeds
differ from run to run unless `--seed` fixes them, so that nothing is tuned to one. With `--against` a second
table shows what differs from an earlier run by more than seeds or runs do, the worst first. `--tree DIR`
measures the package of another checkout with the referee of this one. What cannot be measured is named with
the reason. The first run after a change of compiled functions compiles them, which takes minutes more.
"""

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benchmarks.referee.row import Row
    from benchmarks.referee.task import Done

PARTS = ("recordings", "synthetic", "ordinary", "diagnosis", "faults", "speed", "size")
ROOT = Path(__file__).resolve().parents[2]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the parts and print their table."""
    args = _parser().parse_args(arguments)
    with tempfile.TemporaryDirectory() as place:
        _choose_tree(args.tree, place)
        return _run(args)


def _run(args: argparse.Namespace) -> int:
    from benchmarks.referee.comparison import comparison_text
    from benchmarks.referee.row import Row
    from benchmarks.referee.task import run

    before = json.loads(args.against.read_text(encoding="utf-8")) if args.against else None
    tasks = [
        task
        for part in args.only
        for task in importlib.import_module(f"benchmarks.referee.{part}").tasks(args.seed, args.seeds)
        if args.task in task.name
    ]
    print(f"seed {args.seed}, commit {_commit(args.tree)}, {len(tasks)} tasks", flush=True)
    begin_s = time.monotonic()
    found: dict[str, list[Row]] = {part: [] for part in args.only}
    ran: list[Done] = []
    for done in run(tasks, args.jobs):
        ran.append(done)
        print(
            f"  {done.part:<11} {done.name:<44} {done.cpu_s:6.0f} s {done.failure}",
            file=sys.stderr,
            flush=True,
        )
    for part in args.only:
        for task in (task for task in tasks if task.part == part):
            found[part] += next(done.rows for done in ran if (done.part, done.name) == (part, task.name))
    wall_s = time.monotonic() - begin_s
    stored = {
        "seed": args.seed,
        "commit": _commit(args.tree),
        "wall_s": wall_s,
        "cpu_s": sum(done.cpu_s for done in ran),
        "failures": {f"{done.part}: {done.name}": done.failure for done in ran if done.failure},
        "parts": {part: [row.as_dict for row in rows] for part, rows in found.items()},
    }
    args.output.parent.mkdir(parents=True, exist_ok=True)
    args.output.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
    print(table(found, stored["failures"]))
    print(f"{wall_s:.0f} s, {stored['cpu_s']:.0f} s of processor time, seed {args.seed}: {args.output}")
    if before:
        known = {part: [Row.of(row) for row in rows] for part, rows in before["parts"].items()}
        print(comparison_text(known, found, f"{args.against} (commit {before['commit']})"))
    return 0


def table(found: Mapping[str, Sequence["Row"]], failures: Mapping[str, str]) -> str:
    """Return the rows by part, and what could not be measured."""
    from benchmarks.referee.comparison import number

    lines = []
    for part, rows in found.items():
        lines.append(f"{part:<66}{'value':>10} {'unit':<8}{'+-':>9}  better")
        for row in rows:
            note = f"  {row.note}" if row.note else ""
            spread = number(row.spread) if row.spread else ""
            lines.append(
                f"  {row.key:<64}{number(row.value):>10} {row.unit:<8}{spread:>9}  {row.better.value}{note}"
            )
    lines += [f"not measured: {name}: {why}" for name, why in failures.items()]
    return "\n".join(lines)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--output", type=Path, required=True, metavar="FILE.json")
    parser.add_argument("--against", type=Path, metavar="FILE.json", help="an earlier run to compare with")
    parser.add_argument("--only", type=_parts, default=PARTS, metavar="PART[,PART]", help=", ".join(PARTS))
    parser.add_argument("--task", default="", metavar="TEXT", help="only tasks whose names contain this")
    parser.add_argument(
        "--seed",
        type=int,
        default=time.time_ns() // 10**9 % 10**6,
        help="of all random numbers (the clock's)",
    )
    parser.add_argument("--seeds", type=int, default=3, help="of synthetic readings, from that one on (3)")
    parser.add_argument("--jobs", type=int, default=2, help="processes (2)")
    parser.add_argument("--tree", type=Path, default=ROOT, metavar="DIR", help="checkout that is measured")
    return parser


def _parts(text: str) -> tuple[str, ...]:
    chosen = tuple(text.split(","))
    for part in chosen:
        if part not in PARTS:
            raise argparse.ArgumentTypeError(f"no part '{part}'; there are {', '.join(PARTS)}")
    return chosen


def _choose_tree(tree: Path, place: str) -> None:
    """Let this process and those that it starts import the package of a checkout, and these benchmarks."""
    path = str(tree.resolve())
    if not Path(path, "inertial_estimation").is_dir():
        raise SystemExit(f"'{tree}' is no checkout: it has no folder inertial_estimation")
    Path(place, "benchmarks").symlink_to(ROOT / "benchmarks")
    known = [entry for entry in sys.path if entry not in ("", path, str(ROOT), os.getcwd())]
    sys.path[:] = [place, path, *known]
    os.environ["PYTHONPATH"] = os.pathsep.join([place, path])
    os.environ.setdefault("MPLBACKEND", "Agg")
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(name, "1")  # before numpy is imported: the matrices are small


def _commit(tree: Path) -> str:
    """Return the commit of a checkout, with a mark where it is changed."""
    call: dict[str, Any] = {"cwd": tree, "capture_output": True, "text": True}
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], **call).stdout.strip()
    changed = subprocess.run(["git", "status", "--porcelain"], **call).stdout.strip()
    return f"{commit}, changed" if changed else commit or "unknown"


if __name__ == "__main__":
    sys.exit(main())
