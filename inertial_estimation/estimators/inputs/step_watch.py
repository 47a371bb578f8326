"""Which input holds the output although it arrives: its times lie apart from those of the driver."""

from collections.abc import Sequence
from typing import Any

from inertial_estimation.estimators.inputs.aligner_memory import WATCH_KNOWN, WATCH_NS
from inertial_estimation.estimators.inputs.input_stream import InputStream
from inertial_estimation.estimators.inputs.ready_steps import held_from
from inertial_estimation.inputs.config import InputConfig
from inertial_estimation.signals import NANOSECONDS, seconds


class StepWatch:
    """Notes when the last complete step was made, and explains why none is made since.

    It looks at the times that the steps use (regularised stamps minus delays), which may differ from the
    stamps that the age of an input is computed from.

    Attributes:
        usual_wait_ns: What a step usually waits for [ns].
    """

    def __init__(
        self,
        driver: InputStream,
        required: Sequence[InputStream],
        config: InputConfig,
        half_window_ns: int,
        cells: Any,
    ) -> None:
        """Begin before the first step.

        Args:
            driver: Stream whose rows set the steps.
            required: The other streams that a complete step needs.
            config: `max_wait` and `max_gap`.
            half_window_ns: Time beyond a step up to which streams must have arrived [ns].
            cells: Integers of the aligner, which note the stamp of the last complete step.
        """
        self._driver = driver
        self._required = tuple(required)
        self._max_wait_ns = round(config.max_wait * NANOSECONDS)
        self._max_gap_ns = round(config.max_gap * NANOSECONDS)
        self.usual_wait_ns = half_window_ns + self._max_wait_ns
        self._cells = cells

    def holding(self, timeout: float) -> dict[str, str]:
        """Name the inputs that hold the output although they arrive, and say why.

        Args:
            timeout: Time without a complete step from which the output counts as held [s].

        Returns:
            Reasons by the name of the input; empty while steps are completed.
        """
        newest, last, usual_ns = self._driver.last_stamp_ns, self._cells[WATCH_NS], self.usual_wait_ns
        if newest is None or not self._cells[WATCH_KNOWN] or newest - last <= held_from(usual_ns, timeout):
            return {}
        lost_ns = round(timeout * NANOSECONDS)
        reasons = {s.spec.name: reason for s in self._required if (reason := self._reason(s))}
        if reasons:
            return reasons
        if any(s.last_stamp_ns is None or newest - s.last_stamp_ns > lost_ns for s in self._required):
            return {}  # named by their age
        since = seconds(newest - last)
        return {self._driver.spec.name: f"readings arrive, but no step is completed for {since:.2f} s"}

    def _reason(self, stream: InputStream) -> str:
        driver, own = self._driver.buffer.newest_ns, stream.buffer.newest_ns
        if driver is None or own is None:
            return ""
        step = stream.buffer.last_step_ns
        if step > self._max_gap_ns:
            limit = f"inputs.max_gap is {seconds(self._max_gap_ns):g} s"
            return f"readings arrive {seconds(step):.2f} s apart, but {limit}"
        lag, driver_name = driver - own, self._driver.spec.name
        if lag > self.usual_wait_ns:
            return f"readings arrive, but their times lag {seconds(lag):.2f} s behind {driver_name}"
        if lag < -self.usual_wait_ns:
            return f"readings arrive, but their times lead {driver_name} by {seconds(-lag):.2f} s"
        return ""
