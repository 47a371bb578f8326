"""Faults of names and messages: doubled, missing, changing names, wrong lengths, damaged bytes, requests."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.fault_campaign.fault import Draw, Kind
from benchmarks.fault_campaign.messages import damaged, serialised
from benchmarks.fault_campaign.readings import RawMessage, Reading, joint_columns, with_channel
from inertial_estimation.signals import BaseReference, JointReading

WITH_MESSAGE = ("imu", "joints", "wrench", "base_state", "orientation", "inertia")
FIELDS = ("position", "velocity", "effort")


def _joints(draw: Draw, act: Callable[[JointReading], JointReading | RawMessage]) -> list[Reading]:
    draw.streams.append("joints")
    return draw.each("joints", lambda reading: replace(reading, sample=act(reading.sample)))


def names_duplicate(draw: Draw) -> list[Reading]:
    """Send some joints twice with the same values."""

    def twice(sample: JointReading) -> JointReading:
        n = len(sample.names)
        return joint_columns(sample, (*sample.names, *sample.names[:3]), [*range(n), *range(min(3, n))])

    return _joints(draw, twice)


def names_conflicting(draw: Draw) -> list[Reading]:
    """Send some joints twice with values that differ."""
    size = draw.log_uniform(0.05, 3.0)
    first = int(draw.rng.integers(5))

    def twice(sample: JointReading) -> JointReading:
        n = len(sample.names)
        chosen = [i % n for i in range(first, first + 3)]
        found = joint_columns(
            sample, (*sample.names, *(sample.names[i] for i in chosen)), [*range(n), *chosen]
        )
        return replace(found, position=found.position + np.where(np.arange(n + 3) < n, 0.0, size))

    draw.notes.append(f"by {size:.2g} rad")
    return _joints(draw, twice)


def names_missing(draw: Draw) -> list[Reading]:
    share = float(draw.rng.uniform(0.05, 1.0))

    def fewer(sample: JointReading) -> JointReading:
        n = max(0, len(sample.names) - max(1, int(share * len(sample.names))))
        return joint_columns(sample, sample.names[:n], list(range(n)))

    draw.notes.append(f"{100.0 * share:.0f} % of them")
    return _joints(draw, fewer)


def names_extra(draw: Draw) -> list[Reading]:
    def more(sample: JointReading) -> JointReading:
        extra = tuple(f"finger_{i}" for i in range(3))
        return joint_columns(sample, (*extra, *sample.names), [0, 0, 0, *range(len(sample.names))])

    return _joints(draw, more)


def names_reordered(draw: Draw) -> list[Reading]:
    """Send the joints in another order in every reading."""

    def shuffle(sample: JointReading) -> JointReading:
        order = [int(i) for i in draw.rng.permutation(len(sample.names))]
        return joint_columns(sample, tuple(sample.names[i] for i in order), order)

    return _joints(draw, shuffle)


def names_changing(draw: Draw) -> list[Reading]:
    """Send names never seen before in every reading, in addition to the joints' own or in their place."""
    instead = bool(draw.rng.random() < 0.5)
    draw.notes.append(f"new names {'in place of' if instead else 'in addition to'} the joints' own")
    count = 0

    def change(sample: JointReading) -> JointReading:
        nonlocal count
        count += 1
        n = len(sample.names)
        if instead:
            return replace(sample, names=tuple(f"joint_{count}_{i}" for i in range(n)))
        return joint_columns(sample, (*sample.names, f"joint_{count}"), [*range(n), 0])

    return _joints(draw, change)


def lengths_wrong(draw: Draw) -> list[Reading]:
    """Send arrays that have not one entry per name, as serialised messages."""
    field = str(draw.rng.choice(FIELDS))
    more = bool(draw.rng.random() < 0.5)
    draw.notes.append(f"{field} {'longer' if more else 'shorter'}")

    def wrong(message: Any) -> None:
        values = getattr(message, field)
        setattr(message, field, np.append(values, 0.0) if more else values[:-1])

    return _joints(draw, lambda sample: serialised(sample, wrong))


def arrays_empty(draw: Draw) -> list[Reading]:
    """Send joint states without names, or without one of the arrays."""
    choice = str(draw.rng.choice(["all", *FIELDS]))
    draw.notes.append(choice)

    def empty(message: Any) -> None:
        for field in FIELDS if choice == "all" else (choice,):
            setattr(message, field, np.zeros(0))
        if choice == "all":
            message.name = []

    return _joints(draw, lambda sample: serialised(sample, empty))


def _bytes(draw: Draw, act: Callable[[bytes], bytes]) -> list[Reading]:
    stream = draw.pick(*WITH_MESSAGE)
    draw.notes.append(stream)

    def damage(reading: Reading) -> Reading:
        raw = serialised(reading.sample)
        return replace(reading, sample=replace(raw, data=act(raw.data)))

    return draw.each(stream, damage)


def bytes_malformed(draw: Draw) -> list[Reading]:
    return _bytes(draw, lambda data: damaged(data, draw.rng))


def bytes_truncated(draw: Draw) -> list[Reading]:
    return _bytes(draw, lambda data: data[: int(draw.rng.integers(len(data)))])


def bytes_not_utf8(draw: Draw) -> list[Reading]:
    """Put a Latin-1 letter into a text of the message: a frame, or the name of a joint."""

    def latin(data: bytes) -> bytes:
        place = data.find(b"joint")
        found = bytearray(data)
        found[place if place > 0 else data.find(b"frame")] = 0xE9
        return bytes(found)

    return _bytes(draw, latin)


def references_absurd(draw: Draw) -> list[Reading]:
    """Request postures and heights that no robot has."""
    names = draw.first_sample("joints").names
    size = 10.0 ** draw.rng.uniform(1.0, 308.0) * float(draw.rng.choice([-1.0, 1.0]))
    where = str(draw.rng.choice(["base height", "base pitch", "base rates", "joints", "joint rates"]))
    draw.notes.append(f"{where} {size:.1g}")
    draw.streams.append("joint_reference" if where.startswith("joint") else "base_reference")
    n = len(names)
    found = []
    for reading in draw.readings:
        found.append(reading)
        if reading.stream != "joints" or not draw.acts(reading):
            continue
        stamp = reading.sample.stamp_ns
        absurd: dict[str, object] = {
            "base height": BaseReference(size),
            "base pitch": BaseReference(0.9, pitch=size),
            "base rates": BaseReference(0.9, height_rate=size, pitch_rate=size),
            "joints": JointReading(stamp, names, np.full(n, size)),
            "joint rates": JointReading(stamp, names, np.zeros(n), np.full(n, size)),
        }
        found.append(replace(reading, stream=draw.streams[0], sample=absurd[where]))
    last = [r for r in draw.readings if r.stream == draw.streams[0] and r.arrival_ns < draw.begin_ns]
    after = next((r for r in draw.readings if r.arrival_ns >= draw.end_ns), None)
    if last and after is not None:  # the user takes it back
        found.append(replace(last[-1], arrival_ns=after.arrival_ns, clock_ns=after.clock_ns))
    return found


def inertias_absurd(draw: Draw) -> list[Reading]:
    """Report link inertias that no body has."""
    stream = draw.pick("inertia")
    channel = str(draw.rng.choice(["mass", "com", "inertia"]))
    size = 10.0 ** draw.rng.uniform(-3.0, 308.0) * float(draw.rng.choice([-1.0, 1.0]))
    draw.notes.append(f"{channel} of {stream} {size:.1g}")
    return draw.each(stream, lambda r: with_channel(r, channel, lambda v: np.full_like(v, size)))


MESSAGE_KINDS = (
    Kind("names_duplicate", names_duplicate, needs=("joints",)),
    Kind("names_conflicting", names_conflicting, needs=("joints",)),
    Kind("names_missing", names_missing, needs=("joints",)),
    Kind("names_extra", names_extra, needs=("joints",)),
    Kind("names_reordered", names_reordered, needs=("joints",)),
    Kind("names_changing", names_changing, needs=("joints",), duration_s=(0.5, 3.0)),
    Kind("lengths_wrong", lengths_wrong, needs=("joints",)),
    Kind("arrays_empty", arrays_empty, needs=("joints",)),
    Kind("bytes_malformed", bytes_malformed),
    Kind("bytes_truncated", bytes_truncated),
    Kind("bytes_not_utf8", bytes_not_utf8),
    Kind("references_absurd", references_absurd, pipelines=("controller",)),
    Kind("inertias_absurd", inertias_absurd, needs=("inertia",), pipelines=("controller",)),
)
