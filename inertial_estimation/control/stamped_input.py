"""Inputs stored by stamp, so that those of one stamp can be combined."""

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from inertial_estimation.models.drop_reasons import DropCounts, DropReason
from inertial_estimation.signals import NANOSECONDS, Health, HealthLevel, seconds

ValueT = TypeVar("ValueT")
VALUES_TO_BELIEVE = 3  # consecutive values of a lone input on another clock, which it then has
VALUES_KEPT = 64  # values stored until the other inputs of their stamps arrive


class StampedInput(Generic[ValueT]):
    """Values of one input by stamp, with counters.

    Attributes:
        name: Name of the input.
        last_stamp_ns: Newest stamp [ns]; None before the first.
        drops: Values dropped, by reason.
    """

    def __init__(self, name: str, jump_ns: int | None = None, step_ns: int = NANOSECONDS) -> None:
        """Begin empty.

        Args:
            name: Name of the input.
            jump_ns: A stamp this far behind the last one may begin anew; None: it is dropped too [ns].
            step_ns: Longest step ahead that needs no confirmation [ns].
        """
        self.name = name
        self._jump_ns, self._step_ns = jump_ns, step_ns
        self.reset()

    def reset(self) -> None:
        """Forget all values."""
        self.last_stamp_ns: int | None = None
        self.received = 0
        self.drops = DropCounts()
        self._values: dict[int, ValueT] = {}
        self._held: dict[int, ValueT] = {}  # consecutive values on another clock, until it is confirmed

    def push(self, stamp_ns: int, value: ValueT) -> None:
        """Keep a value; one whose stamp does not move on is dropped and counted.

        One far from the last stamp is held until `jump` confirms that the clock has jumped, or until a value
        on the clock before shows that it has not.

        """
        last = self.last_stamp_ns
        step = 1 if last is None else stamp_ns - last
        if step > self._step_ns or (self._jump_ns is not None and step < -self._jump_ns):
            self._hold(stamp_ns, value)
            return
        if step <= 0:
            self.drop(DropReason.EQUAL_STAMP if step == 0 else DropReason.BACKWARD_STAMP)
            return
        if self._held:
            self._drop_held()
        self._keep(stamp_ns, value)

    def keeps(self, stamp_ns: int) -> bool:
        """Return whether a value of a stamp is kept."""
        return stamp_ns in self._values

    def drop(self, reason: DropReason, example: str = "") -> None:
        """Count a value that is not used."""
        self.drops.add(reason, example, after_ns=self.last_stamp_ns)

    def has(self, stamp_ns: int) -> bool:
        """Return whether a value of a stamp is kept or held."""
        return stamp_ns in self._values or stamp_ns in self._held

    def holds(self, stamp_ns: int) -> bool:
        """Return whether a value of a stamp is held on another clock."""
        return stamp_ns in self._held

    @property
    def held(self) -> int:
        """Number of consecutive values held on another clock."""
        return len(self._held)

    def jump(self) -> None:
        """Follow the clock of the held values: forget those before, keep these."""
        if not self._held:
            return
        held, self._held = self._held, {}
        self._values.clear()
        for stamp_ns, value in held.items():
            self._keep(stamp_ns, value)

    def _hold(self, stamp_ns: int, value: ValueT) -> None:
        if self._held and not 0 < stamp_ns - next(reversed(self._held)) <= self._step_ns:
            self._drop_held()
        self._held[stamp_ns] = value
        if len(self._held) > VALUES_KEPT:
            del self._held[next(iter(self._held))]

    def _drop_held(self) -> None:
        last = self.last_stamp_ns
        for stamp_ns in self._held:
            ahead = last is not None and stamp_ns > last
            apart = "" if last is None else f"{abs(seconds(stamp_ns - last)):.3f} s"
            self.drop(DropReason.FAR_AHEAD if ahead else DropReason.FAR_BACK, apart)
        self._held.clear()

    def _keep(self, stamp_ns: int, value: ValueT) -> None:
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
        values = self._values
        while values:
            oldest = next(iter(values))  # stamps ascend
            if oldest > stamp_ns:
                return
            del values[oldest]

    def stale(self, now_ns: int, timeout: float) -> bool:
        """Return whether the input is missing or older than the timeout [s]."""
        return self.last_stamp_ns is None or seconds(now_ns - self.last_stamp_ns) > timeout

    def health(self, now_ns: int, timeout: float) -> Health:
        """Say how the input is."""
        values = {"received": str(self.received)}
        values |= self.drops.values()
        if self.last_stamp_ns is None:
            message = f"none usable: {self.drops.last}" if self.drops.total else "nothing received"
            return Health(self.name, HealthLevel.STALE, message, values)
        age = seconds(now_ns - self.last_stamp_ns)
        values["age [s]"] = f"{age:.3f}"
        if age > timeout:
            return Health(self.name, HealthLevel.STALE, f"the last one is {age:.2f} s old", values)
        if self.drops.recent(now_ns):
            return Health(self.name, HealthLevel.WARN, self.drops.summary, values)
        return Health(self.name, HealthLevel.OK, "arriving", values)


def push_matched(
    stream: StampedInput[Any], stamp_ns: int, value: object, required: Sequence[StampedInput[Any]]
) -> None:
    """Push a value of an input whose stamps are those of other inputs.

    A jump of the clock is confirmed by all inputs at one stamp; that of a lone input by several values.

    Args:
        stream: The input.
        stamp_ns: Stamp of the value [ns].
        value: The value.
        required: All inputs that belong together, the stream among them.
    """
    stream.push(stamp_ns, value)
    for other in required:  # a generator would take longer than all else here
        if other.held and other.holds(stamp_ns):
            break
    else:
        return
    lone = len(required) == 1
    if stream.held >= VALUES_TO_BELIEVE if lone else all(other.has(stamp_ns) for other in required):
        for other in required:
            other.jump()
