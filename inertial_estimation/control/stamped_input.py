"""Inputs stored by stamp, so that those of one stamp can be combined."""

from collections import Counter
from typing import Generic, TypeVar

from inertial_estimation.signals import Health, HealthLevel, seconds

__all__ = ["StampedInput"]

ValueT = TypeVar("ValueT")
VALUES_KEPT = 64  # values stored until the other inputs of their stamps arrive


class StampedInput(Generic[ValueT]):
    """Values of one input by stamp, with counters.

    Attributes:
        name: Name of the input.
        last_stamp_ns: Newest stamp [ns]; None before the first.
        dropped: Values dropped, by reason.
    """

    def __init__(self, name: str, jump_ns: int | None = None) -> None:
        """Begin empty.

        Args:
            name: Name of the input.
            jump_ns: A stamp this far behind the last one begins anew; None: it is dropped too [ns].
        """
        self.name = name
        self._jump_ns = jump_ns
        self.reset()

    def reset(self) -> None:
        """Forget all values."""
        self.last_stamp_ns: int | None = None
        self.received = 0
        self.dropped: Counter[str] = Counter()
        self._values: dict[int, ValueT] = {}

    def push(self, stamp_ns: int, value: ValueT) -> None:
        """Keep a value; one whose stamp does not move on is dropped and counted, unless time began anew."""
        last = self.last_stamp_ns
        if last is not None and self._jump_ns is not None and last - stamp_ns > self._jump_ns:
            self._values.clear()
            self.last_stamp_ns = None
        if self.last_stamp_ns is not None and stamp_ns <= self.last_stamp_ns:
            self.dropped["stamp not newer"] += 1
            return
        self.received += 1
        self.last_stamp_ns = stamp_ns
        self._values[stamp_ns] = value
        while len(self._values) > VALUES_KEPT:
            del self._values[next(iter(self._values))]

    def stamps(self) -> list[int]:
        """Return the stored stamps, ascending."""
        return list(self._values)

    def get(self, stamp_ns: int) -> ValueT | None:
        """Return the value of a stamp; None if there is none."""
        return self._values.get(stamp_ns)

    def forget_until(self, stamp_ns: int) -> None:
        """Drop all values up to a stamp."""
        for stamp in [s for s in self._values if s <= stamp_ns]:
            del self._values[stamp]

    def stale(self, now_ns: int, timeout: float) -> bool:
        """Return whether the input is missing or older than the timeout [s]."""
        return self.last_stamp_ns is None or seconds(now_ns - self.last_stamp_ns) > timeout

    def health(self, now_ns: int, timeout: float) -> Health:
        """Say how the input is."""
        values = {"received": str(self.received)}
        values |= {f"dropped: {reason}": str(count) for reason, count in sorted(self.dropped.items())}
        if self.last_stamp_ns is None:
            return Health(self.name, HealthLevel.STALE, "nothing received", values)
        age = seconds(now_ns - self.last_stamp_ns)
        values["age [s]"] = f"{age:.3f}"
        if age > timeout:
            return Health(self.name, HealthLevel.STALE, f"the last one is {age:.2f} s old", values)
        level = HealthLevel.WARN if self.dropped else HealthLevel.OK
        return Health(self.name, level, "dropped some" if self.dropped else "arriving", values)
