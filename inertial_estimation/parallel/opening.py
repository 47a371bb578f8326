"""Chooses the kind of workers from a number of processes and the address of a cluster."""

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.parallel.workers import InThisProcess, Workers


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
