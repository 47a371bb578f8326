"""Aligned samples: the rows of several inputs at the times of one of them.

The rows of one stream, the driver, define the times of the steps. A step waits until every required stream
has reached its time, for at most half of `inputs.timeout`; the others are then interpolated at that time.
Samples depend on the order of the rows alone: a live node, by timer or not, and a replay get the same ones.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

import numpy as np

from inertial_estimation.inputs.clocks import Times
from inertial_estimation.inputs.config import JUMP_NS, WAIT_SHARE, InputConfig
from inertial_estimation.inputs.stream import PERIODIC, DropReason, Stream
from inertial_estimation.signals import NANOSECONDS, Array, seconds

DUE = 0.9  # share of the period after which a step is due, so that jitter of the stamps skips none
LATELY, OFTEN = 0.02, 0.1  # gain of the running mean of steps without an input; mean that is reported
SIXTH = 6  # the last row of a window may be early by a sixth of the time between rows, for jitter of stamps


class Continuity(Enum):
    """How a sample continues the previous one, which decides what state is still valid."""

    CONTINUOUS = "continuous"
    AFTER_GAP = "after a gap"  # longer than `JUMP_NS`, or the clock was set: inertias and biases stay valid
    RESTARTED = "restarted"  # first sample, or a recording or simulation has restarted: no state is valid


class AlignedSample(NamedTuple):
    """All inputs at the time of one driver row."""

    stamp_ns: int  # timestamp of the driver row, which the outputs carry
    time_ns: int  # time at which the driver row was measured, over which estimators integrate
    driver: Array  # mean of the driver rows since the last sample, shape (width,)
    # Row of each other required stream at that time; None: not arrived in time, lost, or in a gap.
    rows: Mapping[str, Array | None]
    continuity: Continuity  # how it continues the previous sample
    reduced: Any = None  # result of `RobotInputs.reduce` on the windows around it, when it was complete

    @property
    def missing(self) -> tuple[str, ...]:
        """Names of the streams without a row."""
        return tuple(name for name, row in self.rows.items() if row is None)


class Steps(NamedTuple):
    """At which times aligned samples are emitted."""

    driver: str  # input whose rows define the steps (imu/data, joint_states)
    rate: float = 0.0  # highest rate of steps, to which rows are averaged; 0: every row is a step [Hz]
    half_window: float = 0.0  # time after a step that all inputs must cover, for windows around it [s]
    max_gap: float | None = None  # longest gap that is interpolated [s]; None: `inputs.timeout`


@dataclass
class Lack:
    """Steps that had no row of a required stream."""

    share: float = 0.0  # running mean of the share of such steps
    behind_ns: int = 0  # time by which the stream was behind the driver at the last of them


class Limits(NamedTuple):
    """Time limits of an aligner [ns]."""

    period: float  # shortest time between two steps
    half: int  # time after a step that all streams must cover
    wait: int  # longest time that a step waits for other inputs
    gap: int  # longest gap that is interpolated


class Aligner:
    """Emits the rows of a driver together with those of other streams."""

    def __init__(self, driver: Stream, others: Sequence[Stream], config: InputConfig, steps: Steps) -> None:
        """Align other streams with the driver, whose rows define the steps."""
        self.driver = driver
        self.streams = {stream.spec.name: stream for stream in (driver, *others)}
        self._lacking = {stream: Lack() for stream in others if stream.spec.required}
        self._waited_for = [stream for stream in self._lacking if not stream.spec.holds]  # slowest first
        gap = config.timeout if steps.max_gap is None else steps.max_gap
        of_steps = steps.half_window, WAIT_SHARE * config.timeout, gap
        period_ns = DUE * NANOSECONDS / steps.rate if steps.rate > 0.0 else 0.0
        self._limits = Limits(period_ns, *(round(NANOSECONDS * time) for time in of_steps))
        self.timeout = config.timeout
        self._mean = np.zeros(driver.spec.width)
        self._begin(Continuity.RESTARTED)

    def _begin(self, continuity: Continuity) -> None:
        """Start from the oldest row that the driver's ring holds."""
        ring = self.driver.ring
        self._clears, self._next, self._continuity = ring.clears, ring.begin + ring.moved, continuity
        self._last_ns: int | None = None  # time of the last step
        self._since_ns: int | None = None  # time of the first step; a stream without a row is missing since
        self._averaged = 0
        self._mean[:] = 0.0
        # What the next step waits for: a stream, and how many rows the driver and it had received then.
        self._awaited: tuple[Stream, int, int] | None = None

    def ready(self) -> list[AlignedSample]:
        """Return the samples that are complete or have waited for `Limits.wait`, in order of time."""
        ring = self.driver.ring
        if self._awaited is not None:
            stream, driver_rows, rows = self._awaited
            if driver_rows == ring.total and rows == stream.ring.total:
                return []  # after most messages
        if ring.clears != self._clears:
            anew = self._continuity is Continuity.RESTARTED or self.driver.clocks.begins_anew
            self._begin(Continuity.RESTARTED if anew else Continuity.AFTER_GAP)
        samples: list[AlignedSample] = []
        self._awaited = self.driver, ring.total, ring.total
        while self._next < ring.total:
            index = self._next - ring.moved
            if index < ring.begin:
                self.driver.drop(DropReason.OVERRUN, count=ring.begin - index)
                self._next = ring.begin + ring.moved
                continue
            time, last = ring.time[index], self._last_ns
            if last is None or time - last >= self._limits.period:
                if not self._arrived(time, ring.stamp[index]):
                    break
                samples.append(self._sample(index, time, last))
            else:
                self._mean += ring.rows[index]
                self._averaged += 1
            self._next += 1
        return samples

    def _arrived(self, time: int, stamp: int) -> bool:
        """Return whether a step at a time [ns], of a stamp [ns], waits for no stream any longer."""
        ring, half = self.driver.ring, self._limits.half
        horizon, newest = time + half, ring.time[ring.end - 1]
        if self._since_ns is None:
            self._since_ns = time
        if half and not self._reaches(self.driver, horizon):
            return False
        # The times of readings that arrive in bursts are spread; their stamps are close together.
        if min(newest - horizon, ring.stamp[ring.end - 1] - stamp - half) >= self._limits.wait:
            return True
        for k, stream in enumerate(self._waited_for):
            if not self._reaches(stream, horizon):
                known = stream.ring.newest_ns
                if newest - (self._since_ns if known is None else known) <= self.timeout * NANOSECONDS:
                    self._awaited = stream, ring.total, stream.ring.total
                    self._waited_for.insert(0, self._waited_for.pop(k))
                    return False
        return True

    def _reaches(self, stream: Stream, horizon: int) -> bool:
        """Return whether the rows of a stream reach a time [ns]."""
        ring, newest = stream.ring, stream.ring.newest_ns
        if newest is None:
            return False
        lacks = horizon - newest
        if lacks <= 0 or not self._limits.half or len(ring) < 3:
            return lacks <= 0
        before = ring.time[ring.end - 2]
        return lacks * SIXTH <= min(newest - before, before - ring.time[ring.end - 3])

    def _sample(self, index: int, time: int, last: int | None) -> AlignedSample:
        ring, continuity = self.driver.ring, self._continuity
        row: Array = ring.rows[index].copy()
        if self._averaged:
            row = (self._mean + row) / (self._averaged + 1)
            self._mean[:] = self._averaged = 0
        if last is not None and time - last > JUMP_NS:
            continuity = Continuity.AFTER_GAP
        self._continuity, self._last_ns = Continuity.CONTINUOUS, time
        rows: dict[str, Array | None] = {}
        for stream, lack in self._lacking.items():
            rows[stream.spec.name] = own = stream.at(time, self._limits.gap)
            lack.share += LATELY * ((own is None) - lack.share)
            if own is None:
                lack.behind_ns = ring.time[ring.end - 1] - (stream.ring.newest_ns or 0)
        return AlignedSample(ring.stamp[index], time, row, rows, continuity)

    def window(self, name: str, begin_ns: int, end_ns: int) -> tuple[Times, Array]:
        """Return times [ns] and rows of a stream in a closed interval, as views until the next push."""
        return self.streams[name].ring.window(begin_ns, end_ns)

    def latest(self, name: str, time_ns: int, max_age: float) -> Array | None:
        """Return the newest row of a stream at or before a time [ns]; None if older than `max_age` [s]."""
        return self.streams[name].ring.latest(time_ns, round(max_age * NANOSECONDS))

    def missing(self, now_ns: int) -> list[str]:
        """Return the driver and required streams that never arrived or are lost at a time [ns]."""
        oldest = now_ns - self.timeout * NANOSECONDS
        streams = [(stream, stream.ring.newest_ns) for stream in (self.driver, *self._lacking)]
        return [s.spec.name for s, t in streams if t is None or (t < oldest and not s.spec.holds)]

    def late(self) -> dict[str, str]:
        """Return, by stream, a sentence about streams that arrive too late for many steps, and the remedy."""
        found = dict[str, str]()
        for stream, lack in self._lacking.items():
            times, _rows = stream.ring.newest(PERIODIC)
            if lack.share < OFTEN or len(times) < PERIODIC:
                continue
            period, behind = seconds(times[-1] - times[0]) / (PERIODIC - 1), seconds(lack.behind_ns)
            if behind <= self.timeout + period:
                comes = f"comes every {period:.2g} s, {behind:.2g} s behind {self.driver.spec.name}"
                waits = f"whose steps wait for half of inputs.timeout of {self.timeout:g} s"
                enough = 0.1 + 0.1 * (20.0 * (period + behind) // 1.0)
                mended = f"is its clock another one (inputs.arrival)? Else set it to {enough:.2g}"
                found[stream.spec.name] = f"{comes}, {waits}: {mended}"
        return found

    def is_stale(self, stamp_ns: int, now_ns: int) -> bool:
        """Return whether a sample is older, at a time [ns], than the longest wait for inputs explains."""
        return now_ns - stamp_ns > self.timeout * NANOSECONDS + self._limits.wait + self._limits.half

    def reset(self) -> None:
        """Discard all rows, as at a restart; counters are kept."""
        for stream in self.streams.values():
            stream.reset()
        self._begin(Continuity.RESTARTED)
