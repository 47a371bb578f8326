"""Settings of the operating system and of Python's garbage collector for a regular period.

Python's garbage collector interrupts the process whenever enough objects have been created, for up to tens of
milliseconds once a model is loaded. Objects that live as long as the process are therefore excluded
(`gc.freeze`), and the collection runs at a defined time: once per second, after a result is published.
"""

import ctypes
import gc
import os
import time
from pathlib import Path

COLLECTION_PERIOD = 1.0  # [s]
MANY_NEW = 5_000  # objects since the last collection, which a module that is imported late makes
MCL_CURRENT, MCL_FUTURE = 1, 2  # <sys/mman.h> of Linux


def apply_real_time(priority: int) -> list[str]:
    """Set the priority of all threads of the process, and lock its memory, as configured.

    The priority includes the threads of the middleware, which deliver the messages.

    Args:
        priority: Of SCHED_FIFO; 0 asks for nothing.

    Returns:
        One sentence with the remedy for each setting the system has refused; empty if all are applied.
    """
    refused: list[str] = []
    if priority:
        try:
            _set_priority(priority)
        except (OSError, AttributeError) as error:
            refused.append(
                f"realtime_priority {priority} is refused ({error}): allow it with "
                f"'<user> - rtprio {priority}' in /etc/security/limits.conf, or CAP_SYS_NICE"
            )
        try:
            _lock_memory()
        except (OSError, AttributeError) as error:
            refused.append(
                f"locking the memory is refused ({error}): allow it with '<user> - memlock unlimited' "
                "in /etc/security/limits.conf, or CAP_IPC_LOCK"
            )
    return refused


class CycleCollector:
    """Runs the garbage collector once per second, when its owner signals free time.

    Where many objects are new, a module has been imported: what survives is excluded, too, or every later
    collection would visit it.
    """

    def __init__(self) -> None:
        """Exclude all existing objects from collection, and disable the automatic collection."""
        gc.collect()
        gc.freeze()
        gc.disable()
        self._next = time.monotonic() + COLLECTION_PERIOD

    def collect_when_due(self) -> None:
        """Collect garbage if the last collection is at least a period ago."""
        now = time.monotonic()
        if now >= self._next:
            self._next = now + COLLECTION_PERIOD
            many = gc.get_count()[0] > MANY_NEW
            gc.collect()
            if many:
                gc.freeze()


def _set_priority(priority: int) -> None:
    parameters = os.sched_param(priority)
    for thread in Path("/proc/self/task").iterdir():
        os.sched_setscheduler(int(thread.name), os.SCHED_FIFO, parameters)


def _lock_memory() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mlockall(MCL_CURRENT | MCL_FUTURE):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
