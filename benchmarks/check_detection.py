"""Share of injected errors that `inertial-estimation check` detects and names, and its false alarms.

Run from the root of the project: ``python -m benchmarks.check_detection [--seeds N] [--scene TEXT]
[--error TEXT]``. Each seed takes another part of each recording (20 s, of shorter recordings three quarters)
and draws what is changed among what the clean part suffices to reveal; "-" where that is nothing. An error is
detected if anything is found that is not found in the clean part, named if the right check says it of the
right joint, contact or link, and falsely named if anything else is found, in addition to it or instead of it.
What is found in a whole recording as it is, is printed first.
"""

import argparse
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.check_errors import Error, Part, kinds
from benchmarks.check_scenes import Scene, scenes
from inertial_estimation.bring_up.doctor import Diagnosis, diagnose
from inertial_estimation.bring_up.streams import RobotStreams, Stream
from inertial_estimation.data_checks.check_result import CheckResult
from inertial_estimation.models.robot_config import robot_from_config
from inertial_estimation.signals import NANOSECONDS

PART_S = 20.0
PART_SHARE = 0.75


@dataclass
class Score:
    """Counts of one error in one scene."""

    tried: int = 0
    detected: int = 0
    named: int = 0
    falsely: int = 0
    example: str = ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--scene", default="", help="only scenes whose name contains this text")
    parser.add_argument(
        "--error", action="append", default=[], help="only errors whose name contains this text; repeatable"
    )
    parser.add_argument("--cache", type=Path, help="folder in which simulated scenes are kept")
    args = parser.parse_args()
    texts = args.error or [""]
    wanted = {name: prepare for name, prepare in kinds().items() if any(text in name for text in texts)}
    totals: dict[str, Score] = defaultdict(Score)
    alarms = runs = 0
    for scene in scenes(args.scene, args.cache):
        whole = examined(scene, scene.streams, scene.urdf)
        known = {key(r) for r in whole.results if r.failed}
        print(f"\n{scene.name}: {scene_summary(whole)}", flush=True)
        scores: dict[str, Score] = defaultdict(Score)
        for seed in range(args.seeds):
            rng = np.random.default_rng([seed, 7])
            part = part_of(scene, rng)
            clean = {key(r) for r in part.clean.results if r.failed}
            runs += 1
            if clean - known:
                alarms += 1
                print(f"  false alarm of seed {seed}: {sorted(clean - known)}", flush=True)
            for i, (name, prepare) in enumerate(wanted.items()):
                error = prepare(part, np.random.default_rng([seed, i]))
                if error is not None:
                    judge(scores[name], examined(scene, error.streams, error.urdf), clean | known, error)
        for name in wanted:
            print_score(name, scores[name])
            for field in ("tried", "detected", "named", "falsely"):
                setattr(totals[name], field, getattr(totals[name], field) + getattr(scores[name], field))
    print(f"\nall scenes: false alarms in {alarms} of {runs} clean parts")
    for name, score in totals.items():
        print_score(name, score)
    everything = Score(
        *(sum(getattr(s, f) for s in totals.values()) for f in ("tried", "detected", "named", "falsely"))
    )
    print_score("all", everything)


def examined(scene: Scene, streams: RobotStreams, urdf: str) -> Diagnosis:
    """Check streams of a scene."""
    setup = scene.setup if urdf == scene.urdf else robot_from_config(scene.config, urdf)
    return diagnose(streams, setup, scene.config)


def scene_summary(whole: Diagnosis) -> str:
    """Say what is found in a recording as it is."""
    failed = [
        f"{r.verdict.value}: {r.check} of {r.subject} ({r.sentence})" for r in whole.results if r.failed
    ]
    return "; ".join(failed) if failed else "nothing found"


def part_of(scene: Scene, rng: np.random.Generator) -> Part:
    """Cut a part out of a scene."""
    stamps = scene.streams.joints.stamps_ns
    first, last = int(stamps.min()), int(stamps.max())
    length = min(round(PART_S * NANOSECONDS), round(PART_SHARE * (last - first)))
    begin = first + int(rng.integers(last - first - length + 1))
    streams = scene.streams.changed(cut(begin, begin + length))
    return Part(streams, scene.urdf, examined(scene, streams, scene.urdf))


def cut(begin_ns: int, end_ns: int) -> Callable[[str, Stream], Stream]:
    """Return what cuts a stream."""
    return lambda _name, stream: stream.kept((stream.stamps_ns >= begin_ns) & (stream.stamps_ns < end_ns))


def key(result: CheckResult) -> tuple[str, str]:
    """What a finding is about."""
    return result.check, result.subject


def judge(score: Score, found: Diagnosis, clean: set[tuple[str, str]], error: Error) -> None:
    """Count one run."""
    failed = [r for r in found.results if r.failed and key(r) not in clean]
    right = [r for r in failed if is_named(r, error)]
    wrong = [r for r in failed if r.check not in error.checks]
    score.tried += 1
    score.detected += bool(failed)
    score.named += bool(right)
    score.falsely += bool(wrong)
    if (not right or wrong) and not score.example:
        seen = [f"{r.check} of {r.subject}" for r in failed][:4]
        score.example = f"{' '.join(error.subjects[:2])} found as {seen}"


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


def print_score(name: str, score: Score) -> None:
    """Print a row of the table."""
    if not score.tried:
        print(f"  {name:<32} {'-':>7}")
        return
    counts = f"{score.tried:>7} {score.detected:>6} {score.named:>6} {score.falsely:>6}"
    share = f"{100.0 * score.named / score.tried:6.1f} %"
    print(f"  {name:<32} {counts} {share}  {score.example}", flush=True)


if __name__ == "__main__":
    main()
