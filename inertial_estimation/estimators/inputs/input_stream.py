"""One input stream: its rows by time, and counters of received and dropped readings."""

import math
from dataclasses import dataclass

from inertial_estimation.estimators.inputs.stamped_buffer import StampedBuffer
from inertial_estimation.models.robot_config import InputConfig
from inertial_estimation.models.stamp_regulator import StampRegulator
from inertial_estimation.signals import NANOSECONDS, Array, Health, HealthLevel, seconds

__all__ = ["InputStream", "StreamClock", "StreamSpec"]

OTHER_CLOCK_S = 3600.0  # age of a reading from which another clock is the likely cause
RECENT_DROP_NS = 10 * NANOSECONDS  # time for which a dropped reading is reported as a warning


@dataclass(frozen=True)
class StreamSpec:
    """Properties of one input.

    Attributes:
        name: Its name, as in diagnostics (``imu/data``).
        width: Numbers in a row.
        delay: Age of a row at its stamp [s], subtracted from the stamp.
        required: Whether steps wait for it and its loss stops the output.
    """

    name: str
    width: int
    delay: float = 0.0
    required: bool = True


class StreamClock:
    """Times of the rows of one input, and the reasons for which rows are refused.

    Attributes:
        spec: Properties of the input.
        regulator: Regularises stamps that come in bursts.
        last_stamp_ns: Stamp of the last stored row [ns]; None before the first.
    """

    def __init__(self, spec: StreamSpec, config: InputConfig) -> None:
        self.spec = spec
        self.regulator = StampRegulator(config.stamps, config.nominal_rate)
        self.last_stamp_ns: int | None = None
        self._delay_ns = round(spec.delay * NANOSECONDS)
        self._jump_ns = round(config.jump * NANOSECONDS)
        self._reset_on_jump = config.on_jump == "reset"

    def refusal(self, stamp_ns: int, row: Array) -> str:
        """Return the reason for which a row is refused; empty if it is stored, also after a clock jump.

        Args:
            stamp_ns: Its stamp [ns].
            row: Its numbers, shape (width,).
        """
        if not math.isfinite(row.dot(row)):
            return "not finite"
        if self.last_stamp_ns is None:
            return ""
        step = stamp_ns - self.last_stamp_ns
        if step == 0:
            return "equal stamp"
        if step < 0 and not (step < -self._jump_ns and self._reset_on_jump):
            return "backward stamp"
        return ""

    def advance(self, stamp_ns: int) -> int:
        """Note the stamp of a stored row; return its time, the regularised stamp minus the delay [ns]."""
        self.last_stamp_ns = stamp_ns
        return self.regulator.time_of(stamp_ns) - self._delay_ns

    def restart(self) -> None:
        """Forget all stamps."""
        self.regulator.reset()
        self.last_stamp_ns = None


class InputStream(StreamClock):
    """Rows of one input, and counters of its readings.

    Attributes:
        buffer: The rows by time.
        received: Number of readings, those dropped included.
        dropped: Number of dropped readings by reason.
    """

    def __init__(self, spec: StreamSpec, config: InputConfig) -> None:
        super().__init__(spec, config)
        self.buffer = StampedBuffer(spec.width)
        self.received = 0
        self.dropped: dict[str, int] = {}
        self._dropped_after_ns: int | None = None

    def append(self, stamp_ns: int, row: Array) -> int:
        """Store a row; return its time, the regularised stamp minus the delay [ns]."""
        time_ns = self.advance(stamp_ns)
        self.buffer.append(time_ns, row)
        return time_ns

    def drop(self, reason: str) -> bool:
        """Count a dropped reading; return False, the result of its push."""
        self.dropped[reason] = self.dropped.get(reason, 0) + 1
        self._dropped_after_ns = self.last_stamp_ns
        return False

    def clear(self) -> None:
        """Forget all rows; counters stay."""
        self.buffer.clear()
        self.restart()

    def age(self, now_ns: int) -> float | None:
        """Return the time since the stamp of the last stored row [s]; None before the first."""
        return None if self.last_stamp_ns is None else seconds(now_ns - self.last_stamp_ns)

    def health(self, now_ns: int, timeout: float) -> Health:
        """Report whether the stream is waiting, lost, losing rows, or in order.

        Args:
            now_ns: The caller's time [ns], on the clock of the stamps.
            timeout: Age beyond which a required input counts as lost [s].
        """
        values = {"received": str(self.received)}
        values |= {f"dropped: {reason}": str(n) for reason, n in self.dropped.items()}
        period = self.regulator.period_ns
        values["rate [Hz]"] = f"{NANOSECONDS / period:.1f}" if period else "unknown"
        values["stamps"] = "regularised (they come in bursts)" if self.regulator.active else "as they come"
        name, age = self.spec.name, self.age(now_ns)
        if age is None:
            level = HealthLevel.STALE if self.spec.required else HealthLevel.OK
            return Health(name, level, "waiting for the first reading", values)
        values["age [s]"] = f"{age:.3f}"
        if age > timeout and self.spec.required:
            message = f"lost: last reading {age:.2f} s ago, limit {timeout:g} s"
            if age > OTHER_CLOCK_S:
                message += "; are its stamps of another clock (use_sim_time)?"
            return Health(name, HealthLevel.ERROR, message, values)
        recently = self._dropped_after_ns is None or now_ns - self._dropped_after_ns < RECENT_DROP_NS
        if self.dropped and recently:
            message = f"{sum(self.dropped.values())} of {self.received} readings dropped"
            return Health(name, HealthLevel.WARN, message, values)
        return Health(name, HealthLevel.OK, "arriving", values)
