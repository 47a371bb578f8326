"""A search by one process or several, on one storage."""

from functools import partial

from inertial_estimation.parallel import Workers
from inertial_estimation.tuning.problem import Problem
from inertial_estimation.tuning.search import Search, Trial, run_trials, trials_of


def searched(search: Search, problem: Problem, workers: Workers, count: int = 1) -> list[Trial]:
    """Run a search until it has its trials.

    Args:
        search: What is searched, in a storage that all processes reach.
        problem: What scores the values.
        workers: The processes.
        count: How many of them take part at most; each runs trials until there are enough.

    Returns:
        The completed trials.
    """
    workers.results([partial(run_trials, search, problem.scores, number) for number in range(count)])
    return trials_of(search)
