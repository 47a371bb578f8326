"""Share of injected errors that `inertial-estimation check` detects and names, and its false alarms.

Run from the root of the project: ``python -m benchmarks.check_detection [--seeds N] [--first N]
[--scene TEXT] [--error TEXT] [--output FILE.jsonl]``. Each seed takes another part of each recording (20 s,
of shorter recordings three quarters) and draws what is changed among what the clean part suffices to reveal;
"-" where that is nothing. An error is detected if anything is found that is not found in the clean part,
named if the right check says it of the right joint, contact or link, and falsely named if anything else is
found, in addition to it or instead of it.

Every seed of every scene is written to the file as soon as it is done, so that a run that is stopped goes on
where it was, and one of other kinds of error adds to it; ``--read FILE...`` prints the table of files and
runs nothing. Results of another version of the checks are not recognised as such: give each version its own
file. Scenes are kept in the folder ``--cache``, by what they are made from (`benchmarks.check_scenes`).
"""

import argparse
import signal
import sys
import tempfile
from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path

import numpy as np

from benchmarks.check_errors import Error, Part
from benchmarks.check_kinds import kinds
from benchmarks.check_scenes import Scene, scene_named, scene_names
from benchmarks.check_scores import Case, Unit, table
from benchmarks.check_store import append, merged, missing, read, without_torn_line
from inertial_estimation.bring_up.doctor import Diagnosis, diagnose
from inertial_estimation.bring_up.streams import RobotStreams
from inertial_estimation.commands.arguments import add_workers
from inertial_estimation.data_checks.check_result import CheckResult
from inertial_estimation.models.robot_config import robot_from_config
from inertial_estimation.parallel import open_workers
from inertial_estimation.signals import NANOSECONDS

PART_S = 20.0
PART_SHARE = 0.75
SCENES = Path(tempfile.gettempdir()) / "inertial_estimation_check_scenes"


def main() -> None:
    options = arguments()
    errors = [name for name in kinds() if any(text in name for text in options.error or [""])]
    if options.read:
        print(table(merged(unit for file in options.read for unit in read(file)), errors))
        return
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    made: list[Unit] = []
    if options.output and options.output.exists():
        without_torn_line(options.output)
        made = read(options.output)
    seeds = range(options.first, options.first + options.seeds)
    wanted = [(name, seed) for seed in seeds for name in scene_names(options.scene)]
    left = [(name, seed, missing(errors, made, name, seed)) for name, seed in wanted]
    calls = [
        partial(examine, name, seed, todo, options.cache) for name, seed, todo in left if todo is not None
    ]
    try:
        with open_workers(options.jobs, options.cluster) as workers:
            for _number, unit in workers.completed(calls):
                if unit is not None:
                    made.append(unit)
                    keep(unit, options.output)
    except KeyboardInterrupt:
        print("stopped: the table is of what was done", file=sys.stderr)
    print(table(merged(made), errors))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, metavar="N", help="the first seed")
    parser.add_argument(
        "--scene", action="append", default=[], help="only scenes whose name contains this text; repeatable"
    )
    parser.add_argument(
        "--error", action="append", default=[], help="only errors whose name contains this text; repeatable"
    )
    parser.add_argument("--cache", type=Path, default=SCENES, help="folder in which made scenes are kept")
    parser.add_argument("--output", type=Path, metavar="FILE.jsonl", help="every seed; goes on where it was")
    parser.add_argument(
        "--read", type=Path, nargs="+", metavar="FILE.jsonl", help="no run: the table of these files"
    )
    add_workers(parser, "scenes and seeds")
    return parser.parse_args()


def keep(unit: Unit, file: Path | None) -> None:
    """Append a seed of a scene to the file, and say that it is done."""
    wrong = [case.found for case in unit.cases if not case.right]
    alarms = f"; false alarm: {unit.alarms}" if unit.alarms else ""
    done = f"{unit.scene}, seed {unit.seed}: {len(unit.cases)} errors{alarms}"
    print("\n  ".join([done, *wrong]), file=sys.stderr, flush=True)
    if file is not None:
        append(unit, file)


def examine(name: str, seed: int, errors: Sequence[str], folder: Path) -> Unit | None:
    """Inject errors into a part of a scene; None without its recording."""
    scene = scene_named(name, folder)
    if scene is None:
        return None
    known = whole_findings(name, folder)
    part = part_of(scene, np.random.default_rng([seed, 7]))
    clean = {key(r) for r in part.clean.results if r.failed}
    unit = Unit(name, seed, sorted(f"{check} of {subject}" for check, subject in clean - known))
    unit.tried.extend(errors)
    for i, (error_name, prepare) in enumerate(kinds().items()):
        if error_name not in errors:
            continue
        error = prepare(part, np.random.default_rng([seed, i]))
        if error is not None:
            found = examined(scene, error.streams, error.urdf)
            unit.cases.append(judged(error_name, found, clean | known, error))
    return unit


@cache
def whole_findings(name: str, folder: Path) -> frozenset[tuple[str, str]]:
    """Return what is found in a whole recording as it is."""
    scene = scene_named(name, folder)
    assert scene is not None
    whole = examined(scene, scene.streams, scene.urdf)
    failed = [r for r in whole.results if r.failed]
    said = [f"{r.verdict.value}: {r.check} of {r.subject} ({r.sentence})" for r in failed]
    print(f"{name}: {'; '.join(said) or 'nothing found'}", file=sys.stderr, flush=True)
    return frozenset(key(r) for r in failed)


def examined(scene: Scene, streams: RobotStreams, urdf: str) -> Diagnosis:
    """Check streams of a scene."""
    setup = scene.setup if urdf == scene.urdf else robot_from_config(scene.config, urdf)
    return diagnose(streams, setup, scene.config)


def part_of(scene: Scene, rng: np.random.Generator) -> Part:
    """Cut a part out of a scene."""
    stamps = scene.streams.joints.stamps_ns
    first, last = int(stamps.min()), int(stamps.max())
    length = min(round(PART_S * NANOSECONDS), round(PART_SHARE * (last - first)))
    begin = first + int(rng.integers(last - first - length + 1))
    streams = scene.streams.between(begin, begin + length)
    return Part(streams, scene.urdf, examined(scene, streams, scene.urdf))


def key(result: CheckResult) -> tuple[str, str]:
    """What a finding is about."""
    return result.check, result.subject


def judged(name: str, found: Diagnosis, clean: frozenset[tuple[str, str]], error: Error) -> Case:
    """Judge what was found of an error."""
    failed = [r for r in found.results if r.failed and key(r) not in clean]
    seen = [f"{r.check} of {r.subject}" for r in failed][:4]
    return Case(
        name,
        detected=bool(failed),
        named=any(is_named(r, error) for r in failed),
        falsely=any(r.check not in error.checks for r in failed),
        found=f"{name}: {' '.join(error.subjects[:2])} found as {seen}",
    )


def is_named(result: CheckResult, error: Error) -> bool:
    """Whether a finding names an error, at most among others that cannot be distinguished from it."""
    if result.check not in error.checks:
        return False
    quoted = [f"'{subject}'" for subject in error.subjects]
    return (
        not error.subjects
        or result.subject in error.subjects
        or any(subject in result.sentence for subject in quoted)
    )


if __name__ == "__main__":
    main()
