"""Work at a fixed rate, at a fraction of what a timer of rclpy costs."""

import time
from collections.abc import Callable
from typing import Any

__all__ = ["Periodic"]

LONGEST_SLICE = 0.02  # for which services, parameters and diagnostics may have to wait [s]


class Periodic:
    """Calls a function once a period, several times in one callback of a timer.

    An executor of rclpy collects all entities of a node and builds a wait set from them each time it waits,
    which takes a fifth of a millisecond: more than a step of an estimator. So the timer fires once in a slice
    of up to 20 ms, and its callback sleeps from one period of the slice to the next. Between the last period
    of a slice and the first of the next one the executor serves everything else.
    """

    def __init__(
        self,
        create_timer: Callable[[float, Callable[[], None]], Any],
        period: float,
        work: Callable[[], None],
        *,
        sliced: bool,
    ) -> None:
        """Begin.

        Args:
            create_timer: Creates a timer on the steady clock from its period [s] and callback.
            period: Time between two calls [s].
            work: What is called.
            sliced: Whether several calls may share a callback; else each is one of its own.
        """
        self._period_ns = round(period * 1e9)
        self._count = max(1, int(LONGEST_SLICE / period)) if sliced else 1
        self._work = work
        create_timer(self._count * period, self._on_timer)

    def _on_timer(self) -> None:
        begin_ns = time.monotonic_ns()
        for k in range(self._count):
            ahead_ns = begin_ns + k * self._period_ns - time.monotonic_ns()
            if ahead_ns > 0:
                time.sleep(1e-9 * ahead_ns)
            elif -ahead_ns > self._period_ns:
                continue  # a call took more than its period: the next one makes up for this one
            self._work()
