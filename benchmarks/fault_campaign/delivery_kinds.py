"""Faults of delivery and clocks: losses, rates, order, latency, second publishers, stamps."""

from collections.abc import Callable
from dataclasses import replace
from itertools import count

from benchmarks.fault_campaign.fault import INPUTS, Injection, kind
from benchmarks.fault_campaign.messages import Message, nanoseconds
from inertial_estimation.signals import NANOSECONDS


@kind(duration_s=(0.1, 5.0))
def silence(f: Injection) -> list[Message]:
    """One stream stops, or all."""
    return f.edit(f.present() if f.rng.random() < 0.3 else f.stream(*INPUTS), lambda _: [])


@kind()
def dropouts(f: Injection) -> list[Message]:
    """10 to 50 % of the messages of one stream, or of all, are lost, in runs (Gilbert and Elliott)."""
    streams, share = f.one_or_all(*INPUTS), float(f.rng.uniform(0.1, 0.5))
    length = f.some(1.0, float(f.rng.uniform(2.0, 30.0)))
    lost = dict.fromkeys(streams, False)

    def pass_on(message: Message) -> list[Message]:
        leaves = 1.0 / length if lost[message.stream] else share / (1.0 - share) / length
        lost[message.stream] ^= bool(f.rng.random() < leaves)
        return [] if lost[message.stream] else [message]

    return f.edit(streams, pass_on)


@kind()
def slower(f: Injection) -> list[Message]:
    """One stream comes at 1/2 to 1/25 of its rate."""
    stream, factor, number = f.stream(*INPUTS), f.some(2, 3, 5, 10, 25), count(1)
    return f.edit(stream, lambda m: [] if next(number) % factor else [m])


def _delayed(
    f: Injection, streams: str | list[str], late_ns: Callable[[Message], int], *, stamped: bool = False
) -> list[Message]:
    """Let messages come late by a time [ns], stamped on arrival or before; the last one ends the fault."""
    last_ns = f.end_ns

    def late(message: Message) -> Message:
        nonlocal last_ns
        by_ns = late_ns(message)
        last_ns = max(last_ns, message.arrival_ns + by_ns)
        found = message.delayed(by_ns)
        return found.stamped(found.sample.stamp_ns + by_ns) if stamped else found

    found = f.edit(streams, late)
    f.end_ns = last_ns
    return found


@kind()
def bursts(f: Injection) -> list[Message]:
    """One stream, or all, is delivered in bursts every 10 to 500 ms."""
    streams, period_ns = f.one_or_all(*INPUTS, share=0.4), nanoseconds(f.log_uniform(0.01, 0.5))
    f.notes.append(f"every {1e-9 * period_ns:.3f} s")
    return _delayed(f, streams, lambda m: -(m.arrival_ns - f.begin_ns) % period_ns)


@kind()
def reordered(f: Injection) -> list[Message]:
    """The messages of one stream are delayed at random, and so arrive in another order."""
    stream, most = f.stream(*INPUTS), f.some(f.log_uniform(0.005, 0.1))
    return _delayed(f, stream, lambda _: nanoseconds(float(f.rng.uniform(0.0, most))))


@kind(duration_s=(0.02, 4.0))
def latency(f: Injection) -> list[Message]:
    """One stream comes late, by a constant or more and more, with stamps of measurement or of arrival."""
    stream, stamped = f.stream(*INPUTS), f.some("stamped before", "stamped on arrival")
    late_s, rate = f.some((f.log_uniform(0.01, 0.3), 0.0), (0.0, f.log_uniform(0.01, 0.3)))
    f.notes.append(f"{1e3 * late_s:.0f} ms" if late_s else f"{1e3 * rate:.0f} ms/s")
    stamped = stamped == "stamped on arrival"
    return _delayed(f, stream, lambda m: nanoseconds(late_s + rate * f.elapsed_s(m)), stamped=stamped)


@kind()
def duplicated(f: Injection) -> list[Message]:
    """Every message of a stream comes two or three times, at its stamp or as if it was measured anew."""
    stream, copies, later_s = f.stream(*INPUTS), f.some(1, 2), f.some(0.0, 0.002, 0.05)
    shift_s = f.some(0.0, 0.0, max(later_s, 0.001))

    def several(message: Message) -> list[Message]:
        later, shift = nanoseconds(later_s), nanoseconds(shift_s)
        again = [message.delayed(k * later) for k in range(1, copies + 1)]
        return [message, *(m.stamped(m.sample.stamp_ns + k * shift) for k, m in enumerate(again, 1))]

    found = f.edit(stream, several)
    f.end_ns += nanoseconds(copies * later_s)
    return found


@kind()
def second_publisher(f: Injection) -> list[Message]:
    """A second publisher sends one stream, too, with other values or by another clock."""
    stream, factor, shift_s = f.stream(*INPUTS), f.some(-1.0, 0.0, 0.5, 1.0), f.some(0.0, 0.001, 0.0025)
    shift = nanoseconds(shift_s if factor != 1.0 else f.some(f.sign() * f.log_uniform(0.02, 1e7)))

    def both(message: Message) -> list[Message]:
        second = message.stamped(message.sample.stamp_ns + shift)
        return [message, second.with_values(lambda _, v: factor * v).delayed(nanoseconds(shift_s))]

    return f.edit(stream, both)


def _stamped(
    f: Injection, streams: str | list[str], stamp: Callable[[Message, int], int], most: int | None = None
) -> list[Message]:
    """Replace the stamps [ns] of some streams."""
    return f.edit(streams, lambda m: m.stamped(stamp(m, m.sample.stamp_ns)), most)


@kind()
def stamps_jump(f: Injection) -> list[Message]:
    """Stamps of one stream are 0.2 s to a year ahead or behind, of one message or of all."""
    stream, offset_s = f.stream(*INPUTS), f.some(f.sign() * f.log_uniform(0.2, 4e7))
    return _stamped(f, stream, lambda _, t: t + nanoseconds(offset_s), f.some(1, None))


@kind()
def stamps_jittered(f: Injection) -> list[Message]:
    """Stamps of one stream have a noise of 0.1 to 50 ms."""
    stream, sigma = f.stream(*INPUTS), f.some(f.log_uniform(1e-4, 0.05))
    return _stamped(f, stream, lambda _, t: t + nanoseconds(sigma * f.rng.normal()))


@kind()
def stamps_frozen(f: Injection) -> list[Message]:
    """All messages of one stream have the same stamp."""
    first: dict[str, int] = {}
    return _stamped(f, f.stream(*INPUTS), lambda _, t: first.setdefault("stamp", t))


@kind()
def other_epoch(f: Injection) -> list[Message]:
    """One stream, or all, is stamped by the time since power-up, in another unit of time, or not at all."""
    streams = f.one_or_all(*INPUTS, share=0.4)
    first = min(m.sample.stamp_ns for m in f.messages if m.stream in streams)
    clocks: dict[str, Callable[[int], int]] = {
        "zero": lambda t: 0,
        "since power-up": lambda t: t - first,
        "microseconds taken for nanoseconds": lambda t: t // 1000,
        "seconds taken for nanoseconds": lambda t: t // NANOSECONDS,
        "18 s ahead (GPS for UTC)": lambda t: t + nanoseconds(18.0),
        "an hour ahead (summer time)": lambda t: t + nanoseconds(3600.0),
    }
    clock = clocks[f.some(*clocks)]
    return _stamped(f, streams, lambda _, t: clock(t))


@kind()
def clock_drift(f: Injection) -> list[Message]:
    """The clock of one stream runs too fast or too slow, by 0.01 to 5 %."""
    stream, rate = f.stream(*INPUTS), f.some(f.log_uniform(1e-4, 0.05) * f.sign())
    return _stamped(f, stream, lambda m, t: t + nanoseconds(rate * f.elapsed_s(m)))


@kind()
def clocks_step(f: Injection) -> list[Message]:
    """The clock of all stamps steps, with that of the receiver or without, and back at the end."""
    step = nanoseconds(f.some(f.log_uniform(0.02, 20.0) * f.sign()))
    receiver = 0 if f.some("with the receiver's", "with it", "without") == "without" else step

    def stepped(message: Message) -> Message:
        found = replace(message, clock_ns=message.clock_ns + receiver)
        stamped = hasattr(message.sample, "stamp_ns")
        return found.stamped(message.sample.stamp_ns + step) if stamped else found

    return f.edit(f.present(), stepped)


@kind(duration_s=(0.2, 2.0))
def looped_bag(f: Injection) -> list[Message]:
    """A player repeats the messages of a while one to three times, clock and stamps going back with them."""
    times, length = f.some(1, 2, 3), f.end_ns - f.begin_ns
    f.streams += f.present()

    def later(message: Message, loops: int) -> Message:
        return replace(message, arrival_ns=message.arrival_ns + loops * length)

    # after the loops as recorded: the clock has lost their time
    found = [m if m.arrival_ns < f.end_ns else later(m, times) for m in f.messages]
    found += [later(m, k) for m in filter(f.acts, f.messages) for k in range(1, times + 1)]
    f.end_ns += times * length
    return found
