"""Faults of names and messages, and requests that no robot can follow."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np

from benchmarks.fault_campaign.fault import INPUTS, Injection, kind
from benchmarks.fault_campaign.messages import Message, damaged, joint_columns, nanoseconds, serialised
from inertial_estimation.signals import BaseReference, JointReading

SERIALISED = (*INPUTS, "inertia")
FIELDS = ("position", "velocity", "effort")


def _columns(f: Injection, order: Callable[[int], Sequence[int]]) -> list[Message]:
    """Send joint states with some of their columns in an order, found from their number."""

    def act(message: Message) -> Message:
        columns = order(len(message.sample.names))
        return replace(message, sample=joint_columns(message.sample, columns))

    return f.edit("joints", act)


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
    share = f.some(float(f.rng.uniform(0.0, 0.95)))
    return _columns(f, lambda n: range(min(n - 1, int(share * n))))


@kind("joints")
def names_reordered(f: Injection) -> list[Message]:
    """The joints come in another order in every message."""
    return _columns(f, lambda n: f.rng.permutation(n).tolist())


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

    def both(message: Message) -> list[Message]:
        names = [name if i < kept else f"robot2_{name}" for i, name in enumerate(message.sample.names)]
        second = replace(message, sample=replace(message.sample, names=names))
        second = second.stamped(message.sample.stamp_ns + nanoseconds(0.001))
        return [message, second.with_values(lambda _, v: v + 0.5, "position")]

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


@kind()
def headers_odd(f: Injection) -> list[Message]:
    """Covariances are NaN, -1 or infinite, and frames empty, long or of another robot."""
    frame = str(f.rng.choice(["", "/", "other_robot/imu", 5000 * "x", "\u00e9\u4e16"]))
    value = f.some(np.nan, -1.0, np.inf, 1e300)

    def odd(message: Any) -> None:
        message.header.frame_id = frame
        for holder in (message, getattr(message, "pose", None), getattr(message, "twist", None)):
            for name in [n for n in getattr(holder, "__dataclass_fields__", ()) if "covariance" in n]:
                setattr(holder, name, np.full_like(getattr(holder, name), value))

    return _bytes(f, f.stream(*SERIALISED), odd)


@kind(pipelines=("controller",))
def references_absurd(f: Injection) -> list[Message]:
    """Requests of postures and heights that no robot has come with every joint state."""
    size = f.sign() * f.some(10.0 ** f.rng.uniform(1.0, 308.0))
    full = np.full(len(f.joints), size)
    stream, request = f.some(
        ("base_reference", lambda _: BaseReference(size)),
        ("base_reference", lambda _: BaseReference(0.9, pitch=size)),
        ("base_reference", lambda _: BaseReference(0.9, height_rate=size, pitch_rate=size)),
        ("joint_reference", lambda stamp_ns: JointReading(stamp_ns, f.joints, full)),
        ("joint_reference", lambda stamp_ns: JointReading(stamp_ns, f.joints, 0.0 * full, full)),
    )
    found = f.edit("joints", lambda m: [m, replace(m, stream=stream, sample=request(m.sample.stamp_ns))])
    f.streams[:] = [stream]
    before = [m for m in f.messages if m.stream == stream and m.arrival_ns < f.begin_ns]
    after = next((m for m in f.messages if m.arrival_ns >= f.end_ns), None)
    if before and after is not None:  # the user takes it back
        found.append(replace(before[-1], arrival_ns=after.arrival_ns, clock_ns=after.clock_ns))
    return found
