"""Duration of a calibration, measured outside of the core, which reads no clock."""

import time
from collections.abc import Callable
from typing import TypeVar

Value = TypeVar("Value")


def timed(compute: Callable[[], Value]) -> tuple[Value, float]:
    """Return the result of a computation and its duration [s]."""
    start = time.perf_counter()
    value = compute()
    return value, time.perf_counter() - start
