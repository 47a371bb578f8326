"""Calls in forked children of this process: one with limits on its time and memory, or several at once."""

import gc
import os
import pickle
import resource
import select
import signal
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

CPU_LIMIT_S = 30
WALL_LIMIT_S = 180  # generous: the machine may be shared
MEMORY_LIMIT = 1 << 30  # bytes beyond what the parent has
OUT_OF_MEMORY = 3  # exit status


class EndedError(Exception):
    """A child was ended by a limit or a signal."""


class _Child(NamedTuple):
    pid: int
    pipe: int  # from which its result is read


def forked(call: Callable[[], Any]) -> Any:
    """Return what a call returns in a forked child with limits on time and memory, or raise EndedError."""
    return _result(_begin(call, limited=True))


def in_parallel(calls: Sequence[Callable[[], Any]], jobs: int) -> Iterator[Any]:
    """Yield what calls return in forked children, as they end, at most so many at once."""
    waiting, running = list(calls), list[_Child]()
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                running.append(_begin(waiting.pop(0), limited=False))
            ready = select.select([child.pipe for child in running], [], [])[0]
            for child in [child for child in running if child.pipe in ready]:
                running.remove(child)
                yield _result(child)
    finally:
        for child in running:
            os.kill(child.pid, signal.SIGTERM)
            os.waitpid(child.pid, 0)


def _begin(call: Callable[[], Any], *, limited: bool) -> _Child:
    readable, writable = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writable)
        return _Child(pid, readable)
    status = 1
    try:
        os.close(readable)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        if limited:
            _limit()
            gc.disable()  # a collection would walk the campaign's own messages within a step
        result = pickle.dumps(call())
        with os.fdopen(writable, "wb") as pipe:
            pipe.write(result)
        status = 0
    except MemoryError:
        status = OUT_OF_MEMORY
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def _result(child: _Child) -> Any:
    with os.fdopen(child.pipe, "rb") as pipe:
        content = pipe.read()
    _, status = os.waitpid(child.pid, 0)
    if os.WIFSIGNALED(status):
        raise EndedError(f"ended by {signal.Signals(os.WTERMSIG(status)).name}")
    if os.WEXITSTATUS(status) == OUT_OF_MEMORY:
        raise EndedError("ended by the limit of memory")
    if os.WEXITSTATUS(status):
        raise RuntimeError("the campaign itself failed in a child; its traceback is above")
    return pickle.loads(content)


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_LIMIT_S, CPU_LIMIT_S + 2))
    with open("/proc/self/statm") as file:
        size = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY_LIMIT, size + MEMORY_LIMIT))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.alarm(WALL_LIMIT_S)
