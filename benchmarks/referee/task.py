"""Pieces of work of the referee, and how they are shared among processes."""

import multiprocessing
import os
import resource
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from typing import NamedTuple

from benchmarks.referee.row import Row


class SkippedError(Exception):
    """Raised by a task that cannot be done here; its text says why."""


class Task(NamedTuple):
    """A piece of work: its part, its name, and a function of a module, arguments bound, that returns rows.

    It runs in a process of its own; those that cost more processor time [s] begin first. One that starts
    processes for all cores, or measures times, runs alone.
    """

    part: str
    name: str
    call: Callable[[], list[Row]]
    cost_s: float = 10.0
    processes: bool = False


class Done(NamedTuple):
    """What became of a task: its rows, its processor and wall-clock time [s], and why it has no rows."""

    part: str
    name: str
    rows: Sequence[Row] = ()
    cpu_s: float = 0.0
    wall_s: float = 0.0
    failure: str = ""


def run(tasks: Sequence[Task], jobs: int) -> Iterator[Done]:
    """Run tasks in processes, those that run alone at the end; yield what became of each as it ends."""
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
