"""Independent calls on many cores, with results that do not depend on their number."""

import os
import pickle
import signal
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any, TypeVar

from inertial_estimation.errors import ConfigurationError, WorkerError

ResultT = TypeVar("ResultT")
Call = Callable[[], ResultT]
"""A call without arguments that can be pickled: a `functools.partial` of a function of a module."""

MOST_ATTEMPTS = 3  # after a process was killed; more would repeat what exhausts the memory for ever


def timed(compute: Callable[[], ResultT]) -> tuple[ResultT, float]:
    """Return the result of a computation and its duration [s]."""
    start = time.perf_counter()
    return compute(), time.perf_counter() - start


class Workers(AbstractContextManager["Workers"]):
    """Runs independent calls in a number of processes, or one after the other in this one.

    A call and its result are pickled: no call sees what another has changed, also in this process. A result
    depends on its call alone if the call does. It is then the same, bit by bit, with any number of processes.
    They are spawned: a fork would copy locks that threads of this process may hold, and its number of BLAS
    threads. They end with this process, also when it is killed.
    """

    def __init__(self, jobs: int = 1) -> None:
        """Choose the number of processes; 1 is this process.

        Raises:
            ConfigurationError: If there is none.
        """
        if jobs < 1:
            raise ConfigurationError(f"the number of jobs is {jobs}, expected at least 1")
        self._jobs = jobs
        self._pool: ProcessPoolExecutor | None = None
        self._life: Connection | None = None  # end of a pipe; the processes end when it is closed

    def results(
        self, calls: Sequence[Call[ResultT]], done: Callable[[int], None] = lambda _count: None
    ) -> list[ResultT]:
        """Run calls and return their results in the order of the calls.

        Args:
            calls: What to run; those that are lost because a process was killed are run again.
            done: Called with the number of completed calls.

        Raises:
            ~inertial_estimation.errors.WorkerError: If processes were killed `MOST_ATTEMPTS` times.
            Exception: What a call raises, as soon as it does; those that run are ended.
        """
        found: dict[int, ResultT] = {}
        if self._jobs == 1:
            for number, call in enumerate(calls):
                found[number] = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(call))()))
                done(len(found))
        attempts = 0
        while len(found) < len(calls):
            if attempts == MOST_ATTEMPTS:
                raise WorkerError(
                    f"processes were killed {attempts} times; where memory is short, run fewer at once"
                )
            attempts += 1
            try:
                self._run(calls, found, done)
            except BaseException as error:
                self.close()
                if not isinstance(error, BrokenProcessPool):
                    raise
        return [found[number] for number in range(len(calls))]

    def _run(self, calls: Sequence[Call[Any]], found: dict[int, Any], done: Callable[[int], None]) -> None:
        """Run the calls that have no result yet."""
        pool = self._pool or self._start()
        futures = {pool.submit(call): number for number, call in enumerate(calls) if number not in found}
        for future in as_completed(futures):
            found[futures[future]] = future.result()
            done(len(found))

    def _start(self) -> ProcessPoolExecutor:
        context = get_context("spawn")
        theirs, self._life = context.Pipe(duplex=False)
        self._pool = ProcessPoolExecutor(self._jobs, context, initializer=_end_with, initargs=(theirs,))
        return self._pool

    def close(self) -> None:
        """End the processes, and what they run."""
        if self._pool is not None and self._life is not None:
            self._life.close()
            self._pool.shutdown(cancel_futures=True)
        self._pool = self._life = None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _end_with(life: Connection) -> None:
    """Leave Ctrl-C to the parent process, and end when it closes the other end of a pipe, or is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        with suppress(EOFError, OSError):
            life.recv()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
