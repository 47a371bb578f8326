"""Health of one input: whether it is waiting, lost, holding the output, losing readings, or in order."""

from inertial_estimation.estimators.inputs.input_stream import InputStream
from inertial_estimation.signals import NANOSECONDS, Health, HealthLevel, seconds

AHEAD_S = 0.5  # by which stamps may be ahead of the clock, as clocks of two machines are
OTHER_CLOCK_S = 3600.0  # age of a reading from which another clock is the likely cause


def stream_health(
    stream: InputStream, now_ns: int, timeout: float, holding: str = "", stuck: str = ""
) -> Health:
    """Report whether the stream is waiting, lost, holding the output, losing rows, doubtful, or in order.

    Args:
        stream: The stream.
        now_ns: The caller's time [ns], on the clock of the stamps.
        timeout: Age beyond which a required input counts as lost [s].
        holding: Why the stream holds the output although it arrives; empty where it does not.
        stuck: Which of its sensors are stuck; empty where none is.
    """
    values = {"received": str(stream.received)}
    values |= stream.drops.values()
    period = stream.regulator.period_ns
    values["rate [Hz]"] = f"{NANOSECONDS / period:.1f}" if period else "unknown"
    values["stamps"] = "regularised (they come in bursts)" if stream.regulator.active else "as they come"
    name, age, silence = stream.spec.name, stream.age(now_ns), stream.silence(now_ns)
    if age is None or silence is None:
        level = HealthLevel.STALE if stream.spec.required else HealthLevel.OK
        if stream.drops.total:
            return Health(name, max(level, HealthLevel.WARN), f"none usable: {stream.drops.last}", values)
        return Health(name, level, "waiting for the first reading", values)
    values["age [s]"] = f"{age:.3f}"
    if silence > timeout and stream.spec.required:
        message = f"lost: last reading {silence:.2f} s ago, limit {timeout:g} s"
        if age > OTHER_CLOCK_S:
            message += "; are its stamps of another clock (use_sim_time)?"
        if stream.candidate is not None and stream.candidate.held:
            side = "ahead" if stream.candidate_step_ns > 0 else "back"
            message += f"; readings arrive with stamps {abs(seconds(stream.candidate_step_ns)):.2f} s {side}"
        elif stream.drops.total and stream.drops.after_ns == stream.last_stamp_ns:
            message += f"; readings arrive but are dropped: {stream.drops.last}"
        return Health(name, HealthLevel.ERROR, message, values)
    if holding:
        return Health(name, HealthLevel.ERROR, holding, values)
    if stream.drops.recent(now_ns):
        message = f"{stream.drops.total} of {stream.received} readings dropped, last: {stream.drops.last}"
        return Health(name, HealthLevel.WARN, message, values)
    remarks = [remark for remark in (stream.remark(), stuck) if remark]
    if age < -AHEAD_S:
        of = "are they of another one (use_sim_time)?"
        remarks.insert(0, f"its stamps are {-age:.2f} s ahead of the clock: {of}")
    if remarks:
        message = "; ".join(remarks)
        return Health(name, HealthLevel.WARN, message, values)
    return Health(name, HealthLevel.OK, "arriving", values)
