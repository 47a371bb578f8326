"""A search by one process or several, on one storage."""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from inertial_estimation.tuning.problem import Problem
from inertial_estimation.tuning.search import Search, Trial, run_trials, trials_of

__all__ = ["searched"]


def searched(search: Search, problem: Problem, jobs: int = 1) -> list[Trial]:
    """Run a search until it has its trials.

    Args:
        search: What is searched, in a storage that all processes reach.
        problem: What scores the values.
        jobs: Number of processes.

    Returns:
        The completed trials.
    """
    if jobs == 1:
        run_trials(search, problem.scores)
    else:
        with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
            for future in [pool.submit(run_trials, search, problem.scores, k) for k in range(jobs)]:
                future.result()
    return trials_of(search)
