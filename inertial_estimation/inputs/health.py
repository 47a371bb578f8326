"""Health of the inputs: waiting, lost, losing readings, used with a remark, or in order."""

from collections.abc import Sequence

from inertial_estimation.inputs.possible import REPORTED_NS
from inertial_estimation.inputs.stream import Stream
from inertial_estimation.signals import NANOSECONDS, Health, HealthLevel, seconds

AHEAD_S = 0.5  # by which stamps may be ahead of the clock, as clocks of two machines are
OTHER_CLOCK_S = 3600.0  # age of a reading from which another clock is the likely cause
REPEATED, LEAST_NS = 10, 3 * NANOSECONDS // 10  # newest rows that are the same, and time that they span
UNSET = "its stamps are zero (not set), its readings are taken at their arrival: set inputs.stamps: arrival"


def stream_health(stream: Stream, now_ns: int, timeout: float, notes: Sequence[str]) -> Health:
    """Report the state of an input now [ns], one sentence a cause; notes say what else is odd about it.

    It is lost from an age of the timeout on [s].
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
            message += f"; its stamps are now {seconds(clock.held[-1][0] - clock.last_ns):+.2f} s off"
        elif drops.total and drops.arrival_ns == stream.arrival_ns:
            message += f"; readings arrive but are dropped: {drops.summary}"
        elif age > OTHER_CLOCK_S:
            message += "; are its stamps of another clock (use_sim_time)?"
    else:
        level, message = HealthLevel.OK, ""
        if drops.total and stream.arrival_ns - drops.arrival_ns < REPORTED_NS:
            remarks.append(f"{drops.total} of {stream.received} readings dropped, last: {drops.summary}")
        if age < -AHEAD_S:
            remarks.append(f"its stamps are {-age:.2f} s ahead of the clock: of another one (use_sim_time)?")
        level = HealthLevel.WARN if any(remarks) else HealthLevel.OK
    values |= {} if newest is None else {"age [s]": f"{age:.3f}"}
    return Health(name, level, "; ".join(filter(None, [message, *remarks])) or "arriving", values)


def repeats(streams: Sequence[Stream]) -> dict[str, str]:
    """Return a sentence by the name of each input whose last rows are the same while others change.

    The inputs are those with noise, which do not repeat while the robot moves. Nothing is dropped for it.
    """
    latest = max((stream.ring.newest_ns or 0 for stream in streams), default=0)
    windows = {stream.spec.name: stream.ring.window(latest - LEAST_NS, latest)[1] for stream in streams}
    rows = {name: rows for name, rows in windows.items() if len(rows) >= REPEATED}
    still = [name for name, values in rows.items() if (values == values[0]).all()]
    stuck = "repeats exactly while others change: is it stuck?"
    return dict.fromkeys(still, stuck) if len(still) < len(rows) else {}
