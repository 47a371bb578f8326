"""Mutated files against their readers: each is read, or refused in one line, in bounded time and memory.

Every case is a seeded mutation of a good file, read in a forked process of its own with limits of memory and
time. Exit code 1 if a case was neither read nor refused in one line.

    python -m benchmarks.file_fuzz --cases 1000 [--kind yaml] [--seed 0]
"""

import argparse
import os
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

import inertial_estimation as ie
from benchmarks.fault_campaign.forked import EndedError, forked
from benchmarks.fault_campaign.messages import damaged
from benchmarks.referee.robots import arm
from inertial_estimation.inputs.messages import IMU_TYPE, JOINT_STATE_TYPE
from inertial_estimation.models.urdf import XmlDocument
from inertial_estimation.offline.postures import read_postures
from inertial_estimation.recordings.bag_writer import write_recording

LONGEST_S = 2.0
OUTCOMES = READ, REFUSED, TRACEBACK, KILLED, SLOW = "read", "refused", "traceback", "killed", "slow"
NUMBERS = "-1|0|1e308|1e400|nan|.nan|inf|1_0|0x1p3|true|~|2001-13-45|1:30|''|[1, 2]|{a: 1}|1 2 3"
FRAGMENTS = (
    r"&a [*a]@*a@!!python/object:os.system x@!!binary x@<<: *a@? @- @---@|@%YAML 9@<!ENTITY a 'b'>@&a;"
)
FRAGMENTS += (
    "@</robot>@<link name='x'/>@<xacro:x/>@<!--@<![CDATA[@,@\"@'@#@{@]@<@\n\n@\r@\t@\x00@\xff@\xed\xa0\x80"
)
LONG = [3000 * "[", 3000 * "<a>", 3000 * "- ", 3000 * "{a: ", 5000 * "9", 100_000 * "x"]


def mutated(content: bytes, text: bool, rng: Generator) -> bytes:
    """Return a file with one to four random changes.

    Args:
        content: The good file.
        text: Whether it is a text, of which numbers, words and lines are changed, too.
        rng: Source of the changes.
    """
    for _ in range(int(rng.integers(1, 5))):
        change = _changed_text if text and rng.random() < 0.5 else damaged
        content = change(content, rng) if len(content) > 8 else content
    return content


def _changed_text(content: bytes, rng: Generator) -> bytes:
    """Replace a number or a word, insert a fragment, or move, repeat or remove a line."""
    kind, lines = int(rng.integers(4)), content.splitlines(keepends=True)
    if kind == 0 and lines:
        line = lines.pop(int(rng.integers(len(lines))))
        at, times = int(rng.integers(len(lines) + 1)), int(rng.integers(3))
        return b"".join([*lines[:at], *times * [line], *lines[at:]])
    if kind == 1:
        at = int(rng.integers(len(content) + 1))
        return content[:at] + str(rng.choice([*FRAGMENTS.split("@"), *LONG])).encode("latin-1") + content[at:]
    pattern = rb"-?\d+\.?\d*(?:[eE][-+]?\d+)?" if kind == 2 else rb"[A-Za-z_][\w/]*"
    found = list(re.finditer(pattern, content))
    if not found:
        return content
    place, other = (found[int(rng.integers(len(found)))] for _ in range(2))
    by = str(rng.choice([*NUMBERS.split("|"), "1" + 400 * "0"])).encode() if kind == 2 else other.group()
    return content[: place.start()] + by + content[place.end() :]


URDF = arm((2.5, 2.0, 1.5), (0.3, 0.4, 0.3), (80.0, 80.0, 20.0), 1.5).replace("><", ">\n<")


def _written(path: Path, ending: str, text: str) -> Path:
    file = path.with_suffix(ending)
    file.write_text(text, encoding="utf-8")
    return file


def _read_urdf(path: Path) -> None:
    text = ie.read_urdf(str(path))
    robot = ie.RobotModel.from_urdf(text)
    for link in robot.link_names:
        robot.link_body(link)
    XmlDocument.parsed(text, str(path)).text()


def _bag(path: Path, storage: str) -> Path:
    rng, entries = np.random.default_rng(0), []
    for stamp in range(10**9, 10**9 + 200 * 10**7, 10**7):
        imu = ie.ImuSample(stamp, rng.normal(size=3), rng.normal(size=3))
        joints = ie.JointReading(stamp, ("a", "b"), rng.normal(size=2), rng.normal(size=2), None)
        entries += [
            ie.RecordingEntry("/imu/data", stamp, imu),
            ie.RecordingEntry("/joint_states", stamp + 1, joints),
        ]
    topics = {"/imu/data": IMU_TYPE, "/joint_states": JOINT_STATE_TYPE}
    write_recording(ie.MemoryRecording(tuple(entries), topics), path, storage=storage)
    return next(item for item in path.iterdir() if item.suffix != ".yaml")


def _read_bag(path: Path) -> None:
    with ie.BagRecording(path) as recording:
        for _entry in recording.entries(list(recording.topics)):
            pass


def _postures(path: Path) -> Path:
    rows = "".join(f"{k},{0.01 * k:.3f},{-0.02 * k:.3f},{0.1 * k:.2f},fit\n" for k in range(50))
    return _written(path, ".csv", "k,joint_1,joint_2,x1,split\n" + rows)


def _read_postures(path: Path) -> None:
    arm = ie.RobotModel.from_urdf(URDF, floating_base=False)
    read_postures(path, arm, ["joint_1", "joint_2"], measured=["x1"])


KNOWN = set(ie.parameter_values(ie.InertialPipelineConfig()))


class FileKind(NamedTuple):
    """One kind of file: whether it is a text, what makes a good one (path without ending), what reads it."""

    text: bool
    make: Callable[[Path], Path]
    read: Callable[[Path], object]


KINDS = {
    "yaml": FileKind(
        True,
        lambda path: _written(path, ".yaml", ie.find_config("panda").read_text(encoding="utf-8")),
        lambda path: ie.build_config(ie.InertialPipelineConfig, ie.load_config_file(path).anywhere(KNOWN)),
    ),
    "urdf": FileKind(True, lambda path: _written(path, ".urdf", URDF), _read_urdf),
    "mcap": FileKind(False, lambda path: _bag(path, "mcap"), _read_bag),
    "sqlite": FileKind(False, lambda path: _bag(path, "sqlite3"), _read_bag),
    "metadata": FileKind(
        True, lambda path: _bag(path, "mcap").with_name("metadata.yaml"), lambda path: _read_bag(path.parent)
    ),
    "postures-csv": FileKind(True, _postures, _read_postures),
}


def _outcome(call: Callable[[], object]) -> str:
    with tempfile.TemporaryFile() as printed:
        for stream in (1, 2):  # libraries print to the descriptors
            os.dup2(printed.fileno(), stream)
        try:
            call()
        except ie.InertialEstimationError as error:
            return TRACEBACK if "\n" in str(error) or printed.seek(0, 2) else REFUSED
        except BaseException:  # what a command would show as a traceback
            return TRACEBACK
        return READ


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=1000, help="cases of each kind (1000)")
    parser.add_argument("--kind", choices=sorted(KINDS), help="only this kind")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first case (0)")
    args = parser.parse_args()
    print(f"| kind | {' | '.join(OUTCOMES)} | longest [s] |\n|---{'|---' * len(OUTCOMES)}|---|")
    found = [fuzzed(name, args.seed, args.cases) for name in ([args.kind] if args.kind else KINDS)]
    return int(any(found))


def fuzzed(name: str, first: int, cases: int) -> list[int]:
    """Read mutations of a good file, print the outcomes, and return the seeds of those that are wrong."""
    kind, counts, longest_s, wrong = KINDS[name], Counter[str](), 0.0, []
    with tempfile.TemporaryDirectory() as folder:
        file = kind.make(Path(folder) / "good")
        content = file.read_bytes()
        for seed in range(first, first + cases):
            file.write_bytes(mutated(content, kind.text, np.random.default_rng(seed)))
            begin_s = time.monotonic()
            try:
                outcome: str = forked(partial(_outcome, partial(kind.read, file)))
            except EndedError:
                outcome = KILLED
            elapsed_s = time.monotonic() - begin_s
            outcome = outcome if elapsed_s < LONGEST_S else SLOW
            longest_s = max(longest_s, elapsed_s)
            counts[outcome] += 1
            wrong += [] if outcome in (READ, REFUSED) else [seed]
    print(f"| {name} | {' | '.join(str(counts[o]) for o in OUTCOMES)} | {longest_s:.2f} |", flush=True)
    if wrong:
        print(f"{name}: seeds {wrong[:20]}", file=sys.stderr)
    return wrong


if __name__ == "__main__":
    sys.exit(main())
