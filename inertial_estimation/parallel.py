"""Independent calls on many cores, with results that do not depend on their number."""

import itertools
import os
import pickle
import signal
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from inertial_estimation.errors import WorkerError

ResultT = TypeVar("ResultT")
Call = Callable[[], ResultT]
"""A call without arguments that can be pickled: a `functools.partial` of a function of a module."""

MOST_ATTEMPTS = 3  # after a process was killed; more would repeat what exhausts the memory for ever


def timed(compute: Callable[[], ResultT]) -> tuple[ResultT, float]:
    """Return the result of a computation and its duration [s]."""
    start = time.perf_counter()
    return compute(), time.perf_counter() - start


class Workers:
    """Runs independent calls in processes of joblib, or one after the other in this one.

    A call and its result are pickled: calls share no mutable state, also within this process. A result
    depends on its call alone if the call does. It is then the same, bit by bit, with any number of processes,
    where `OMP_NUM_THREADS` is set: else joblib divides the cores among them, and BLAS may sum in other
    orders. The processes end with this one, also when it is killed.
    """

    def __init__(self, jobs: int = 1) -> None:
        """Choose the number of processes; 1 is this process, and needs no joblib (extra `tools`)."""
        self._jobs = jobs

    def results(
        self, calls: Sequence[Call[ResultT]], done: Callable[[int], None] = lambda _count: None
    ) -> list[ResultT]:
        """Run calls and return their results in the order of the calls.

        Args:
            calls: What to run; those that are lost because a process was killed are run again.
            done: Called with the number of completed calls.

        Raises:
            ~inertial_estimation.errors.WorkerError: If processes were killed `MOST_ATTEMPTS` times.
            Exception: What a call raises, as soon as it does; calls that still run are ended.
        """
        pickled, found = [pickle.dumps(call) for call in calls], dict[int, bytes]()
        for _attempt in range(MOST_ATTEMPTS):
            try:
                for number, result in self._run({n: pickled[n] for n in range(len(calls)) if n not in found}):
                    found[number] = result
                    done(len(found))
                return [pickle.loads(found[number]) for number in range(len(calls))]
            except BrokenProcessPool:
                continue
        raise WorkerError(
            f"processes were killed {MOST_ATTEMPTS} times; where memory is short, run fewer at once"
        )

    def _run(self, pickled: dict[int, bytes]) -> Iterable[tuple[int, bytes]]:
        """Return an iterator over numbers and results of the calls, in the order of their completion."""
        if self._jobs == 1:
            return itertools.starmap(_called, pickled.items())
        from joblib import Parallel, delayed

        ending = {"initializer": _end_with, "initargs": (os.getpid(),)}
        pool = Parallel(self._jobs, return_as="generator_unordered", **ending)
        return pool(itertools.starmap(delayed(_called), pickled.items()))  # type: ignore[no-any-return]


def _called(number: int, pickled: bytes) -> tuple[int, bytes]:
    return number, pickle.dumps(pickle.loads(pickled)())


def _end_with(parent: int) -> None:
    """Leave Ctrl-C to the parent, and end when it is killed: joblib would run to the end of the call."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
