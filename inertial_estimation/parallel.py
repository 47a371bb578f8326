"""Independent calls on many cores and machines, with results that do not depend on their number."""

import asyncio
import hashlib
import multiprocessing
import os
import pickle
import signal
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from functools import lru_cache
from importlib import metadata
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from inertial_estimation.errors import ConfigurationError, MissingDependencyError, WorkerError

ResultT = TypeVar("ResultT")
Call = Callable[[], ResultT]
"""A call without arguments that can be pickled: a `functools.partial` of a function of a module."""

MOST_ATTEMPTS = 3  # of a call whose process was killed; more would repeat what exhausts the memory for ever
CONNECT_S, FIRST_WORKER_S = 10.0, 60.0  # to find the scheduler of a cluster, to wait for a worker
NUMERICAL_PACKAGES = ("numpy", "scipy", "pin")  # whose versions can change results
OUT = "where memory is short, run fewer at once"
KILLED = f"was killed {MOST_ATTEMPTS} times; {OUT}"


def timed(compute: Callable[[], ResultT]) -> tuple[ResultT, float]:
    """Return the result of a computation and its duration [s]."""
    start = time.perf_counter()
    return compute(), time.perf_counter() - start


class Workers(AbstractContextManager["Workers"]):
    """Runs independent calls, here one after the other; the derived classes run them elsewhere.

    A call and its result are pickled, and each result is returned exactly once. A result depends on its call
    alone if the call does. It is then the same, bit by bit, with every kind and number of workers on equal
    machines: no call sees what another has changed, also in this process.
    """

    def completed(self, calls: Sequence[Call[ResultT]]) -> Iterator[tuple[int, ResultT]]:
        """Run calls; one whose process or machine ends before its result has arrived is run again.

        Yields:
            Number of a call in the sequence, and its result, as soon as there is one. Ending the iteration
            early ends the calls that run.

        Raises:
            ~inertial_estimation.errors.WorkerError: If the process of a call was killed `MOST_ATTEMPTS`
                times.
            Exception: What a call raises, as soon as it does.
        """
        for number, call in enumerate(calls):
            yield number, pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(call))()))

    def results(
        self, calls: Sequence[Call[ResultT]], done: Callable[[int], None] = lambda _count: None
    ) -> list[ResultT]:
        """Run calls and return their results in the order of the calls.

        Args:
            calls: What to run.
            done: Called with the number of completed calls.
        """
        found: dict[int, ResultT] = {}
        for number, result in self.completed(calls):
            found[number] = result
            done(len(found))
        return [found[number] for number in range(len(calls))]

    def close(self) -> None:
        """End the workers."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class LocalProcesses(Workers):
    """Runs calls in a number of processes, each started when it is first needed.

    Each has a pipe of its own: one that is killed loses its own call alone, which is known. They are spawned:
    a fork would copy locks that threads of this process may hold, and its number of BLAS threads.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._processes: dict[Any, SpawnProcess] = {}  # by the pipe to them

    def completed(self, calls: Sequence[Call[ResultT]]) -> Iterator[tuple[int, ResultT]]:
        """Run calls, as many at a time as there are processes."""
        waiting, attempts, busy = deque(range(len(calls))), Counter[int](), dict[Any, int]()
        try:
            while waiting or busy:
                while waiting and len(busy) < self._count:
                    pipe = next((one for one in self._processes if one not in busy), None) or self._start()
                    busy[pipe] = waiting.popleft()
                    with suppress(OSError):  # killed while it had nothing to do, which is seen below
                        pipe.send(calls[busy[pipe]])
                ready: list[Any] = wait(list(busy))
                for pipe in ready:
                    number = busy.pop(pipe)
                    try:
                        result, error = pipe.recv()
                    except (EOFError, OSError):
                        self._end(pipe)
                        attempts[number] += 1
                        if attempts[number] == MOST_ATTEMPTS:
                            raise WorkerError(
                                f"the process of call {number + 1} of {len(calls)} {KILLED}"
                            ) from None
                        waiting.appendleft(number)
                        continue
                    if error is not None:
                        raise error
                    yield number, result
        finally:
            for pipe in busy:
                self._end(pipe)

    def close(self) -> None:
        """End the processes."""
        for pipe in list(self._processes):
            self._end(pipe)

    def _start(self) -> Any:
        ours, theirs = multiprocessing.Pipe()
        self._processes[ours] = SpawnProcess(target=_serve, args=(theirs,))
        self._processes[ours].start()
        theirs.close()  # the end of the process is then the end of the pipe
        return ours

    def _end(self, pipe: Any) -> None:
        process = self._processes.pop(pipe)
        process.kill()
        process.join()
        pipe.close()


def _serve(pipe: Connection) -> None:
    """Run the calls that come, leave Ctrl-C to the parent process, and end with it even if it is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    while True:
        call = pipe.recv_bytes()
        try:
            answer = pickle.dumps((pickle.loads(call)(), None))
        except Exception as error:
            answer = pickle.dumps((None, error))
        pipe.send_bytes(answer)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
    os._exit(1)


class DaskCluster(Workers):
    """Runs calls on a Dask cluster, whose scheduler repeats those of workers that are lost.

    Every worker has one thread, since calls are not made to share a process, and the sources and numerical
    packages of this process: otherwise results would depend on which worker has computed them.
    """

    def __init__(self, address: str) -> None:
        """Connect to the scheduler (``tcp://10.0.0.1:8786``), and wait for a first worker."""
        try:
            from distributed import Client
        except ModuleNotFoundError as error:
            raise MissingDependencyError(
                f"a cluster needs the package '{error.name}': pip install 'inertial_estimation[cluster]'"
            ) from error
        self._address, start = address, f"dask worker {address} --nthreads 1"
        try:
            self._client = Client(address, timeout=CONNECT_S, set_as_default=False)
        except (OSError, ValueError, asyncio.TimeoutError) as error:
            reason = str(error).partition("\n")[0] or type(error).__name__
            raise WorkerError(f"no Dask scheduler at '{address}' (tcp://HOST:PORT): {reason}") from None
        try:
            self._client.wait_for_workers(1, timeout=FIRST_WORKER_S)
        except asyncio.TimeoutError:  # another one than TimeoutError before Python 3.11
            self.close()
            raise WorkerError(f"'{address}' has had no worker for {FIRST_WORKER_S:g} s; '{start}'") from None
        for worker, count in self._client.nthreads().items():
            if count != 1:
                self.close()
                raise WorkerError(f"the worker {worker} has {count} threads, expected 1: run '{start}'")

    def completed(self, calls: Sequence[Call[ResultT]]) -> Iterator[tuple[int, ResultT]]:
        """Run calls on all workers of the cluster."""
        from distributed import KilledWorker, as_completed
        from distributed.client import FutureCancelledError

        code = source_digest()
        sent = [self._client.submit(_run, code, pickle.dumps(call), pure=False) for call in calls]
        futures = {future: number for number, future in enumerate(sent)}
        try:
            for future in as_completed(sent, loop=self._client.loop):
                number = futures.pop(future)
                yield number, pickle.loads(future.result())
        except KilledWorker:
            raise WorkerError(f"the worker of call {number + 1} was lost again and again: {OUT}") from None
        except FutureCancelledError as error:
            raise WorkerError(f"the scheduler at '{self._address}' has been lost: {error}") from None
        except ModuleNotFoundError as error:
            raise WorkerError(f"a worker of '{self._address}' has no module '{error.name}'") from None
        finally:
            self._client.cancel(list(futures))

    def close(self) -> None:
        """Leave the cluster, which goes on."""
        self._client.close()


def _run(code: str, call: bytes) -> bytes:
    """Run a pickled call; Dask's way of sending arrays keeps other strides, and makes them read-only."""
    if source_digest() != code:
        raise WorkerError(
            "a worker has other sources of inertial_estimation, or other versions of "
            f"{', '.join(NUMERICAL_PACKAGES)}, than this process: its results would differ"
        )
    return pickle.dumps(pickle.loads(call)())


@lru_cache(maxsize=1)
def source_digest() -> str:
    """Return a digest of the sources of this package and the versions of the numerical packages."""
    sources = Path(__file__).resolve().parent
    digest = hashlib.sha256()
    for name in NUMERICAL_PACKAGES:
        digest.update("".join(one.version for one in metadata.distributions(name=name)).encode())
    for path in sorted(sources.rglob("*.py")):
        digest.update(path.relative_to(sources).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()


def open_workers(jobs: int = 1, cluster: str = "") -> Workers:
    """Return workers, to be used in a ``with`` statement; what they compute does not depend on their kind.

    Args:
        jobs: Number of processes on this machine; 1 is this process.
        cluster: Address of the scheduler of a Dask cluster, empty for none.

    Raises:
        ConfigurationError: If there is no job, or both are given.
        ~inertial_estimation.errors.MissingDependencyError: If Dask is not installed.
        ~inertial_estimation.errors.WorkerError: If the cluster cannot be used.
    """
    if jobs < 1:
        raise ConfigurationError(f"the number of jobs is {jobs}, expected at least 1")
    if cluster and jobs != 1:
        raise ConfigurationError("jobs and a cluster are given, expected one of them")
    if cluster:
        return DaskCluster(cluster)
    return Workers() if jobs == 1 else LocalProcesses(jobs)
