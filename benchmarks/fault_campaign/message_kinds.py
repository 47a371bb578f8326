"""Faults of names and messages, and requests that no robot can follow."""

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np

from benchmarks.fault_campaign.fault import INPUTS, Injection, kind
from benchmarks.fault_campaign.messages import Message, damaged, joint_columns, serialised
from inertial_estimation.signals import BaseReference, JointReading

SERIALISED = (*INPUTS, "inertia")
FIELDS = ("position", "velocity", "effort")


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


@kind("joints")
def joint_states_split(f: Injection) -> list[Message]:
    """One half of the joints comes in one message, the others in the next one, as from two buses."""

    def halves(message: Message) -> list[Message]:
        n = len(message.sample.names)
        parts = range(n // 2), range(n // 2, n)
        return [replace(message, sample=joint_columns(message.sample, part)) for part in parts]

    return f.edit("joints", halves)


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
