"""What runs independent calls: the interface of processes and clusters, and this process."""

import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import TypeVar

from inertial_estimation.errors import ConfigurationError

ResultT = TypeVar("ResultT")
WorkersT = TypeVar("WorkersT", bound="Workers")
Call = Callable[[], ResultT]
"""A call without arguments that can be pickled: a `functools.partial` of a function of a module."""

MOST_ATTEMPTS = 3  # of a call whose process was killed; more would repeat what exhausts the memory for ever


class Workers(ABC):
    """Runs independent calls. A call and its result are pickled, and each result is returned exactly once.

    A result depends on its call alone if the call does: on what it is given, on seeds it is given, and on
    nothing that another call leaves behind. It is then the same, bit by bit, with every kind and number of
    workers on equal machines and with equal numbers of threads of the linear algebra.
    """

    @abstractmethod
    def completed(self, calls: Sequence[Call[ResultT]]) -> Iterator[tuple[int, ResultT]]:
        """Run calls; a call whose process or machine ends before its result has arrived is run again.

        Args:
            calls: What to run.

        Yields:
            Number of a call in the sequence, and its result, as soon as there is one. Ending the iteration
            early ends the calls that run.

        Raises:
            ~inertial_estimation.errors.WorkerError: If the process of a call was killed `MOST_ATTEMPTS`
                times.
            Exception: What a call raises, as soon as it does.
        """

    @abstractmethod
    def close(self) -> None:
        """End the workers."""

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

    def __enter__(self: WorkersT) -> WorkersT:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class InThisProcess(Workers):
    """Runs one call after the other here.

    Calls and results are pickled nevertheless: no call sees what another has changed, and an array that is a
    view becomes one of its own, whose sums may be rounded differently.
    """

    def completed(self, calls: Sequence[Call[ResultT]]) -> Iterator[tuple[int, ResultT]]:
        """Run calls in their order."""
        for number, call in enumerate(calls):
            yield number, copied(copied(call)())

    def close(self) -> None:
        """Nothing is left to end."""


def pickled(value: object) -> bytes:
    """Return a call or a result as it is sent to another process."""
    return pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)


def copied(value: ResultT) -> ResultT:
    """Return a value as another process receives it."""
    copy: ResultT = pickle.loads(pickled(value))
    return copy


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
    if cluster:
        if jobs != 1:
            raise ConfigurationError("jobs and a cluster are given, expected one of them")
        from inertial_estimation.parallel.dask_cluster import DaskCluster

        return DaskCluster(cluster)
    if jobs == 1:
        return InThisProcess()
    from inertial_estimation.parallel.local_processes import LocalProcesses

    return LocalProcesses(jobs)
