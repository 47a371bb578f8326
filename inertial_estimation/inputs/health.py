"""Health of one input: waiting, lost, losing readings, used with a remark, or in order."""

from collections.abc import Sequence

from inertial_estimation.inputs.stream import Stream
from inertial_estimation.signals import NANOSECONDS, Health, HealthLevel, seconds

AHEAD_S = 0.5  # by which stamps may be ahead of the clock, as clocks of two machines are
OTHER_CLOCK_S = 3600.0  # age of a reading from which another clock is the likely cause
UNSET = "its stamps are zero (not set), its readings are taken at their arrival: set inputs.stamps: arrival"


def stream_health(stream: Stream, now_ns: int, timeout: float, notes: Sequence[str]) -> Health:
    """Report the state of an input, one sentence a cause.

    Args:
        stream: The input.
        now_ns: The caller's time on the clock of the stamps [ns].
        timeout: Age from which it is lost [s].
        notes: What else is odd about it.
    """
    name, drops, clock, newest = stream.spec.name, stream.drops, stream.clock, stream.ring.newest_ns
    values = {"received": str(stream.received)} | drops.values()
    period = clock.even.period_ns
    values["rate [Hz]"] = f"{NANOSECONDS / period:.1f}" if period else "unknown"
    values["stamps"] = "made even (they come in bursts)" if clock.even.even else "as they come"
    remarks = [UNSET if clock.unset else "", *stream.remarks.values(), *notes]
    age = 0.0 if newest is None else seconds(now_ns - newest)
    if newest is None:
        level = HealthLevel.STALE if stream.spec.required else HealthLevel.OK
        message = f"none usable: {drops.summary}" if drops.total else "waiting for the first reading"
        level = max(level, HealthLevel.WARN) if drops.total else level
    elif age > timeout and stream.spec.required and not stream.spec.holds:
        level, message = HealthLevel.ERROR, f"lost: last reading {age:.2f} s ago, limit {timeout:g} s"
        if clock.held and clock.last_ns is not None:
            message += (
                f"; readings arrive with stamps {seconds(clock.held[-1].stamp_ns - clock.last_ns):+.2f} s off"
            )
        elif drops.total and drops.arrival_ns == stream.arrival_ns:
            message += f"; readings arrive but are dropped: {drops.summary}"
        elif age > OTHER_CLOCK_S:
            message += "; are its stamps of another clock (use_sim_time)?"
    else:
        level, message = HealthLevel.OK, ""
        if drops.recent(stream.arrival_ns):
            remarks.append(f"{drops.total} of {stream.received} readings dropped, last: {drops.summary}")
        if age < -AHEAD_S:
            remarks.append(f"its stamps are {-age:.2f} s ahead of the clock: of another one (use_sim_time)?")
        level = HealthLevel.WARN if any(remarks) else HealthLevel.OK
    values |= {} if newest is None else {"age [s]": f"{age:.3f}"}
    return Health(name, level, "; ".join(filter(None, [message, *remarks])) or "arriving", values)
