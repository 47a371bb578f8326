"""Health of one input: waiting, lost, losing readings, used with a remark, or in order."""

from collections.abc import Sequence

from inertial_estimation.inputs.stream import Stream
from inertial_estimation.signals import NANOSECONDS, Health, HealthLevel, seconds

AHEAD_S = 0.5  # by which stamps may be ahead of the clock, as clocks of two machines are
OTHER_CLOCK_S = 3600.0  # age of a reading from which another clock is the likely cause
UNSET = "its stamps are zero (never set), its readings are taken at their arrival: set inputs.stamps: arrival"


def stream_health(stream: Stream, now_ns: int, timeout: float, notes: Sequence[str], *, required: bool) -> Health:
    """Report the state of an input, one sentence a cause.

    Args:
        stream: The input.
        now_ns: The caller's time on the clock of the stamps [ns].
        timeout: Age from which it is lost [s].
        notes: What else is odd about it.
        required: Whether its loss is a fault.
    """
    name, drops, clock, newest = stream.spec.name, stream.drops, stream.clock, stream.ring.newest_ns
    period = clock.even.period_ns
    values = {"received": str(stream.received)} | drops.values()
    values["rate [Hz]"] = f"{NANOSECONDS / period:.1f}" if period else "unknown"
    values["stamps"] = "made even (they come in bursts)" if clock.even.even else "as they come"
    remarks = [*stream.remarks.values(), *notes]
    if clock.unset:
        remarks.insert(0, UNSET)
    if newest is None:
        level = HealthLevel.STALE if required else HealthLevel.OK
        if drops.total:
            return Health(name, max(level, HealthLevel.WARN), _said(f"none usable: {drops.summary}", remarks), values)
        return Health(name, level, _said("waiting for the first reading", remarks), values)
    age = seconds(now_ns - newest)
    values["age [s]"] = f"{age:.3f}"
    if age > timeout and required and not stream.spec.holds:
        message = f"lost: last reading {age:.2f} s ago, limit {timeout:g} s"
        if age > OTHER_CLOCK_S:
            message += "; are its stamps of another clock (use_sim_time)?"
        if clock.held:
            message += f"; readings arrive with stamps {seconds(clock.held[-1].stamp_ns - (clock.last_ns or 0)):+.2f} s"
        elif drops.total and drops.arrival_ns == stream.arrival_ns:
            message += f"; readings arrive but are dropped: {drops.summary}"
        return Health(name, HealthLevel.ERROR, _said(message, remarks), values)
    if drops.recent(stream.arrival_ns):
        remarks.append(f"{drops.total} of {stream.received} readings dropped, last: {drops.summary}")
    if age < -AHEAD_S:
        remarks.append(f"its stamps are {-age:.2f} s ahead of the clock: are they of another one (use_sim_time)?")
    if remarks:
        return Health(name, HealthLevel.WARN, "; ".join(remarks), values)
    return Health(name, HealthLevel.OK, "arriving", values)


def _said(message: str, remarks: Sequence[str]) -> str:
    return "; ".join([message, *remarks])
