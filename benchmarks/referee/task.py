"""Pieces of work of the referee, and how they are shared among processes."""

import multiprocessing
import os
import resource
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field

from benchmarks.referee.row import Row


class SkippedError(Exception):
    """Raised by a task that cannot be done here; its text says why."""


@dataclass(frozen=True)
class Task:
    """A piece of work of one part.

    Attributes:
        part: The part.
        name: What it measures.
        call: Returns the rows; a function of a module with its arguments bound, run in a process of its own.
        cost_s: Processor time that it takes, roughly [s]: the long ones begin first.
        processes: Whether it starts processes of its own for all cores, so that it runs alone.
    """

    part: str
    name: str
    call: Callable[[], list[Row]]
    cost_s: float = 10.0
    processes: bool = False


@dataclass(frozen=True)
class Done:
    """What became of a task.

    Attributes:
        task: The task.
        rows: Its rows.
        cpu_s: Processor time of its process and of the processes that it started [s].
        wall_s: Time that it took [s].
        failure: Why it has no rows; empty where it has.
    """

    part: str
    name: str
    rows: list[Row] = field(default_factory=list)
    cpu_s: float = 0.0
    wall_s: float = 0.0
    failure: str = ""


def run(tasks: Sequence[Task], jobs: int) -> Iterator[Done]:
    """Run tasks, those that need all cores or measure times one after another at the end.

    Args:
        tasks: The tasks.
        jobs: Number of processes.

    Yields:
        What became of each, in the order in which they end.
    """
    shared = sorted((task for task in tasks if not task.processes), key=lambda task: -task.cost_s)
    for group, width in ((shared, jobs), *(([task], 1) for task in tasks if task.processes)):
        yield from _in_processes(group, width)


def _in_processes(tasks: Sequence[Task], width: int) -> Iterator[Done]:
    context = multiprocessing.get_context("spawn")
    waiting = list(tasks)
    running: dict[Future[Done], tuple[Task, ProcessPoolExecutor]] = {}
    while waiting or running:
        while waiting and len(running) < width:
            task = waiting.pop(0)
            pool = ProcessPoolExecutor(1, mp_context=context)  # so that none is ended by another one's crash
            running[pool.submit(_done, task)] = task, pool
        ended, _ = wait(running, return_when=FIRST_COMPLETED)
        for future in ended:
            task, pool = running.pop(future)
            error = future.exception()
            yield Done(task.part, task.name, failure=f"crashed: {error}") if error else future.result()
            pool.shutdown()


def _done(task: Task) -> Done:
    """Run a task in this process, silently; what goes wrong is an answer, too."""
    begin_s, rows, failure = time.monotonic(), [], ""
    with open(os.devnull, "w") as silence:
        for descriptor in (1, 2):  # libraries and processes write to these
            os.dup2(silence.fileno(), descriptor)
    try:
        rows = task.call()
    except SkippedError as reason:
        failure = f"skipped: {reason}"
    except Exception as error:  # any: the others are still to be measured
        where = traceback.extract_tb(error.__traceback__)[-1]
        failure = f"failed: {type(error).__name__}: {error} ({where.filename}:{where.lineno})"
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    cpu_s = sum(one.ru_utime + one.ru_stime for one in used)
    return Done(task.part, task.name, rows, cpu_s, time.monotonic() - begin_s, failure)
