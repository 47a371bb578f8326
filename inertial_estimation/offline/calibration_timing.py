"""How long a calibration takes: the core reads no clock."""

import time
from collections.abc import Callable
from typing import TypeVar

__all__ = ["timed"]

Value = TypeVar("Value")


def timed(compute: Callable[[], Value]) -> tuple[Value, float]:
    """Return what a computation gives, and how long it took [s]."""
    start = time.perf_counter()
    value = compute()
    return value, time.perf_counter() - start
