"""What a node asks of the operating system and of Python so that its period holds.

Python stops everything to look for reference cycles whenever enough objects have been made, for up to tens of
milliseconds once a model is loaded. So what lives as long as the process is set apart (`gc.freeze`), and the
search is made at a known moment: once a second, right after a result has gone out.
"""

import ctypes
import gc
import os
import time
from pathlib import Path

from inertial_estimation.configuration.node_options import RealTimeOptions

__all__ = ["CycleCollector", "apply_real_time"]

COLLECTION_PERIOD = 1.0  # [s]
MCL_CURRENT, MCL_FUTURE = 1, 2  # <sys/mman.h> of Linux


def apply_real_time(options: RealTimeOptions) -> list[str]:
    """Set the priority of all threads of the process, and lock its memory, as asked.

    The middleware's threads get the priority as well: a message they have not delivered cannot be read.

    Args:
        options: What is asked for.

    Returns:
        What the system refused, with the remedy, a sentence each; empty where all is as asked.
    """
    refused = []
    if options.priority:
        try:
            _set_priority(options.priority)
        except (OSError, AttributeError) as error:
            refused.append(
                f"realtime.priority {options.priority} is refused ({error}): allow it with "
                f"'<user> - rtprio {options.priority}' in /etc/security/limits.conf, or CAP_SYS_NICE"
            )
    if options.lock_memory:
        try:
            _lock_memory()
        except (OSError, AttributeError) as error:
            refused.append(
                f"realtime.lock_memory is refused ({error}): allow it with '<user> - memlock unlimited' "
                "in /etc/security/limits.conf, or CAP_IPC_LOCK"
            )
    return refused


class CycleCollector:
    """Searches for reference cycles once a second, when its owner says that time is free."""

    def __init__(self) -> None:
        """Set apart what exists, and keep Python from searching by itself."""
        gc.collect()
        gc.freeze()
        gc.disable()
        self._next = time.monotonic() + COLLECTION_PERIOD

    def collect_when_due(self) -> None:
        """Search, if the last search is a period ago."""
        now = time.monotonic()
        if now >= self._next:
            self._next = now + COLLECTION_PERIOD
            gc.collect()


def _set_priority(priority: int) -> None:
    parameters = os.sched_param(priority)
    for thread in Path("/proc/self/task").iterdir():
        os.sched_setscheduler(int(thread.name), os.SCHED_FIFO, parameters)


def _lock_memory() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mlockall(MCL_CURRENT | MCL_FUTURE):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
