"""Mutated files against their readers: each is read, or refused in one line, in bounded time and memory.

Every case is a seeded mutation of a good file, read in a forked process of its own with a limit of memory and
of time. Run: ``python -m benchmarks.file_fuzz --cases 1000 [--kind yaml] [--seed 0]``.
"""

import argparse
import os
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.file_fuzz.kinds import KINDS, FileKind
from benchmarks.file_fuzz.mutations import mutated

LONGEST_S = 2.0
LARGEST_BYTES = 2**30
READ, REFUSED, TRACEBACK, KILLED, SLOW = "read", "refused", "traceback", "killed", "slow"


@dataclass
class FuzzCount:
    """Outcomes of the cases of one kind.

    Attributes:
        kind: Name of the kind of file.
        outcomes: Number of cases by outcome.
        longest_s: Longest time of a case [s].
        largest_bytes: Largest memory that a case added [bytes].
        bad: Seeds of the cases that were neither read nor refused in one line.
    """

    kind: str
    outcomes: Counter[str] = field(default_factory=Counter)
    longest_s: float = 0.0
    largest_bytes: int = 0
    bad: list[int] = field(default_factory=list)


def fuzz(kind: FileKind, cases: int, seed: int, keep: Path | None = None) -> FuzzCount:
    """Read mutated files of one kind.

    Args:
        kind: The kind.
        cases: Number of mutations.
        seed: Seed of the first; the next ones count on.
        keep: Folder to which files of bad cases are copied; None: nowhere.
    """
    count = FuzzCount(kind.name)
    with tempfile.TemporaryDirectory() as folder:
        good = kind.make(Path(folder) / "good")
        content = good.read_bytes()
        for number in range(seed, seed + cases):
            rng = np.random.default_rng(number)
            good.write_bytes(mutated(content, kind.text, rng))
            outcome, elapsed_s, memory = _forked(lambda: kind.read(good))
            count.outcomes[outcome] += 1
            count.longest_s = max(count.longest_s, elapsed_s)
            count.largest_bytes = max(count.largest_bytes, memory)
            if outcome not in (READ, REFUSED):
                count.bad.append(number)
                if keep is not None:
                    keep.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(good, keep / f"{kind.name}_{number}{good.suffix}")
    return count


def _forked(call: Callable[[], None]) -> tuple[str, float, int]:
    """Run a call in a forked process; return its outcome, time [s] and added memory [bytes]."""
    reading, writing = os.pipe()
    begin_s = time.monotonic()
    process = os.fork()
    if process == 0:
        os.close(reading)
        os._exit(_in_child(call, writing))
    os.close(writing)
    ready, _, _ = select.select([reading], [], [], LONGEST_S)
    said = os.read(reading, 4096) if ready else b""
    elapsed_s = time.monotonic() - begin_s
    os.close(reading)
    if not ready:
        os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    if not ready:
        return SLOW, elapsed_s, 0
    outcome, _, memory = said.decode().partition(" ")
    return (outcome or KILLED), elapsed_s, int(memory or 0)


def _in_child(call: Callable[[], None], writing: int) -> int:
    """Read one file with limits; write the outcome and the memory used to a pipe."""
    from inertial_estimation.errors import InertialEstimationError

    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    limit = _address_space() + LARGEST_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryFile() as printed:
        for stream in (1, 2):  # libraries print to the descriptors
            os.dup2(printed.fileno(), stream)
        try:
            call()
            outcome = READ
        except InertialEstimationError as error:
            outcome = REFUSED if "\n" not in str(error) else TRACEBACK
        except BaseException:  # what a command would show as a traceback
            outcome = TRACEBACK
        if outcome == REFUSED and printed.seek(0, 2) > 0:
            outcome = TRACEBACK  # lines of a library besides the refusal
    more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - used) * 1024
    os.write(writing, f"{outcome} {more}".encode())
    return 0


def _address_space() -> int:
    """Return the size of this process [bytes]."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def table(counts: Sequence[FuzzCount]) -> Iterator[str]:
    """Yield the lines of a table of kinds and outcomes."""
    names = ("kind", "cases", "read", "refused in one line", "traceback", "killed", "> 2 s", "longest [s]")
    yield f"| {' | '.join(names)} | memory [MB] |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for count in counts:
        numbers = [count.outcomes[outcome] for outcome in (READ, REFUSED, TRACEBACK, KILLED, SLOW)]
        columns = [count.kind, sum(numbers), *numbers, f"{count.longest_s:.2f}", count.largest_bytes >> 20]
        yield f"| {' | '.join(map(str, columns))} |"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the cases and print the table; return 1 if a case was neither read nor refused in one line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=1000, help="cases of each kind (1000)")
    parser.add_argument("--kind", choices=sorted(KINDS), help="only this kind")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first case (0)")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="copy the files of bad cases there")
    args = parser.parse_args(arguments)
    kinds = [KINDS[args.kind]] if args.kind else list(KINDS.values())
    counts = [fuzz(kind, args.cases, args.seed, args.keep) for kind in kinds]
    print("\n".join(table(counts)))
    for count in counts:
        if count.bad:
            print(f"{count.kind}: seeds {count.bad[:20]}", file=sys.stderr)
    return 1 if any(count.bad for count in counts) else 0


if __name__ == "__main__":
    sys.exit(main())
