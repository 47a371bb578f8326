"""Calls on the workers of a Dask cluster."""

import asyncio
import hashlib
import pickle
from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inertial_estimation.errors import MissingDependencyError, WorkerError
from inertial_estimation.parallel.workers import Call, ResultT, Workers, pickled

if TYPE_CHECKING:
    from distributed import Client

CONNECT_S = 10.0  # to find the scheduler
FIRST_WORKER_S = 60.0  # to wait for a worker
NUMERICAL_PACKAGES = ("numpy", "scipy", "pin")  # whose versions can change results
SOURCES = Path(__file__).resolve().parents[1]


class DaskCluster(Workers):
    """Runs calls on a Dask cluster, whose scheduler repeats those of workers that are lost.

    Every worker has one thread, since calls are not made to share a process, and the sources and numerical
    packages of this process: otherwise results would depend on which worker has computed them. Both are
    checked, the latter for every call, as workers may come while others work.
    """

    def __init__(self, address: str) -> None:
        """Connect to the scheduler, and wait for a first worker.

        Args:
            address: Of the scheduler, for instance ``tcp://10.0.0.1:8786``.

        Raises:
            MissingDependencyError: If Dask is not installed.
            ~inertial_estimation.errors.WorkerError: If there is no scheduler or no worker, or a worker has
                several threads.
        """
        self._address = address
        self._client = _connected(address)
        try:
            self._client.wait_for_workers(1, timeout=FIRST_WORKER_S)
        except asyncio.TimeoutError:  # another one than TimeoutError before Python 3.11
            self.close()
            raise WorkerError(
                f"the scheduler at '{address}' has had no worker for {FIRST_WORKER_S:g} s; start one by "
                f"'dask worker {address} --nthreads 1'"
            ) from None
        threads = {worker: count for worker, count in self._client.nthreads().items() if count != 1}
        if threads:
            self.close()
            worker, count = next(iter(threads.items()))
            raise WorkerError(
                f"the worker {worker} has {count} threads, expected 1; start workers by "
                f"'dask worker {address} --nthreads 1 --nworkers N'"
            )

    def completed(self, calls: Sequence[Call[ResultT]]) -> Iterator[tuple[int, ResultT]]:
        """Run calls on all workers of the cluster."""
        from distributed import as_completed

        code = _code()
        futures = {
            self._client.submit(_run, code, pickled(call), pure=False): number
            for number, call in enumerate(calls)
        }
        try:
            for future in as_completed(list(futures), loop=self._client.loop):
                number = futures.pop(future)
                yield number, self._result(future, number, len(calls))
        finally:
            self._client.cancel(list(futures))

    def close(self) -> None:
        """Leave the cluster, which goes on."""
        self._client.close()

    def _result(self, future: Any, number: int, count: int) -> Any:
        from distributed import KilledWorker
        from distributed.client import FutureCancelledError

        try:
            return pickle.loads(future.result())
        except KilledWorker:
            raise WorkerError(
                f"the worker of call {number + 1} of {count} was lost again and again; where memory is "
                "short, start fewer workers on a machine"
            ) from None
        except FutureCancelledError as error:
            raise WorkerError(f"the scheduler at '{self._address}' has been lost: {error}") from None
        except ModuleNotFoundError as error:
            raise WorkerError(
                f"a worker of '{self._address}' lacks the Python module '{error.name}'"
            ) from None


def _connected(address: str) -> "Client":
    try:
        from distributed import Client
    except ModuleNotFoundError as error:
        raise MissingDependencyError(
            f"a cluster needs the Python package '{error.name}' (pip install 'inertial_estimation[cluster]')"
        ) from error
    try:
        return Client(address, timeout=CONNECT_S, set_as_default=False)
    except (OSError, ValueError, asyncio.TimeoutError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise WorkerError(f"no Dask scheduler at '{address}' (tcp://HOST:PORT): {reason}") from None


def _run(code: str, call: bytes) -> bytes:
    """Run a pickled call on a worker that has the code of the process that asks for it.

    Dask's own way of sending arrays keeps other strides than pickle, and makes them read-only.
    """
    if _code() != code:
        raise WorkerError(
            "a worker has other sources of inertial_estimation, or other versions of "
            f"{', '.join(NUMERICAL_PACKAGES)}, than this process: its results would differ"
        )
    return pickled(pickle.loads(call)())


@lru_cache(maxsize=1)
def _code() -> str:
    """Return a digest of the sources of this package and the versions of the numerical packages."""
    digest = hashlib.sha256()
    for path in sorted(SOURCES.rglob("*.py")):
        digest.update(path.relative_to(SOURCES).as_posix().encode())
        digest.update(path.read_bytes())
    for package in NUMERICAL_PACKAGES:
        try:
            digest.update(metadata.version(package).encode())
        except metadata.PackageNotFoundError:
            digest.update(b"none")
    return digest.hexdigest()
