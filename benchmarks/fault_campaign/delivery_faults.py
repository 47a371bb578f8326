"""Faults of delivery and stamps: silence, rates, bursts, order, duplicates, clocks, loops."""

from collections.abc import Callable
from dataclasses import replace

from benchmarks.fault_campaign.fault import Draw, Kind
from benchmarks.fault_campaign.readings import (
    CHANNELS,
    Reading,
    delayed,
    nanoseconds,
    restamped,
    with_channel,
)

REGULAR = ("imu", "joints", "wrench", "base_state", "orientation")


def silence(draw: Draw) -> list[Reading]:
    stream = draw.pick(*REGULAR)
    draw.notes.append(f"{stream}, {draw.duration_s:.2f} s")
    return draw.each(stream, lambda _: None)


def silence_of_all(draw: Draw) -> list[Reading]:
    draw.streams += draw.present()
    draw.notes.append(f"{draw.duration_s:.2f} s")
    return draw.each(draw.present(), lambda _: None)


def faster(draw: Draw) -> list[Reading]:
    """Put interpolated readings between those of one stream, stamps right."""
    stream = draw.pick(*REGULAR)
    factor = int(draw.rng.choice([2, 3, 5, 10]))
    draw.notes.append(f"{stream}, {factor} times")
    found: list[Reading] = []
    last: Reading | None = None
    for reading in draw.readings:
        if reading.stream == stream:
            if last is not None and draw.acts(last) and draw.acts(reading):
                found += [_between(last, reading, k / factor) for k in range(1, factor)]
            last = reading
        found.append(reading)
    return found


def _between(before: Reading, after: Reading, share: float) -> Reading:
    def at(a: int, b: int) -> int:
        return a + round(share * (b - a))

    arrival = at(before.arrival_ns, after.arrival_ns)
    found = replace(after, arrival_ns=arrival, clock_ns=at(before.clock_ns, after.clock_ns))
    found = restamped(found, at(before.sample.stamp_ns, after.sample.stamp_ns))
    for channel, field in CHANNELS[type(after.sample)].items():
        a = field.get(before.sample)
        if a is not None:
            found = with_channel(found, channel, lambda b, a=a: a + share * (b - a))
    return found


def slower(draw: Draw) -> list[Reading]:
    stream = draw.pick(*REGULAR)
    factor = int(draw.rng.choice([2, 3, 5, 10, 25]))
    draw.notes.append(f"{stream}, 1 of {factor}")
    count = 0

    def keep(reading: Reading) -> Reading | None:
        nonlocal count
        count += 1
        return reading if count % factor == 0 else None

    return draw.each(stream, keep)


def bursts(draw: Draw) -> list[Reading]:
    """Deliver one stream, or all, in bursts."""
    streams = draw.present(*REGULAR) if draw.rng.random() < 0.4 else [draw.pick(*REGULAR)]
    draw.streams += streams
    period_ns = nanoseconds(draw.log_uniform(0.01, 0.5))
    draw.notes.append(f"{', '.join(streams)} every {1e-9 * period_ns:.3f} s")

    def late(reading: Reading) -> Reading:
        behind = -(reading.arrival_ns - draw.begin_ns) % period_ns
        return delayed(reading, behind)

    found = draw.each(streams, late)
    draw.end_ns += period_ns
    return found


def reordered(draw: Draw) -> list[Reading]:
    stream = draw.pick(*REGULAR)
    most = draw.log_uniform(0.005, 0.1)
    draw.notes.append(f"{stream}, by up to {most:.3f} s")

    def late(reading: Reading) -> Reading:
        behind = nanoseconds(float(draw.rng.uniform(0.0, most)))
        return delayed(reading, behind)

    found = draw.each(stream, late)
    draw.end_ns += nanoseconds(most)
    return found


def duplicated(draw: Draw) -> list[Reading]:
    """Deliver every reading of a stream two or three times."""
    stream = draw.pick(*REGULAR)
    copies, later_ns = int(draw.rng.integers(1, 3)), nanoseconds(float(draw.rng.choice([0.0, 0.002, 0.05])))
    draw.notes.append(f"{stream}, {copies} more, {1e-6 * later_ns:g} ms later")
    found = []
    for reading in draw.readings:
        found.append(reading)
        if reading.stream == stream and draw.acts(reading):
            found += [delayed(reading, later_ns) for _ in range(copies)]
    draw.end_ns += later_ns
    return found


def _stamped(draw: Draw, stream: str, stamp: Callable[[int], int], *, once: bool) -> list[Reading]:
    """Change the stamps [ns] of one reading of a stream, or of all, while the fault acts."""
    changed = 0

    def restamp(reading: Reading) -> Reading:
        nonlocal changed
        changed += 1
        return reading if once and changed > 1 else restamped(reading, stamp(reading.sample.stamp_ns))

    return draw.each(stream, restamp)


def stamps_zero(draw: Draw) -> list[Reading]:
    stream = draw.pick(*REGULAR)
    once = bool(draw.rng.random() < 0.5)
    draw.notes.append(f"{stream}, {'one reading' if once else 'all'}")
    return _stamped(draw, stream, lambda _: 0, once=once)


def _jump(draw: Draw, sign: float) -> list[Reading]:
    stream = draw.pick(*REGULAR)
    ahead = draw.log_uniform(0.2, 4e7)
    offset_ns, once = nanoseconds(sign * ahead), bool(draw.rng.random() < 0.5)
    draw.notes.append(f"{stream}, {sign * ahead:.3g} s, {'one reading' if once else 'all'}")
    return _stamped(draw, stream, lambda stamp_ns: stamp_ns + offset_ns, once=once)


def stamps_ahead(draw: Draw) -> list[Reading]:
    return _jump(draw, 1.0)


def stamps_back(draw: Draw) -> list[Reading]:
    return _jump(draw, -1.0)


def stamps_jittered(draw: Draw) -> list[Reading]:
    stream = draw.pick(*REGULAR)
    sigma = draw.log_uniform(1e-4, 0.05)
    draw.notes.append(f"{stream}, sigma {1e3 * sigma:.2g} ms")
    return draw.each(
        stream, lambda r: restamped(r, r.sample.stamp_ns + nanoseconds(sigma * float(draw.rng.normal())))
    )


def stamps_frozen(draw: Draw) -> list[Reading]:
    stream = draw.pick(*REGULAR)
    draw.notes.append(stream)
    first: list[int] = []

    def freeze(reading: Reading) -> Reading:
        first.append(reading.sample.stamp_ns)
        return restamped(reading, first[0])

    return draw.each(stream, freeze)


def two_clocks(draw: Draw) -> list[Reading]:
    """Let a second publisher of one topic send the same readings with the stamps of another clock."""
    stream = draw.pick(*REGULAR)
    sign = float(draw.rng.choice([-1.0, 1.0]))
    offset_ns = nanoseconds(sign * draw.log_uniform(0.02, 1e7))
    draw.notes.append(f"{stream}, the second {1e-9 * offset_ns:.3g} s off")
    found = []
    for reading in draw.readings:
        found.append(reading)
        if reading.stream == stream and draw.acts(reading):
            found.append(restamped(reading, reading.sample.stamp_ns + offset_ns))
    return found


def looped(draw: Draw) -> list[Reading]:
    """Play the readings of a while again and again, clock and stamps going back with them."""
    times = int(draw.rng.integers(1, 4))
    length_ns = draw.end_ns - draw.begin_ns
    draw.notes.append(f"{1e-9 * length_ns:.2f} s, {times} times again")
    draw.streams += draw.present()
    within = [reading for reading in draw.readings if draw.acts(reading)]
    found = [reading for reading in draw.readings if reading.arrival_ns < draw.end_ns]
    for k in range(1, times + 1):
        found += [replace(reading, arrival_ns=reading.arrival_ns + k * length_ns) for reading in within]
    later_ns = times * length_ns
    # from then on as recorded: the clock has lost the time of the loops
    rest = [r for r in draw.readings if r.arrival_ns >= draw.end_ns]
    found += [replace(reading, arrival_ns=reading.arrival_ns + later_ns) for reading in rest]
    draw.end_ns += later_ns
    return found


DELIVERY_KINDS = (
    Kind("silence", silence, duration_s=(0.1, 5.0)),
    Kind("silence_of_all", silence_of_all, duration_s=(0.1, 5.0)),
    Kind("faster", faster),
    Kind("slower", slower),
    Kind("bursts", bursts),
    Kind("reordered", reordered),
    Kind("duplicated", duplicated),
    Kind("stamps_zero", stamps_zero),
    Kind("stamps_ahead", stamps_ahead),
    Kind("stamps_back", stamps_back),
    Kind("stamps_jittered", stamps_jittered),
    Kind("stamps_frozen", stamps_frozen),
    Kind("two_clocks", two_clocks),
    Kind("looped_bag", looped, duration_s=(0.2, 2.0)),
)
