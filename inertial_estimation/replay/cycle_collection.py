"""Garbage collection while a recording is replayed."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_cycle_collection() -> Iterator[None]:
    """Pause the garbage collector, which would only traverse all stored estimates repeatedly.

    What has been stored then counts as old: the next collection of new objects does not traverse it, either.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            if not gc.get_freeze_count():  # else somebody has put objects aside, which are to stay there
                gc.freeze()
                gc.unfreeze()
            gc.enable()
