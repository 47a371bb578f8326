"""Aligned samples: rows of several inputs at the times of one of them.

One stream, the driver, gives the times of the steps. A step waits until every required stream has come up to
it, at most `inputs.max_wait`; the other streams are interpolated there. Nothing here depends on when it is
called: a live node that reads on arrival or by a timer, and a replay, get the same samples.
"""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import NamedTuple

import numpy as np

from inertial_estimation.inputs.config import InputConfig
from inertial_estimation.inputs.possible import DropReason
from inertial_estimation.inputs.ring import Times
from inertial_estimation.inputs.stream import Stream
from inertial_estimation.signals import NANOSECONDS, Array

DUE = 0.9  # share of the period after which a step is due, against jitter of the stamps
SIXTH = 6  # a window may lack its end by a sixth of the time between two rows, by which stamps jitter


class Continuity(Enum):
    """Relation of a sample to the one before.

    Attributes:
        CONTINUOUS: The sample follows without a gap.
        AFTER_GAP: The driver was missing for longer than `inputs.jump`, or its clock was set. State that does
            not change during a gap (inertias, gyroscope bias) is still valid.
        RESTARTED: The sample is the first, or all stamps went back and the motion does not go on (a recording
            or simulation begins anew); no earlier state is valid.
    """

    CONTINUOUS = "continuous"
    AFTER_GAP = "after a gap"
    RESTARTED = "restarted"


class AlignedSample(NamedTuple):
    """All inputs at the time of one driver row.

    Attributes:
        stamp_ns: Stamp of the driver row [ns], which the outputs carry.
        time_ns: Time of measurement of the driver row [ns], over which estimators integrate.
        driver: Mean of the driver rows since the last sample, shape (width,).
        rows: Row of each other required stream at that time, by name; None where it is missing: not arrived within
            `inputs.max_wait`, lost, or in a gap.
        continuity: Relation to the sample before.
    """

    stamp_ns: int
    time_ns: int
    driver: Array
    rows: Mapping[str, Array | None]
    continuity: Continuity

    @property
    def missing(self) -> tuple[str, ...]:
        """Names of the streams without a row."""
        return tuple(name for name, row in self.rows.items() if row is None)


class Aligner:
    """Emits the rows of a driver together with those of other streams.

    Attributes:
        driver: Stream whose rows are the steps.
        streams: All streams by name, the driver first.
        timeout: Age from which a stream is lost [s]; may be changed.
    """

    def __init__(
        self,
        driver: Stream,
        others: Sequence[Stream],
        config: InputConfig,
        rate: float = 0.0,
        half_window: float = 0.0,
    ) -> None:
        """Take the streams.

        Args:
            driver: Stream whose rows are the steps.
            others: The other streams; those that are required have a row in each sample.
            config: How long to wait, which gaps to interpolate over.
            rate: Highest rate of samples [Hz]; driver rows in between are averaged. 0: every row is a step.
            half_window: Time beyond a step up to which streams must have arrived [s], for `window`.
        """
        self.driver, self.timeout = driver, config.timeout
        self.streams = {stream.spec.name: stream for stream in (driver, *others)}
        self._required = [stream for stream in others if stream.spec.required]
        limits = (config.max_wait, config.max_gap, config.jump, half_window)
        self._wait_ns, self._gap_ns, self._jump_ns, self._half_ns = (round(NANOSECONDS * s) for s in limits)
        self._period_ns = DUE * NANOSECONDS / rate if rate > 0.0 else 0.0
        self._mean = np.zeros(driver.spec.width)
        self._begin(Continuity.RESTARTED)

    def _begin(self, continuity: Continuity) -> None:
        """Begin with the first row of the driver that is there."""
        ring = self.driver.ring
        self._clears, self._next = ring.clears, ring.begin + ring.moved
        self._continuity = continuity
        self._last_ns: int | None = None  # time of the last step
        self._averaged = 0
        self._mean[:] = 0.0
        self._since_ns: int | None = None  # time of the first row, from which streams may be missing

    def ready(self) -> list[AlignedSample]:
        """Return the samples that are complete, or have waited long enough, in order of time."""
        ring = self.driver.ring
        if ring.clears != self._clears:
            first = self._last_ns is None and self._continuity is Continuity.RESTARTED
            anew = first or self.driver.begins_anew
            self._begin(Continuity.RESTARTED if anew else Continuity.AFTER_GAP)
        samples: list[AlignedSample] = []
        while self._next < ring.end + ring.moved:
            index = self._next - ring.moved
            if index < ring.begin:
                self.driver.drop(DropReason.OVERRUN, count=ring.begin - index)
                self._next = ring.begin + ring.moved
                continue
            time = ring.time(index)
            last = self._last_ns
            if last is None or time - last >= self._period_ns:
                if not self._arrived(time, ring.stamp(index)):
                    break
                samples.append(self._sample(index, time, last))
            else:
                self._mean += ring.rows[index]
                self._averaged += 1
            self._next += 1
        return samples

    def _arrived(self, time: int, stamp: int) -> bool:
        """Return whether no stream is waited for any longer by a step."""
        ring, half = self.driver.ring, self._half_ns
        horizon, newest = time + half, ring.time(ring.end - 1)
        if self._since_ns is None:
            self._since_ns = time
        if half and not self._reaches(self.driver, horizon):
            return False
        # Readings that come in bursts have times far apart and stamps that are not.
        waited = min(newest - horizon, ring.stamp(ring.end - 1) - stamp - half)
        if waited >= self._wait_ns:
            return True
        lost_ns = self.timeout * NANOSECONDS
        for stream in self._required:
            if not (stream.spec.holds or self._reaches(stream, horizon)):
                known = stream.ring.newest_ns
                if newest - (self._since_ns if known is None else known) <= lost_ns:
                    return False
        return True

    def _reaches(self, stream: Stream, horizon: int) -> bool:
        """Return whether the rows of a stream reach up to a time."""
        ring = stream.ring
        newest = ring.newest_ns
        if newest is None:
            return False
        lacks = horizon - newest
        if lacks <= 0 or not self._half_ns or len(ring) < 3:
            return lacks <= 0
        last = ring.end - 1
        between = min(newest - ring.time(last - 1), ring.time(last - 1) - ring.time(last - 2))
        return lacks * SIXTH <= between

    def _sample(self, index: int, time: int, last: int | None) -> AlignedSample:
        ring, gap = self.driver.ring, self._gap_ns
        row: Array = ring.rows[index]
        if self._averaged:
            row = (self._mean + row) / (self._averaged + 1)
            self._mean[:] = 0.0
            self._averaged = 0
        else:
            row = row.copy()
        rows = {stream.spec.name: stream.at(time, gap) for stream in self._required}
        continuity, self._continuity = self._continuity, Continuity.CONTINUOUS
        if last is not None and time - last > self._jump_ns:
            continuity = Continuity.AFTER_GAP
        self._last_ns = time
        return AlignedSample(ring.stamp(index), time, row, rows, continuity)

    def window(self, name: str, begin_ns: int, end_ns: int) -> tuple[Times, Array]:
        """Return times [ns], shape (n,), and rows, shape (n, width), of a stream between two times.

        They are views, valid until the next reading is pushed.

        Args:
            name: Name of the stream.
            begin_ns: First time [ns].
            end_ns: Last time [ns].
        """
        return self.streams[name].ring.window(begin_ns, end_ns)

    def latest(self, name: str, time_ns: int, max_age: float) -> Array | None:
        """Return the newest row of a stream at or before a time [ns]; None where it is older than [s]."""
        return self.streams[name].ring.latest(time_ns, round(max_age * NANOSECONDS))

    def missing(self, now_ns: int) -> list[str]:
        """Name the driver and required streams that never arrived or are older than the timeout [ns]."""
        oldest = now_ns - self.timeout * NANOSECONDS
        streams = [(stream, stream.ring.newest_ns) for stream in (self.driver, *self._required)]
        return [
            s.spec.name for s, newest in streams if newest is None or (newest < oldest and not s.spec.holds)
        ]

    def is_stale(self, sample: AlignedSample, now_ns: int) -> bool:
        """Return whether a sample is older, at a time [ns], than a fresh one that has waited for all it may wait."""
        return now_ns - sample.stamp_ns > self.timeout * NANOSECONDS + self._wait_ns + self._half_ns

    def clear(self) -> None:
        """Forget all rows, as for a restart; counters stay."""
        for stream in self.streams.values():
            stream.clear()
        self._begin(Continuity.RESTARTED)
