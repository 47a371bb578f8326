"""Calls in forked children of this process: one with limits on its time and memory, or several at once."""

import gc
import multiprocessing
import os
import resource
import signal
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from typing import Any

CPU_LIMIT_S = 90  # a case takes 10 to 30 s, by the machine
WALL_LIMIT_S = 180  # generous: the machine may be shared
MEMORY_LIMIT = 1 << 30  # bytes beyond what the parent has
OUT_OF_MEMORY = 3  # exit status
CONTEXT = multiprocessing.get_context("fork")


class EndedError(Exception):
    """A child was ended by a limit or a signal."""


def forked(call: Callable[[], Any], *, limited: bool = True) -> Any:
    """Return what a call returns in a forked child with limits on time and memory, or raise EndedError.

    The child of a limited one has the limits of its parent.
    """
    return _result(*_begin(call, limited=limited))


def in_parallel(calls: Sequence[Callable[[], Any]], jobs: int) -> Iterator[Any]:
    """Yield what calls return in forked children, as they end, at most so many at once."""
    waiting, running = list(calls), dict[Any, ForkProcess]()
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                pipe, child = _begin(waiting.pop(0), limited=False)
                running[pipe] = child
            for ready in wait(list(running)):
                yield _result(ready, running.pop(ready))
    finally:
        for child in running.values():
            child.terminate()
            child.join()


def _begin(call: Callable[[], Any], *, limited: bool) -> tuple[Connection, ForkProcess]:
    readable, writable = CONTEXT.Pipe(duplex=False)
    child = CONTEXT.Process(target=_run, args=(call, writable, limited))
    child.start()
    writable.close()
    return readable, child


def _run(call: Callable[[], Any], pipe: Connection, limited: bool) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    if limited:
        _limit()
        gc.disable()  # a collection would walk the campaign's own messages within a step
    try:
        pipe.send(call())
    except MemoryError:
        os._exit(OUT_OF_MEMORY)


def _result(pipe: Connection, child: ForkProcess) -> Any:
    found, ended = None, False
    with pipe:
        try:
            found = pipe.recv()
        except EOFError:
            ended = True
    child.join()
    status = child.exitcode or 0
    if status < 0:
        raise EndedError(f"ended by {signal.Signals(-status).name}")
    if status == OUT_OF_MEMORY:
        raise EndedError("ended by the limit of memory")
    if status or ended:
        raise RuntimeError("the campaign itself failed in a child; its traceback is above")
    return found


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_LIMIT_S, CPU_LIMIT_S + 2))
    with open("/proc/self/statm") as file:
        size = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY_LIMIT, size + MEMORY_LIMIT))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.alarm(WALL_LIMIT_S)
