"""Faults of delivery, clocks, names and bytes of messages, and requests that no robot can follow."""

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np

from benchmarks.fault_campaign.fault import INPUTS, Injection, Stamp, kind, stamp_kind
from benchmarks.fault_campaign.messages import Message, damaged, joint_columns, nanoseconds, serialised
from inertial_estimation.signals import NANOSECONDS, BaseReference, JointReading

SERIALISED = (*INPUTS, "inertia")
FIELDS = ("position", "velocity", "effort")


@kind(duration_s=(0.1, 5.0))
def silence(f: Injection) -> list[Message]:
    """One stream stops, or all."""
    return f.edit(f.one_or_all(*INPUTS), lambda _: [])


@kind()
def dropouts(f: Injection) -> list[Message]:
    """10 to 50 % of the messages of one stream, or of all, are lost, in runs (Gilbert and Elliott)."""
    streams, share = f.one_or_all(*INPUTS), f.uniform(0.1, 0.5)
    length = f.some(1.0, f.uniform(2.0, 30.0))
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


@kind()
def bursts(f: Injection) -> list[Message]:
    """One stream, or all, is delivered in bursts every 10 to 500 ms."""
    streams, period_ns = f.one_or_all(*INPUTS, share=0.4), nanoseconds(f.log_uniform(0.01, 0.5))
    return f.edit(streams, lambda m: m.delayed(-(m.arrival_ns - f.begin_ns) % period_ns))


@kind()
def reordered(f: Injection) -> list[Message]:
    """The messages of one stream are delayed at random, and so arrive in another order."""
    stream, most = f.stream(*INPUTS), f.log_uniform(0.005, 0.1)
    return f.edit(stream, lambda m: m.delayed(nanoseconds(f.rng.uniform(0.0, most))))


@kind(duration_s=(0.02, 4.0))
def latency(f: Injection) -> list[Message]:
    """One stream comes late, by a constant or more and more, with stamps of measurement or of arrival."""
    stream, stamped = f.stream(*INPUTS), f.some("stamped before", "stamped on arrival")
    late_s, rate = f.some((f.log_uniform(0.01, 0.3), 0.0), (0.0, f.log_uniform(0.01, 0.3)))

    def late(message: Message) -> Message:
        by_ns = nanoseconds(late_s + rate * f.elapsed_s(message))
        shift_ns = by_ns if stamped == "stamped on arrival" else 0
        return message.delayed(by_ns).stamped(message.sample.stamp_ns + shift_ns)

    return f.edit(stream, late)


@kind()
def duplicated(f: Injection) -> list[Message]:
    """Every message of a stream comes two or three times, at its stamp or as if it was measured anew."""
    stream, copies, later = f.stream(*INPUTS), f.some(1, 2), nanoseconds(f.some(0.0, 0.002, 0.05))
    shift = f.some(0, 0, max(later, 1_000_000))

    def several(message: Message) -> list[Message]:
        stamp_ns = message.sample.stamp_ns
        return [message.delayed(k * later).stamped(stamp_ns + k * shift) for k in range(copies + 1)]

    return f.edit(stream, several)


@kind()
def second_publisher(f: Injection) -> list[Message]:
    """A second publisher sends one stream, too, with other values or by another clock."""
    stream, factor, shift_s = f.stream(*INPUTS), f.some(-1.0, 0.0, 0.5, 1.0), f.some(0.0, 0.001, 0.0025)
    shift = nanoseconds(shift_s if factor != 1.0 else f.sign() * f.log_uniform(0.02, 1e7))

    def both(message: Message) -> list[Message]:
        second = message.stamped(message.sample.stamp_ns + shift)
        return [message, second.with_values(lambda _, v: factor * v).delayed(nanoseconds(shift_s))]

    return f.edit(stream, both)


def _jumped(f: Injection, first_ns: int) -> Stamp:
    offset_ns, left, number = nanoseconds(f.sign() * f.log_uniform(0.2, 4e7)), f.some(1, 10**9), count()
    return lambda m, t: t + offset_ns * (next(number) < left)


def _jittered(f: Injection, first_ns: int) -> Stamp:
    sigma = f.log_uniform(1e-4, 0.05)
    return lambda m, t: t + nanoseconds(sigma * f.rng.normal())


def _drifting(f: Injection, first_ns: int) -> Stamp:
    rate = f.log_uniform(1e-4, 0.05) * f.sign()
    return lambda m, t: t + nanoseconds(rate * f.elapsed_s(m))


def _other_epoch(f: Injection, first_ns: int) -> Stamp:
    clocks: dict[str, Stamp] = {
        "zero": lambda m, t: 0,
        "since power-up": lambda m, t: t - first_ns,
        "microseconds taken for nanoseconds": lambda m, t: t // 1000,
        "seconds taken for nanoseconds": lambda m, t: t // NANOSECONDS,
        "18 s ahead (GPS for UTC)": lambda m, t: t + nanoseconds(18.0),
        "an hour ahead (summer time)": lambda m, t: t + nanoseconds(3600.0),
    }
    return clocks[f.some(*clocks)]


stamp_kind("stamps_jump", "Stamps are 0.2 s to a year ahead or behind, of one message or of all.", _jumped)
stamp_kind("stamps_jittered", "Stamps have a noise of 0.1 to 50 ms.", _jittered)
stamp_kind("stamps_frozen", "All messages have the same stamp.", lambda f, first_ns: lambda m, t: first_ns)
stamp_kind("clock_drift", "The clock runs too fast or too slow, by 0.01 to 5 %.", _drifting)
stamp_kind("other_epoch", "Stamps count from power-up, in another unit, or were never set.", _other_epoch)


@kind()
def clocks_step(f: Injection) -> list[Message]:
    """The clock of all stamps steps, with that of the receiver or without, and back at the end."""
    step_ns, receiver = nanoseconds(f.log_uniform(0.02, 20.0) * f.sign()), f.some(True, True, False)

    def stepped(message: Message) -> Message:
        found = replace(message, clock_ns=message.clock_ns + step_ns * receiver)
        stamped = hasattr(message.sample, "stamp_ns")
        return found.stamped(message.sample.stamp_ns + step_ns) if stamped else found

    return f.edit(f.present(), stepped)


@kind(duration_s=(0.2, 2.0))
def looped_bag(f: Injection) -> list[Message]:
    """A player repeats the messages of a while one to three times, clock and stamps going back with them."""
    times, length = f.some(1, 2, 3), f.end_ns - f.begin_ns

    def loops(message: Message) -> list[Message]:
        return [replace(message, arrival_ns=message.arrival_ns + k * length) for k in range(times + 1)]

    looped, after = f.edit(f.present(), loops), {id(m) for m in f.messages if m.arrival_ns >= f.end_ns}
    # from then on as recorded: the clock has lost the time of the loops
    return [loops(m)[-1] if id(m) in after else m for m in looped]


@kind("joints")
def names_duplicate(f: Injection) -> list[Message]:
    """Three joints are sent twice in one message, with the same values or with others."""
    size = f.some(0.0, f.log_uniform(0.05, 3.0))

    def twice(message: Message) -> Message:
        n = len(message.sample.names)
        found = replace(message, sample=joint_columns(message.sample, [*range(n), 0, n // 3, n // 2]))
        return found.with_values(lambda _, v: v + size * (np.arange(n + 3) >= n), "position")

    return f.edit("joints", twice)


@kind("joints")
def names_missing(f: Injection) -> list[Message]:
    """Some joints, or all, are missing in the joint states."""
    kept = range(f.some(0, f.integer(0, len(f.joints) - 1)))
    return f.edit("joints", lambda m: replace(m, sample=joint_columns(m.sample, kept)))


@kind("joints", duration_s=(0.5, 3.0))
def names_changing(f: Injection) -> list[Message]:
    """Joint states hold unknown names, always the same or ever new, besides the joints' own or for them."""
    what, number = f.some("a finger besides", "new ones besides", "new ones for them"), count()

    def change(sample: JointReading) -> JointReading:
        n, k = len(sample.names), next(number)
        if what == "new ones for them":
            return replace(sample, names=tuple(f"joint_{k}_{i}" for i in range(n)))
        extra = "finger" if what == "a finger besides" else f"joint_{k}"
        return replace(joint_columns(sample, [0, *range(n)]), names=(extra, *sample.names))

    return f.edit("joints", lambda m: replace(m, sample=change(m.sample)))


@kind("joints")
def names_of_another_robot(f: Injection) -> list[Message]:
    """Another robot publishes its joint states on the same topic, half of the names or none in common."""
    kept = f.some(0, len(f.joints) // 2)
    names = (*f.joints[:kept], *(f"robot2_{name}" for name in f.joints[kept:]))

    def both(message: Message) -> list[Message]:
        second = replace(message.sample, names=names, position=message.sample.position + 0.5)
        return [message, replace(message, sample=second).stamped(second.stamp_ns + 1_000_000)]

    return f.edit("joints", both)


def _bytes(f: Injection, stream: str, change: Callable[[Any], None], act: Any = bytes) -> list[Message]:
    """Send messages as bytes, after a change of their fields and another one of the bytes."""

    def damage(message: Message) -> Message:
        raw = serialised(message.sample, change)
        return replace(message, sample=raw._replace(data=act(raw.data)))

    return f.edit(stream, damage)


@kind("joints")
def arrays_wrong(f: Injection) -> list[Message]:
    """An array of the joint states is empty or has not one entry per name."""
    field, how = f.some(*FIELDS), f.some("longer", "shorter", "empty")

    def wrong(message: Any) -> None:
        values = getattr(message, field)
        lengths = {"longer": np.append(values, 0.0), "shorter": values[:-1], "empty": values[:0]}
        setattr(message, field, lengths[how])

    return _bytes(f, "joints", wrong)


@kind()
def bytes_damaged(f: Injection) -> list[Message]:
    """Bits are flipped, bytes lost, inserted or overwritten, messages cut, or a text is no UTF-8."""
    stream, latin = f.stream(*SERIALISED), f.some("", "", "Latin-1") == "Latin-1"

    def act(data: bytes) -> bytes:
        if not latin:
            return damaged(data, f.rng)
        place = max(data.find(b"joint"), data.find(b"frame"))
        return data[:place] + b"\xe9" + data[place + 1 :]

    return _bytes(f, stream, lambda _: None, act)


@kind(pipelines=("controller",))
def references_absurd(f: Injection) -> list[Message]:
    """Requests of postures and heights that no robot has come with every joint state."""
    size = f.sign() * 10.0 ** f.uniform(1.0, 308.0)
    field = f.some("height", "pitch_rate", "position", "velocity")
    joint = field in ("position", "velocity")
    stream, value = ("joint_reference", np.full(len(f.joints), size)) if joint else ("base_reference", size)

    def request(message: Message) -> Message:
        sample = replace(message.sample, velocity=None, effort=None) if joint else BaseReference(0.9)
        return replace(message, stream=stream, sample=replace(sample, **{field: value}))

    found = f.edit("joints", lambda m: [m, request(m)])
    f.streams[:] = [stream]
    before = [m for m in f.of(stream) if m.arrival_ns < f.begin_ns][-1:]
    after = [m for m in f.messages if m.arrival_ns >= f.end_ns][:1]
    taken_back = zip(before, after, strict=False)
    return [*found, *(replace(a, stream=stream, sample=b.sample) for b, a in taken_back)]
