"""Tasks of the referee, each in a separate process."""

import multiprocessing
import os
import pkgutil
import resource
import traceback
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple

from benchmarks.referee.row import Row


class SkippedError(Exception):
    """Raised by a task that cannot run here; its text is the reason."""


class Task(NamedTuple):
    """A task: its part, its name, and the function that returns its rows, with arguments.

    The function is named "module:function" and imported only in the process of the task: its imports may
    depend on the environment, and a module that another checkout lacks fails this task only. Tasks that take
    more processor time [s] start first. A task that uses all cores, or measures times, runs alone.
    """

    part: str
    name: str
    function: str
    arguments: tuple[Any, ...] = ()
    cost_s: float = 10.0
    alone: bool = False


class Done(NamedTuple):
    """Result of a task: its rows, its processor time [s], and the reason if it has no rows."""

    task: Task
    rows: Sequence[Row] = ()
    cpu_s: float = 0.0
    failure: str = ""


def run(tasks: Sequence[Task], jobs: int) -> Iterator[Done]:
    """Run tasks in processes, those that run alone at the end; yield each result as its task ends."""
    shared = sorted((task for task in tasks if not task.alone), key=lambda task: -task.cost_s)
    for group in (shared, *([task] for task in tasks if task.alone)):
        yield from _in_processes(group, jobs)


def _in_processes(tasks: Sequence[Task], width: int) -> Iterator[Done]:
    context = multiprocessing.get_context("spawn")
    waiting, running = list(tasks), dict[Any, tuple[Task, Any]]()
    while waiting or running:
        while waiting and len(running) < width:
            pipe, its_end = context.Pipe(duplex=False)
            task = waiting.pop(0)
            process = context.Process(target=_send, args=(task, its_end))
            process.start()
            its_end.close()
            running[pipe] = task, process
        for pipe in wait(list(running)):
            task, process = running.pop(pipe)
            try:
                done: Done = pipe.recv()
            except EOFError:
                process.join()
                done = Done(task, failure=f"crashed: exit code {process.exitcode}")
            yield done
            process.join()


def _send(task: Task, pipe: Connection) -> None:
    pipe.send(_done(task))


def _done(task: Task) -> Done:
    """Run a task in this process without output; return an error as a failure."""
    rows, failure = [], ""
    with open(os.devnull, "w") as silence:
        for descriptor in (1, 2):  # libraries and processes write to these
            os.dup2(silence.fileno(), descriptor)
    try:
        rows = pkgutil.resolve_name(task.function)(*task.arguments)
    except SkippedError as reason:
        failure = f"skipped: {reason}"
    except Exception as error:  # any: the others are still to be measured
        where = traceback.extract_tb(error.__traceback__)[-1]
        failure = f"failed: {type(error).__name__}: {error} ({where.filename}:{where.lineno})"
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return Done(task, rows, sum(one.ru_utime + one.ru_stime for one in used), failure)
