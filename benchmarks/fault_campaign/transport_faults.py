"""Faults of networks, clocks and drivers: losses, latencies, other epochs, second publishers, odd headers."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.fault_campaign.delivery_faults import REGULAR
from benchmarks.fault_campaign.fault import Draw, Kind
from benchmarks.fault_campaign.message_faults import WITH_MESSAGE
from benchmarks.fault_campaign.messages import serialised
from benchmarks.fault_campaign.readings import (
    CHANNELS,
    Reading,
    delayed,
    nanoseconds,
    restamped,
    with_channel,
)
from inertial_estimation.signals import NANOSECONDS


def dropouts(draw: Draw) -> list[Reading]:
    """Lose a share of the readings of one stream, or of all, at random."""
    streams = draw.present(*REGULAR) if draw.rng.random() < 0.3 else [draw.pick(*REGULAR)]
    draw.streams += streams
    share = float(draw.rng.uniform(0.1, 0.6))
    draw.notes.append(f"{', '.join(streams)}, {100 * share:.0f} %")
    return draw.each(streams, lambda r: None if draw.rng.random() < share else r)


def loss_in_bursts(draw: Draw) -> list[Reading]:
    """Lose runs of readings of one stream, as a radio link does (Gilbert and Elliott's two states)."""
    stream = draw.pick(*REGULAR)
    length, share = float(draw.rng.uniform(2.0, 30.0)), float(draw.rng.uniform(0.1, 0.5))
    draw.notes.append(f"{stream}, {100 * share:.0f} % in runs of about {length:.0f}")
    lost = False

    def pass_on(reading: Reading) -> Reading | None:
        nonlocal lost
        leaves = 1.0 / length if lost else share / (1.0 - share) / length
        lost = not lost if draw.rng.random() < leaves else lost
        return None if lost else reading

    return draw.each(stream, pass_on)


def latency(draw: Draw) -> list[Reading]:
    """Let one stream arrive late by a constant time, with the stamps of the measurement or of arrival."""
    stream = draw.pick(*REGULAR)
    late_ns, restamp = nanoseconds(draw.log_uniform(0.01, 0.3)), bool(draw.rng.random() < 0.5)
    draw.notes.append(f"{stream}, {1e-6 * late_ns:.0f} ms, stamped {'on arrival' if restamp else 'before'}")

    def late(reading: Reading) -> Reading:
        found = delayed(reading, late_ns)
        return restamped(found, found.sample.stamp_ns + late_ns) if restamp else found

    found = draw.each(stream, late)
    draw.end_ns += late_ns
    return found


def clocks_step(draw: Draw) -> list[Reading]:
    """Step the clock of all stamps, and with it that of the receiver or not, and back at the end."""
    draw.streams += draw.present()
    step_ns = nanoseconds(draw.log_uniform(0.02, 20.0) * float(draw.rng.choice([-1.0, 1.0])))
    receiver = bool(draw.rng.random() < 0.7)
    draw.notes.append(f"{1e-9 * step_ns:+.3f} s, {'with' if receiver else 'without'} the receiver's")

    def stepped(reading: Reading) -> Reading:
        clock_ns = reading.clock_ns + (step_ns if receiver else 0)
        if not hasattr(reading.sample, "stamp_ns"):
            return replace(reading, clock_ns=clock_ns)
        return replace(restamped(reading, reading.sample.stamp_ns + step_ns), clock_ns=clock_ns)

    return draw.each(draw.present(), stepped)


def _restamped_stream(draw: Draw, streams: list[str], stamp: Callable[[int], int]) -> list[Reading]:
    return draw.each(streams, lambda r: restamped(r, stamp(r.sample.stamp_ns)))


def other_epoch(draw: Draw) -> list[Reading]:
    """Stamp one stream, or all, by the time since power-up, or in another unit of time."""
    streams = draw.present(*REGULAR) if draw.rng.random() < 0.4 else [draw.pick(*REGULAR)]
    draw.streams += streams
    first = min(r.sample.stamp_ns for r in draw.readings if r.stream in streams)
    name, stamp = [
        ("since power-up", lambda t: t - first),
        ("microseconds taken for nanoseconds", lambda t: t // 1000),
        ("seconds taken for nanoseconds", lambda t: t // NANOSECONDS),
        ("18 s ahead (GPS for UTC)", lambda t: t + nanoseconds(18.0)),
        ("an hour ahead (summer time)", lambda t: t + nanoseconds(3600.0)),
    ][int(draw.rng.integers(5))]
    draw.notes.append(f"{', '.join(streams)}: {name}")
    return _restamped_stream(draw, streams, stamp)


def clock_drift(draw: Draw) -> list[Reading]:
    """Let the clock of one stream run too fast or too slow."""
    stream = draw.pick(*REGULAR)
    rate = draw.log_uniform(1e-4, 0.05) * float(draw.rng.choice([-1.0, 1.0]))
    draw.notes.append(f"{stream}, {100 * rate:+.2g} %")
    stamps = [r.sample.stamp_ns for r in draw.readings if r.stream == stream and draw.acts(r)]
    begin = min(stamps, default=0)  # none acts on a stream that begins later
    return _restamped_stream(draw, [stream], lambda t: t + round(rate * (t - begin)))


def second_source(draw: Draw) -> list[Reading]:
    """Let a second publisher send other values of one stream, its stamps between those of the first."""
    stream = draw.pick(*REGULAR)
    shift_ns = nanoseconds(float(draw.rng.choice([0.0, 0.001, 0.0025])))
    turned = float(draw.rng.choice([-1.0, 0.0, 0.5]))
    draw.notes.append(f"{stream}, its values x{turned:g}, {1e-6 * shift_ns:g} ms later")
    found = []
    for reading in draw.readings:
        found.append(reading)
        if reading.stream == stream and draw.acts(reading):
            second = restamped(delayed(reading, shift_ns), reading.sample.stamp_ns + shift_ns)
            for channel in CHANNELS[type(reading.sample)]:
                second = with_channel(second, channel, lambda v: turned * v)
            found.append(second)
    return found


def repeated_old(draw: Draw) -> list[Reading]:
    """Send the values of a reading of before again, at a stamp of now, from time to time."""
    stream = draw.pick(*REGULAR)
    behind, share = int(draw.rng.integers(2, 11)), float(draw.rng.uniform(0.05, 0.5))
    draw.notes.append(f"{stream}, {100 * share:.0f} %, of {behind} readings before")
    past: list[Reading] = []
    found = []
    for reading in draw.readings:
        if reading.stream != stream:
            found.append(reading)
            continue
        past.append(reading)
        repeats = draw.acts(reading) and len(past) > behind and draw.rng.random() < share
        old = past[-1 - behind] if repeats else reading
        stamp_ns = reading.sample.stamp_ns
        found.append(replace(reading, sample=restamped(old, stamp_ns).sample) if repeats else reading)
    return found


def names_of_another_robot(draw: Draw) -> list[Reading]:
    """Let another robot publish its joint states on the same topic, between those of this one."""
    draw.streams.append("joints")
    shared = bool(draw.rng.random() < 0.5)
    draw.notes.append("with some names in common" if shared else "with other names")
    found = []
    for reading in draw.readings:
        found.append(reading)
        if reading.stream == "joints" and draw.acts(reading):
            names = reading.sample.names
            kept = len(names) // 2 if shared else 0
            other = (*names[:kept], *(f"robot2_{name}" for name in names[kept:]))
            stamp_ns = reading.sample.stamp_ns + nanoseconds(0.001)
            sample = replace(reading.sample, names=other, stamp_ns=stamp_ns)
            found.append(with_channel(replace(reading, sample=sample), "position", lambda v: v + 0.5))
    return found


def headers_odd(draw: Draw) -> list[Reading]:
    """Send covariances that are NaN or -1, and frames that are empty, long or of another robot."""
    stream = draw.pick(*WITH_MESSAGE)
    frame = str(draw.rng.choice(["", "/", "other_robot/imu", 5000 * "x", "\u00e9\u4e16"]))
    value = float(draw.rng.choice([np.nan, -1.0, np.inf, 1e300]))
    draw.notes.append(f"{stream}, covariances {value:g}, frame '{frame[:20]}'")

    def odd(message: Any) -> None:
        message.header.frame_id = frame
        for holder in (message, getattr(message, "pose", None), getattr(message, "twist", None)):
            for name in [n for n in getattr(holder, "__dataclass_fields__", ()) if "covariance" in n]:
                setattr(holder, name, np.full_like(getattr(holder, name), value))

    return draw.each(stream, lambda reading: replace(reading, sample=serialised(reading.sample, odd)))


TRANSPORT_KINDS = (
    Kind("dropouts", dropouts),
    Kind("loss_in_bursts", loss_in_bursts),
    Kind("latency", latency),
    Kind("clocks_step", clocks_step),
    Kind("other_epoch", other_epoch),
    Kind("clock_drift", clock_drift),
    Kind("second_source", second_source),
    Kind("repeated_old", repeated_old),
    Kind("names_of_another_robot", names_of_another_robot, needs=("joints",)),
    Kind("headers_odd", headers_odd),
)
