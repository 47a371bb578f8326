"""Health of the inputs as text: silence, dropped readings and repeated values, with the remedy."""

from collections.abc import Sequence

import numpy as np

from inertial_estimation.inputs.stream import PERIODIC, REPORTED_NS, Stream
from inertial_estimation.signals import NANOSECONDS, Health, HealthLevel, seconds

AHEAD_S = 0.5  # by which stamps may be ahead of the clock: clocks of two machines differ [s]
REPEATED = 10  # least number of identical rows that is reported
REPEATED_NS = round(0.3 * NANOSECONDS)  # span in which all rows are identical


def stream_health(stream: Stream, now_ns: int, timeout: float, notes: Sequence[str]) -> Health:
    """Return the health of an input at a time [ns], one sentence for each cause; notes are appended.

    The input is lost once its newest reading is older than the timeout [s].
    """
    drops, clock, newest = stream.drops, stream.clock, stream.ring.newest_ns
    remarks = stream.notes
    times_ns, _rows = stream.ring.newest(PERIODIC)
    period = float(np.diff(times_ns).mean()) / NANOSECONDS if len(times_ns) == PERIODIC else 0.0
    age, message, level = 0.0 if newest is None else seconds(now_ns - newest), "", HealthLevel.OK
    if newest is None:
        level = HealthLevel.STALE if stream.spec.required else HealthLevel.OK
        message = f"none usable: {drops.summary}" if drops.total else "waiting for the first reading"
        level = max(level, HealthLevel.WARN) if drops.total else level
    elif age > timeout and not stream.spec.holds:
        level = HealthLevel.ERROR if stream.spec.required else HealthLevel.WARN
        message = f"lost: last reading {age:.2f} s ago, limit {timeout:g} s"
        if clock.odd is not None and clock.last_ns is not None:
            message += f"; its stamps are now {seconds(clock.odd.last_ns - clock.last_ns):+.2f} s off"
        elif drops.total and drops.arrival_ns == stream.arrival_ns:
            message += f"; readings arrive but are dropped: {drops.summary}"
        elif seconds(now_ns - stream.arrival_ns) <= timeout:
            message = f"lost: readings arrive {age:.2f} s after their stamps, limit {timeout:g} s: "
            message += f"are they of another clock (inputs.arrival: [{stream.input}], use_sim_time)?"
    elif drops.total and stream.arrival_ns - drops.arrival_ns < REPORTED_NS:
        remarks.append(f"{drops.total} of {stream.received} readings dropped, last: {drops.summary}")
    if age < -AHEAD_S:
        remarks.append(
            f"its stamps are {-age:.2f} s ahead of the clock: are they of another one (use_sim_time)?"
        )
    found = [text for text in (message, *remarks, *notes) if text]
    if found and not message:
        level = HealthLevel.WARN
    values = {
        "received": str(stream.received),
        **drops.values(),
        "rate [Hz]": f"{1.0 / period:.1f}" if period else "unknown",
        "stamps": "made even (they come in bursts)" if clock.even.even else "as they come",
        **({} if newest is None else {"age [s]": f"{age:.3f}"}),
    }
    return Health(stream.spec.name, level, "; ".join(found) or "arriving", values)


def repeats(streams: Sequence[Stream]) -> dict[str, str]:
    """Return a sentence for each input whose recent rows are identical while those of others change.

    The given inputs have noise, so that their rows do not repeat. No reading is dropped for it.
    """
    latest = max((stream.ring.newest_ns or 0 for stream in streams), default=0)
    windows = {stream.spec.name: stream.ring.window(latest - REPEATED_NS, latest)[1] for stream in streams}
    rows = {name: rows for name, rows in windows.items() if len(rows) >= REPEATED}
    still = [name for name, values in rows.items() if (values == values[0]).all()]
    stuck = "repeats exactly while others change: is it stuck?"
    return dict.fromkeys(still, stuck) if len(still) < len(rows) else {}
