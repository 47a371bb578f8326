"""Which input holds the output although it arrives: its times lie apart from those of the driver."""

from collections.abc import Sequence

from inertial_estimation.estimators.inputs.input_stream import InputStream
from inertial_estimation.models.robot_config import InputConfig
from inertial_estimation.signals import NANOSECONDS, seconds

__all__ = ["StepWatch"]


class StepWatch:
    """Notes when the last complete step was made, and explains why none is made since.

    It looks at the times that the steps use (regularised stamps minus delays), which may differ from the
    stamps that the age of an input is computed from.
    """

    def __init__(
        self, driver: InputStream, required: Sequence[InputStream], config: InputConfig, half_window_ns: int
    ) -> None:
        """Begin before the first step.

        Args:
            driver: Stream whose rows set the steps.
            required: The other streams that a complete step needs.
            config: `max_wait` and `max_gap`.
            half_window_ns: Time beyond a step up to which streams must have arrived [ns].
        """
        self._driver = driver
        self._required = tuple(required)
        self._max_wait_ns = round(config.max_wait * NANOSECONDS)
        self._max_gap_ns = round(config.max_gap * NANOSECONDS)
        self._usual_wait_ns = half_window_ns + self._max_wait_ns
        self._last_ns: int | None = None  # stamp of the last complete step, or of the first reading

    def begin(self, stamp_ns: int) -> None:
        """Note the stamp of a reading of the driver; only the first one counts [ns]."""
        if self._last_ns is None:
            self._last_ns = stamp_ns

    def note(self, stamp_ns: int) -> None:
        """Note a complete step, by its stamp [ns]."""
        self._last_ns = stamp_ns

    def clear(self) -> None:
        """Begin anew."""
        self._last_ns = None

    def holding(self, timeout: float) -> dict[str, str]:
        """Name the inputs that hold the output although they arrive, and say why.

        Args:
            timeout: Time without a complete step from which the output counts as held [s].

        Returns:
            Reasons by the name of the input; empty while steps are completed.
        """
        newest = self._driver.last_stamp_ns
        if newest is None or self._last_ns is None:
            return {}
        lost_ns = round(timeout * NANOSECONDS)
        if newest - self._last_ns <= self._usual_wait_ns + lost_ns:
            return {}
        reasons = {s.spec.name: reason for s in self._required if (reason := self._reason(s))}
        if reasons:
            return reasons
        if any(s.last_stamp_ns is None or newest - s.last_stamp_ns > lost_ns for s in self._required):
            return {}  # named by their age
        since = seconds(newest - self._last_ns)
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
        if lag > self._usual_wait_ns:
            return f"readings arrive, but their times lag {seconds(lag):.2f} s behind {driver_name}"
        if lag < -self._usual_wait_ns:
            return f"readings arrive, but their times lead {driver_name} by {seconds(-lag):.2f} s"
        return ""
