"""Calls in processes of this machine."""

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from typing import Any

from inertial_estimation.errors import WorkerError
from inertial_estimation.parallel.workers import MOST_ATTEMPTS, Call, ResultT, Workers


class LocalProcesses(Workers):
    """Runs calls in a number of processes, each started when it is first needed.

    Each process is the only one of its executor: an executor of many breaks as a whole when one of them is
    killed, which would lose what the others are computing, and hide whose call it was.
    """

    def __init__(self, count: int) -> None:
        """Start nothing yet.

        Args:
            count: Number of processes, at least 1.
        """
        self._count = count
        self._idle: list[_Process] = []
        self._busy: dict[Future[Any], tuple[_Process, int]] = {}

    def completed(self, calls: Sequence[Call[ResultT]]) -> Iterator[tuple[int, ResultT]]:
        """Run calls, as many at a time as there are processes."""
        waiting = deque(range(len(calls)))
        attempts = [0] * len(calls)
        try:
            while waiting or self._busy:
                while waiting and len(self._busy) < self._count:
                    self._begin(calls, waiting.popleft())
                for future in wait(self._busy, return_when=FIRST_COMPLETED).done:
                    process, number = self._busy.pop(future)
                    try:
                        result = future.result()
                    except BrokenProcessPool:
                        process.end()
                        attempts[number] += 1
                        if attempts[number] == MOST_ATTEMPTS:
                            raise WorkerError(_killed(number, len(calls))) from None
                        waiting.appendleft(number)
                        continue
                    self._idle.append(process)
                    yield number, result
        finally:
            for process, _number in self._busy.values():
                process.kill()
            self._busy.clear()

    def close(self) -> None:
        """End the processes."""
        for process in self._idle:
            process.end()
        self._idle.clear()

    def _begin(self, calls: Sequence[Call[Any]], number: int) -> None:
        while self._idle:
            process = self._idle.pop()
            try:
                self._busy[process.begin(calls[number])] = (process, number)
            except BrokenProcessPool:  # killed while it had nothing to do
                process.end()
            else:
                return
        process = _Process()
        self._busy[process.begin(calls[number])] = (process, number)


class _Process:
    """One process, which ends with this one."""

    def __init__(self) -> None:
        # a fork would copy locks that threads of this process may hold, and its number of BLAS threads
        context = multiprocessing.get_context("spawn")
        self._executor = ProcessPoolExecutor(1, mp_context=context, initializer=_prepare)
        self._pid = self._executor.submit(os.getpid)

    def begin(self, call: Call[ResultT]) -> Future[ResultT]:
        """Run a call.

        Raises:
            BrokenProcessPool: If the process has been killed.
        """
        return self._executor.submit(call)

    def end(self) -> None:
        """End the process, which does nothing or has been killed."""
        self._executor.shutdown()

    def kill(self) -> None:
        """End the process in the middle of a call."""
        with suppress(BrokenProcessPool, ProcessLookupError):
            os.kill(self._pid.result(), signal.SIGKILL)  # once it has started
        # The executor's thread may be reading a result of which the rest never comes. It would wait for ever,
        # since this process has the writing end of that pipe open, too.
        results = getattr(self._executor, "_result_queue", None)
        if results is not None:
            results._writer.close()
        self._executor.shutdown(cancel_futures=True)


def _prepare() -> None:
    """Leave Ctrl-C to the parent process, and end with it even if it is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
    os._exit(1)


def _killed(number: int, count: int) -> str:
    return (
        f"the process of call {number + 1} of {count} was killed {MOST_ATTEMPTS} times; "
        "where memory is short, run fewer at once"
    )
