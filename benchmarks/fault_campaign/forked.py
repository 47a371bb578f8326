"""Calls in a forked child of this process, with limits on its time and memory."""

import gc
import os
import pickle
import resource
import signal
import traceback
from collections.abc import Callable
from typing import Any

CPU_LIMIT_S = 30
WALL_LIMIT_S = 180  # generous: the machine may be shared
MEMORY_LIMIT = 1 << 30  # bytes beyond what the parent has


class EndedError(Exception):
    """A child ended without a verdict."""

    def __init__(self, text: str, *, over_time: bool) -> None:
        super().__init__(text)
        self.over_time = over_time


def forked(call: Callable[[], Any]) -> Any:
    """Return what a call returns in a forked child with limits on time and memory.

    Raises:
        EndedError: If the child was ended by a limit or a signal.
    """
    readable, writable = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(readable)
        status = 1
        try:
            _limit()
            gc.disable()  # a collection would walk the campaign's own readings within a step
            result = pickle.dumps(call())
            with os.fdopen(writable, "wb") as pipe:
                pipe.write(result)
            status = 0
        except MemoryError:
            status = 3
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    os.close(writable)
    with os.fdopen(readable, "rb") as pipe:
        content = pipe.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        over = number in (signal.SIGXCPU, signal.SIGALRM, signal.SIGKILL)
        raise EndedError(f"ended by {signal.Signals(number).name}", over_time=over)
    if os.WEXITSTATUS(status) == 3:
        raise EndedError("ended by the limit of memory", over_time=True)
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
