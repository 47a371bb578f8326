"""Faults of installation and wear: drifts, wrong axes, loose cables, slipping encoders."""

from dataclasses import replace

import numpy as np

from benchmarks.fault_campaign.fault import Draw, Kind
from benchmarks.fault_campaign.readings import CHANNELS, Reading, with_channel
from benchmarks.fault_campaign.value_faults import IN_RANGE, SENSORS
from inertial_estimation.signals import NANOSECONDS, Array


def drift(draw: Draw) -> list[Reading]:
    """Let one number, or all of a vector, wander off at a constant rate."""
    stream, channel = draw.pick_channel(*SENSORS)
    size = IN_RANGE[channel] * draw.log_uniform(0.03, 1.0)
    sample = draw.first_sample(stream)
    value = CHANNELS[type(sample)][channel].get(sample)
    assert value is not None
    mask = size * draw.column(len(value))
    draw.notes.append(f"by {size:.3g} in {draw.duration_s:.2g} s")

    def wander(reading: Reading) -> Reading:
        share = (reading.arrival_ns - draw.begin_ns) / (draw.end_ns - draw.begin_ns)
        return with_channel(reading, channel, lambda v: v + share * mask)

    return draw.each(stream, wander)


def gain(draw: Draw) -> list[Reading]:
    """Scale one number of a vector, or all, as an amplifier of another gain does."""
    stream, channel = draw.pick_channel(*SENSORS)
    factor = float(np.exp(draw.rng.uniform(np.log(1.5), np.log(5.0)) * draw.rng.choice([-1.0, 1.0])))
    draw.notes.append(f"x{factor:.2g}")
    return draw.masked(stream, channel, lambda v: factor * v)


def axes_permuted(draw: Draw) -> list[Reading]:
    """Turn the axes of the IMU by a quarter or half turn, as a wrong frame in a driver does."""
    draw.streams.append("imu")
    axes = np.eye(3)[draw.rng.permutation(3)] * draw.rng.choice([-1.0, 1.0], 3)
    axes[0] *= np.sign(np.linalg.det(axes))
    if np.array_equal(axes, np.eye(3)):
        axes = np.roll(axes, 1, axis=0)
    channels = [["specific force", "angular rate"], ["specific force"], ["angular rate"]]
    chosen = channels[int(draw.rng.integers(3))]
    draw.notes.append(f"{' and '.join(chosen)} by {axes.astype(int).tolist()}")
    return draw.turned("imu", chosen, axes)


def wrenches_swapped(draw: Draw) -> list[Reading]:
    """Exchange the wrenches of two contacts."""
    streams = draw.present("wrench")
    one, other = (str(s) for s in draw.rng.choice(streams, 2, replace=False))
    draw.streams += [one, other]
    partner = {one: other, other: one}
    newest: dict[str, Array] = {}
    found = []
    for reading in draw.readings:
        if reading.stream in partner:
            newest[reading.stream] = reading.sample.wrench_F
            wrench = newest.get(partner[reading.stream])
            if draw.acts(reading) and wrench is not None:
                reading = replace(reading, sample=replace(reading.sample, wrench_F=wrench))
        found.append(reading)
    return found


def joints_delayed(draw: Draw) -> list[Reading]:
    """Report some joints with the values of a while before, at the stamp of now."""
    draw.streams.append("joints")
    delay_s = draw.log_uniform(0.02, 0.2)
    names = draw.first_sample("joints").names
    late = draw.rng.random(len(names)) < draw.rng.choice([0.5, 1.0])
    draw.notes.append(f"{int(late.sum())} of {len(names)} by {1e3 * delay_s:.0f} ms")
    past: list[Reading] = []

    def delayed(reading: Reading) -> Reading:
        for channel, field in CHANNELS[type(reading.sample)].items():
            before = next((r for r in reversed(past) if _older(r, reading, delay_s)), None)
            value = None if before is None else field.get(before.sample)
            if value is not None:
                reading = with_channel(reading, channel, lambda v, old=value: np.where(late, old, v))
        return reading

    found = []
    for reading in draw.readings:
        acts = reading.stream == "joints" and draw.acts(reading)
        found.append(delayed(reading) if acts else reading)
        if reading.stream == "joints" and reading.arrival_ns < draw.end_ns:
            past.append(reading)
    return found


def _older(before: Reading, now: Reading, by_s: float) -> bool:
    return now.arrival_ns - before.arrival_ns >= by_s * NANOSECONDS


def encoder_slip(draw: Draw) -> list[Reading]:
    """Let the position of one joint slip, by a fraction of a radian or a whole turn."""
    draw.streams.append("joints")
    names = draw.first_sample("joints").names
    joint = int(draw.rng.integers(len(names)))
    slip = float(draw.rng.choice([0.1, 0.3, 1.0, 2.0 * np.pi]) * draw.rng.choice([-1.0, 1.0]))
    draw.notes.append(f"{names[joint]} by {slip:.3g} rad")
    return draw.change("joints", "position", lambda v: v + slip * (np.arange(len(v)) == joint))


def velocities_zero(draw: Draw) -> list[Reading]:
    draw.streams.append("joints")
    return draw.change("joints", "velocity", lambda v: 0.0 * v)


def quantised(draw: Draw) -> list[Reading]:
    """Round the numbers to coarse steps, as a converter of few bits does."""
    stream, channel = draw.pick_channel(*SENSORS)
    step = IN_RANGE[channel] * float(draw.rng.choice([0.01, 0.03, 0.1, 0.3]))
    draw.notes.append(f"steps of {step:.2g}")
    return draw.change(stream, channel, lambda v: step * np.round(v / step))


def noise_grown(draw: Draw) -> list[Reading]:
    stream, channel = draw.pick_channel(*SENSORS)
    sigma = IN_RANGE[channel] * draw.log_uniform(0.01, 0.5)
    draw.notes.append(f"sigma {sigma:.2g}")
    return draw.masked(stream, channel, lambda v: v + sigma * draw.rng.normal(size=len(v)))


def loose_cable(draw: Draw) -> list[Reading]:
    """Let a vector read zero, or its last value, for some readings, again and again."""
    stream, channel = draw.pick_channel(*SENSORS)
    run, hold = int(draw.rng.integers(1, 21)), bool(draw.rng.random() < 0.5)
    draw.notes.append(f"{'holds' if hold else 'zero'} for about {run} readings, again and again")
    state = {"off": True, "left": run}
    last: dict[str, Array] = {}

    def value(v: Array) -> Array:
        state["left"] -= 1
        if state["left"] < 0:
            state["off"], state["left"] = not state["off"], int(draw.rng.integers(1, 2 * run + 1))
        if not state["off"]:
            last["value"] = v
            return v
        return last.get("value", v) if hold else 0.0 * v

    return draw.change(stream, channel, value)


def contact_chatter(draw: Draw) -> list[Reading]:
    """Let the wrenches of one contact, or of all, come and go from reading to reading."""
    streams = draw.present("wrench")
    chosen = streams if draw.rng.random() < 0.3 else [str(draw.rng.choice(streams))]
    draw.streams += chosen
    share = float(draw.rng.uniform(0.2, 0.8))
    draw.notes.append(f"{', '.join(chosen)}, {100 * share:.0f} % zero")

    def chatter(reading: Reading) -> Reading:
        factor = float(draw.rng.random() > share)
        return replace(reading, sample=replace(reading.sample, wrench_F=factor * reading.sample.wrench_F))

    return draw.each(chosen, chatter)


def bits_of_numbers(draw: Draw) -> list[Reading]:
    """Flip one bit of one number in some of the readings."""
    stream, channel = draw.pick_channel()
    share = float(draw.rng.choice([0.05, 0.3, 1.0]))
    draw.notes.append(f"in {100 * share:.0f} % of the readings")

    def flip(v: Array) -> Array:
        if draw.rng.random() < share:
            bits = v.view(np.uint64)
            bits[int(draw.rng.integers(len(v)))] ^= np.uint64(1) << np.uint64(draw.rng.integers(40, 64))
        return v

    return draw.change(stream, channel, flip)


DRIFT = (
    "a drift as slow as that of a bias, and a contact force or an effort that goes astray as slowly as a "
    "load is put down, are not contradicted by the other inputs"
)
WIRING_KINDS = (
    Kind("drift", drift, needs=SENSORS, duration_s=(0.5, 4.0), undetectable={"*": DRIFT}),
    Kind("gain", gain, needs=SENSORS),
    Kind("axes_permuted", axes_permuted, needs=("imu",)),
    Kind("wrenches_swapped", wrenches_swapped, needs=("wrench",)),
    Kind("joints_delayed", joints_delayed, needs=("joints",)),
    Kind("encoder_slip", encoder_slip, needs=("joints",)),
    Kind("velocities_zero", velocities_zero, needs=("joints",)),
    Kind("quantised", quantised, needs=SENSORS),
    Kind("noise_grown", noise_grown, needs=SENSORS),
    Kind("loose_cable", loose_cable, needs=SENSORS),
    Kind("contact_chatter", contact_chatter, needs=("wrench",)),
    Kind("bits_of_numbers", bits_of_numbers),
)
