"""Rows of several inputs, each with its own stamps, resampled onto one uniform grid in bounded memory."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.inputs.config import InputConfig
from inertial_estimation.inputs.even_times import EvenTimes
from inertial_estimation.inputs.possible import DropReason
from inertial_estimation.signals import NANOSECONDS, Array

Stamps = NDArray[np.int64]
CHUNK_ROWS = 2000  # rows of one input that are collected before the next part is resampled
MOST_WAITING_ROWS = 50 * CHUNK_ROWS  # rows kept while the driver has too few to find a step from
FEWEST_ROWS_FOR_STEP = 20  # rows of the driver to find a step from
WAIT_NS = 2_000_000_000  # an input this far behind the newest one is missing
BURST_RATIO = 0.5  # of the mean step: a median below it is that of stamps in bursts


class GridInput(NamedTuple):
    """One of the inputs that are resampled."""

    name: str
    width: int  # numbers in a row
    delay: float  # age of a row at its stamp [s]


@dataclass(frozen=True, eq=False)
class GridPart:
    """Consecutive samples of the grid.

    Attributes:
        continues: Whether its first sample is one step after the last one of the part before.
        times_ns: Times [ns], shape (k,).
        rows: Row of every input at those times, in the order of the inputs, shape (k, width) each.
    """

    continues: bool
    times_ns: Stamps
    rows: tuple[Array, ...]


class UniformGrid:
    """Resamples inputs onto the driver's nominal step, by linear interpolation.

    The step is the median step of the driver's first rows. Where two
    neighbours of an input are too far apart to interpolate between, a stretch ends; the next begins at
    the driver's first row for which every input is there. Rows that are in the way of it are dropped and
    counted. How often `pop` is called does not change the result.

    Times are stamps made even as online (`EvenTimes`), less the delay of the input.

    Attributes:
        step_ns: Time between samples [ns]; 0 until known.
        dropped: Rows left out by reason, and gaps that end a stretch.
        kept: Rows that were taken, by input.
    """

    def __init__(
        self, driver: GridInput, others: Sequence[GridInput], inputs: InputConfig, *, max_gap_s: float
    ) -> None:
        """Begin without a row.

        Args:
            driver: The input that sets the step.
            others: All that must be there as well.
            inputs: How stamps are taken.
            max_gap_s: Widest distance of neighbours that is interpolated over [s].
        """
        self._inputs = inputs
        self._streams = {one.name: _Stream(one, inputs) for one in (driver, *others)}
        self._driver = self._streams[driver.name]
        self._gap_ns = round(max_gap_s * NANOSECONDS)
        self._wait_ns = max(WAIT_NS, 2 * self._gap_ns)
        self.step_ns = 0.0
        self.dropped: dict[str, int] = {}
        self.kept = dict.fromkeys(self._streams, 0)
        self._origin: int | None = None
        self._index = 0
        self._after: int | None = None
        self._ready: list[GridPart] = []

    @property
    def due(self) -> bool:
        """Whether so many rows wait that it is time to call `pop`."""
        return any(len(stream.new_times) >= CHUNK_ROWS for stream in self._streams.values())

    def push(self, stream: str, stamp_ns: int, row: Array) -> bool:
        """Take a row of an input.

        Args:
            stream: Name of the input.
            stamp_ns: Its stamp [ns].
            row: Its numbers, shape (width,).

        Returns:
            Whether it was kept; otherwise it is counted by reason.
        """
        target = self._streams[stream]
        refusal = target.refusal(stamp_ns, row)
        if refusal is not None:
            return self.drop(stream, refusal.value)
        last = target.last_stamp_ns
        if last is not None and stamp_ns < last:
            self.drop(stream, "jumps back of its clock")
            self._restart()
        elif last is not None and stamp_ns - last > self._inputs.jump * NANOSECONDS:
            target.even.reset()
        target.append(stamp_ns, row)
        self.kept[stream] += 1
        return True

    def drop(self, stream: str, reason: str, count: int = 1) -> bool:
        """Count rows that are left out; returns False."""
        if count:
            name = f"{stream}: {reason}"
            self.dropped[name] = self.dropped.get(name, 0) + count
        return False

    def pop(self, *, final: bool = False) -> list[GridPart]:
        """Return the samples that can be made now.

        Args:
            final: Whether no more rows follow.
        """
        self._advance(final=final)
        ready, self._ready = self._ready, []
        return ready

    def _restart(self) -> None:
        self._advance(final=True)
        for stream in self._streams.values():
            stream.clear()
        self._origin = self._after = None

    def _advance(self, *, final: bool) -> None:
        for stream in self._streams.values():
            stream.settle()
        horizon = self._horizon(final=final)
        if horizon is None:
            return
        if not self.step_ns and (final or len(self._driver.times) >= FEWEST_ROWS_FOR_STEP):
            even = self._driver.even
            self.step_ns = even.period_ns if even.even else _nominal_step(self._driver.times)
        while self.step_ns and self._stretch(horizon):
            pass
        for stream in self._streams.values():
            if self.step_ns or len(stream.times) > MOST_WAITING_ROWS:
                stream.trim(horizon)

    def _horizon(self, *, final: bool) -> int | None:
        """Time up to which all that will come has come."""
        newest = [int(s.times[-1]) for s in self._streams.values() if len(s.times)]
        if not newest or (final and not len(self._driver.times)):
            return None
        if final:
            return int(self._driver.times[-1])
        late = max(newest) - self._wait_ns
        return max(min(newest), late) if len(newest) == len(self._streams) else late

    def _stretch(self, horizon: int) -> bool:
        """Make samples of one stretch up to a time; returns whether there may be more."""
        fresh = self._origin is None
        if self._origin is None:
            self._origin = self._next_start(horizon)
            self._index = 0
            if self._origin is None:
                return False
        left = int((horizon - self._origin) / self.step_ns + 1e-9) + 1 - self._index
        count = min(left, 4 * CHUNK_ROWS)
        if count <= 0:
            return False
        index = self._index + np.arange(count)
        times = self._origin + np.round(index * self.step_ns).astype(np.int64)
        made = {s.name: s.at(times, self._gap_ns) for s in self._streams.values()}
        good = np.logical_and.reduce([valid for _rows, valid in made.values()])
        end = count if good.all() else int(np.argmin(good))
        if end:
            part = tuple(rows[:end] for rows, _valid in made.values())
            self._ready.append(GridPart(not fresh, times[:end], part))
        self._index += end
        if end < count:
            self._after = int(times[end]) - 1
            self._origin = None
            missing = next(name for name, (_rows, valid) in made.items() if not valid[end])
            self.drop(missing, "gaps, where a new stretch begins")
        return end < count or count < left

    def _next_start(self, horizon: int) -> int | None:
        """Time of the driver's next row for which every input is there."""
        times = self._driver.times
        times = times[times <= horizon]
        if self._after is not None:
            times = times[times > self._after]
        if not len(times):
            return None
        waiting = np.ones(len(times), dtype=bool)  # not yet known to lack an input
        for stream in self._streams.values():
            if stream is not self._driver:
                _rows, valid = stream.at(times, self._gap_ns)
                first = int(np.argmax(waiting & valid)) if (waiting & valid).any() else len(times)
                lacking = waiting & ~valid
                lacking[first:] = False
                self.drop(self._driver.name, f"no {stream.name} at its time", int(lacking.sum()))
                waiting &= valid
        if not waiting.any():
            self._after = int(times[-1])
            return None
        return int(times[np.argmax(waiting)])


class _Stream:
    """Rows of one input: new ones in lists, older ones in arrays."""

    def __init__(self, one: GridInput, inputs: InputConfig) -> None:
        self.name, self._width = one.name, one.width
        self.even = EvenTimes("auto" if inputs.stamps == "arrival" else inputs.stamps)
        self._delay_ns, self._jump_ns = (round(NANOSECONDS * s) for s in (one.delay, inputs.jump))
        self.clear()

    def clear(self) -> None:
        self.even.reset()
        self.last_stamp_ns: int | None = None  # of the last row that was kept
        self.new_times: list[int] = []
        self._new_rows: list[Array] = []
        self.times: Stamps = np.empty(0, dtype=np.int64)
        self._rows: Array = np.empty((0, self._width))

    def refusal(self, stamp_ns: int, row: Array) -> DropReason | None:
        """Return the reason for which a row is refused; None if it is kept, also after a clock jump."""
        if not math.isfinite(row.dot(row)):
            return DropReason.NOT_FINITE
        step = 1 if self.last_stamp_ns is None else stamp_ns - self.last_stamp_ns
        if step == 0:
            return DropReason.EQUAL_STAMP
        return DropReason.BACKWARD_STAMP if -self._jump_ns <= step < 0 else None

    def append(self, stamp_ns: int, row: Array) -> None:
        self.last_stamp_ns = stamp_ns
        self.new_times.append(self.even.time_of(stamp_ns) - self._delay_ns)
        self._new_rows.append(row)

    def settle(self) -> None:
        if self.new_times:
            self.times = np.concatenate((self.times, np.array(self.new_times, dtype=np.int64)))
            self._rows = np.concatenate((self._rows, np.array(self._new_rows)))
            self.new_times, self._new_rows = [], []

    def at(self, times: Stamps, gap_ns: int) -> tuple[Array, NDArray[np.bool_]]:
        """Interpolate; also whether each time is that of a row or has neighbours close enough."""
        own, rows, last = self.times, self._rows, len(self.times) - 1
        if last < 0:
            return np.zeros((len(times), self._width)), np.zeros(len(times), dtype=bool)
        before = np.searchsorted(own, times, side="right") - 1
        low, high = np.clip(before, 0, last), np.clip(before + 1, 0, last)
        exact, width = (before >= 0) & (own[low] == times), own[high] - own[low]
        between = (before >= 0) & (before < last) & (width <= gap_ns) & ~exact
        weight = np.where(between, (times - own[low]) / np.maximum(width, 1), 0.0)[:, None]
        interpolated: Array = (1.0 - weight) * rows[low] + weight * rows[high]
        return interpolated, exact | between

    def trim(self, time_ns: int) -> None:
        """Forget what lies before the last row at or before a time."""
        first = max(int(np.searchsorted(self.times, time_ns, side="right")) - 1, 0)
        self.times, self._rows = self.times[first:].copy(), self._rows[first:].copy()


def _nominal_step(times: Stamps) -> float:
    """Median step, or the mean one where most stamps come in bursts; 0 for a single row."""
    steps = np.diff(times).astype(float)
    if not len(steps):
        return 0.0
    median = float(np.median(steps))
    usual = steps[steps <= np.quantile(steps, 0.99)]
    mean = float(usual.mean())
    return mean if median < BURST_RATIO * mean else median
