"""How long the steps of a controller take, measured by whoever has a clock."""

from collections import deque

import numpy as np

from inertial_estimation.inputs.possible import REPORTED_NS
from inertial_estimation.signals import Health, HealthLevel

NAME = "step time"
KEPT = 3000  # durations for the quantile: nine seconds at 333 Hz


class StepTimes:
    """Counts the steps that took longer than a period.

    Attributes:
        overruns: Steps longer than the period, since the start.
        longest: Longest step since the start [s].
    """

    def __init__(self, period: float) -> None:
        """Begin without a step.

        Args:
            period: Time a step may take [s].
        """
        self._period = period
        self.overruns = 0
        self.longest = 0.0
        self._last_overrun_ns: int | None = None
        self._recent: deque[float] = deque(maxlen=KEPT)

    def add(self, duration: float, stamp_ns: int) -> None:
        """Take the duration of a step.

        Args:
            duration: [s].
            stamp_ns: Stamp of the state it answered [ns].
        """
        self._recent.append(duration)
        self.longest = max(self.longest, duration)
        if duration > self._period:
            self.overruns += 1
            self._last_overrun_ns = stamp_ns

    def health(self, now_ns: int) -> Health:
        """Say how long the steps take.

        Args:
            now_ns: Time now on the clock of the stamps [ns].
        """
        values = {"overruns": str(self.overruns), "longest [ms]": f"{1e3 * self.longest:.2f}"}
        if self._recent:
            values["p99 [ms]"] = f"{1e3 * float(np.percentile(np.array(self._recent), 99.0)):.2f}"
        last_ns = self._last_overrun_ns
        if last_ns is not None and 0 <= now_ns - last_ns < REPORTED_NS:
            message = f"{self.overruns} steps took longer than the period, {1e3 * self._period:.2f} ms"
            return Health(NAME, HealthLevel.WARN, message, values)
        return Health(NAME, HealthLevel.OK, "within the period", values)
