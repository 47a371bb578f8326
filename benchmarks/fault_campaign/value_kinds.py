"""Faults of the numbers of sensors: impossible, stuck, scaled, noisy, out of date."""

import numpy as np

from benchmarks.fault_campaign.fault import INPUTS, SENSORS, Injection, kind
from benchmarks.fault_campaign.messages import Message, nanoseconds
from inertial_estimation.signals import Array

GRAVITY = 9.80665  # [m/s^2]
DEGREES = 180.0 / np.pi
IN_RANGE = {  # a large value that a healthy sensor may report, in SI units
    **{"specific force": 30.0, "angular rate": 8.0, "position": 1.0, "velocity": 4.0, "effort": 80.0},
    **{"force": 800.0, "torque": 50.0, "quaternion": 0.5, "mass": 20.0, "com": 0.2, "inertia": 1.0},
}
UNITS = {
    "specific force": (1.0 / GRAVITY, 1e3, 0.1),
    "angular rate": (DEGREES, 1e3, 0.1),
    "position": (DEGREES, 0.1),
    "velocity": (DEGREES, 1e3, 0.1),
    "effort": (1e3, 1e-3, 0.1),
    "force": (1e-3, 1e3, 1.0 / GRAVITY, 0.1),
    "torque": (1e3, 0.1),
}
OFFSET = (
    "an accelerometer's constant offset is a tilt, a gyroscope's is its bias, and a small one of a joint or "
    "of a force is calibration: no redundancy shows which"
)
DRIFT = (
    "a drift as slow as that of a bias, and a contact force or an effort that goes astray as slowly as a "
    "load is put down, are not contradicted by the other inputs"
)


@kind()
def impossible(f: Injection) -> list[Message]:
    """Numbers are NaN, infinite or 1e8 to 1e308."""
    stream, vector = f.vector()
    value = f.sign() * f.some(np.nan, np.inf, 10.0 ** f.rng.uniform(8.0, 308.0))
    return f.masked(stream, vector, lambda v: np.full_like(v, value))


@kind()
def zero(f: Injection) -> list[Message]:
    """Numbers are exactly zero."""
    return f.masked(*f.vector(), np.zeros_like)


@kind()
def spike(f: Injection) -> list[Message]:
    """1 to 50 readings in a row are outliers, within the range of the sensor or far beyond it."""
    stream, vector = f.vector()
    size = IN_RANGE[vector] * f.log_uniform(*f.some((0.1, 1.0), (1.0, 1e5)))
    count = f.some(1, int(f.rng.integers(2, 51)))
    f.end_ns = f.begin_ns + nanoseconds(60.0)  # the count ends it
    return f.masked(stream, vector, lambda v: v + size * f.rng.choice([-1.0, 1.0], v.shape), most=count)


@kind(*SENSORS)
def spikes_repeated(f: Injection) -> list[Message]:
    """2 to 30 % of the readings are outliers."""
    stream, vector = f.vector(*SENSORS)
    size, share = IN_RANGE[vector] * f.log_uniform(0.1, 3.0), f.log_uniform(0.02, 0.3)
    f.notes.append(f"+-{size:.3g} in {100 * share:.0f} % of the readings")
    return f.masked(stream, vector, lambda v: v + size * f.sign() * (f.rng.random() < share))


@kind(*SENSORS)
def stuck(f: Injection) -> list[Message]:
    """A sensor, or one number of it, repeats its value, exactly or with the noise of its converter."""
    stream, vector = f.vector(*INPUTS, "inertia")
    whole, noise = f.some("the whole sensor", "") != "", f.some(0.0, 0.0, 1e-4, 1e-3, 1e-2)
    mask = f.column(f.values(stream, vector).shape[1])
    held: list[Message] = []

    def hold(message: Message) -> Message:
        held.append(message)
        if whole:
            found = message.carrying(held[0])
            return found.with_values(lambda n, v: v + noise * IN_RANGE[n] * f.rng.normal(size=len(v)))
        first: dict[str, Array] = {}
        held[0].with_values(first.setdefault)
        return message.with_values(lambda n, v: np.where(mask, first[n], v), vector)

    return f.edit(stream, hold)


@kind()
def values_repeated(f: Injection) -> list[Message]:
    """Messages carry values of some messages before, at stamps of now: in all but 1 of 2 to 4, or in some."""
    stream, every = f.stream(*INPUTS), f.some(0, 2, 3, 4)
    behind, share = int(f.rng.integers(2, 11)), float(f.rng.uniform(0.05, 0.5))
    past: list[Message] = []

    def repeat(message: Message) -> Message:
        past.append(message)
        k = len(past) - 1
        if every:
            return message.carrying(past[k - k % every])
        return message.carrying(past[max(0, k - behind)]) if f.rng.random() < share else message

    return f.edit(stream, repeat)


@kind()
def old_data_replayed(f: Injection) -> list[Message]:
    """A player sends values of another time, of one stream or of all, at the stamps of now."""
    streams, ahead_ns = f.one_or_all(*INPUTS), nanoseconds(f.log_uniform(0.3, 2.0))
    return f.edit(streams, lambda m: m.carrying(f.newest(m.stream, m.arrival_ns + ahead_ns)))


@kind(*SENSORS)
def saturated(f: Injection) -> list[Message]:
    """Numbers are clipped, on both sides or on one."""
    stream, vector = f.vector(*SENSORS)
    values, share = f.values(stream, vector), float(f.rng.uniform(0.2, 0.8))
    side, high = f.some("on both sides", "above", "below"), share * np.abs(values).max()
    if side != "on both sides":
        high = values.min(axis=0) + share * np.ptp(values, axis=0)
    low = {"on both sides": -high, "above": -np.inf, "below": high}[side]
    return f.masked(stream, vector, lambda v: np.clip(v, low, np.inf if side == "below" else high))


@kind(*SENSORS, duration_s=(0.02, 3.0))
def units(f: Injection) -> list[Message]:
    """A vector is sent in another unit."""
    stream, vector = f.vector(*SENSORS)
    return f.scaled(stream, f.some(*UNITS[vector]), vector)


@kind(*SENSORS)
def gain(f: Injection) -> list[Message]:
    """Numbers are scaled by 0.2 to 0.7 or 1.5 to 5."""
    stream, vector = f.vector(*SENSORS)
    factor = float(np.exp(f.rng.uniform(np.log(1.5), np.log(5.0)) * f.sign()))
    f.notes.append(f"x{factor:.2g}")
    return f.masked(stream, vector, lambda v: factor * v)


@kind(*SENSORS)
def sign_flipped(f: Injection) -> list[Message]:
    """Numbers have the other sign."""
    return f.masked(*f.vector(*SENSORS), np.negative)


@kind(*SENSORS, hidden=OFFSET)
def offset(f: Injection) -> list[Message]:
    """Numbers are off by a constant."""
    stream, vector = f.vector(*SENSORS)
    size = IN_RANGE[vector] * f.log_uniform(0.01, 0.3)
    f.notes.append(f"{size:.3g}")
    return f.masked(stream, vector, lambda v: v + size)


@kind(*SENSORS, duration_s=(0.5, 4.0), hidden=DRIFT)
def drift(f: Injection) -> list[Message]:
    """Numbers wander off at a constant rate."""
    stream, vector = f.vector(*SENSORS)
    rate = IN_RANGE[vector] * f.log_uniform(0.03, 1.0) / f.duration_s
    f.notes.append(f"{rate:.3g} a second")
    rates = rate * f.column(f.values(stream, vector).shape[1])
    return f.edit(stream, lambda m: m.with_values(lambda _, v: v + rates * f.elapsed_s(m), vector))


@kind(*SENSORS)
def quantised(f: Injection) -> list[Message]:
    """A vector is rounded to coarse steps, as by a converter of few bits."""
    stream, vector = f.vector(*SENSORS)
    step = IN_RANGE[vector] * float(f.rng.choice([0.01, 0.03, 0.1, 0.3]))
    f.notes.append(f"steps of {step:.2g}")
    return f.change(stream, vector, lambda v: step * np.round(v / step))


@kind(*SENSORS)
def noise_grown(f: Injection) -> list[Message]:
    """White noise is added."""
    stream, vector = f.vector(*SENSORS)
    sigma = IN_RANGE[vector] * f.log_uniform(0.01, 0.5)
    f.notes.append(f"sigma {sigma:.2g}")
    return f.masked(stream, vector, lambda v: v + sigma * f.rng.normal(size=len(v)))


@kind("imu")
def vibration(f: Injection) -> list[Message]:
    """The IMU feels an oscillation of 15 to 95 Hz, as of a fan out of balance."""
    stream, vector = f.vector("imu")
    size, hertz = IN_RANGE[vector] * f.log_uniform(0.02, 0.5), f.log_uniform(15.0, 95.0)
    f.notes.append(f"{size:.2g} at {hertz:.0f} Hz")
    axis = f.rng.normal(size=3)
    wave = lambda m: size * np.sin(2.0 * np.pi * hertz * f.elapsed_s(m)) / np.linalg.norm(axis)  # noqa: E731
    return f.edit(stream, lambda m: m.with_values(lambda _, v: v + wave(m) * axis, vector))


@kind(*SENSORS)
def loose_cable(f: Injection) -> list[Message]:
    """A sensor reports zeros, or its last values, for some messages, again and again."""
    stream, hold, run = f.stream(*SENSORS), f.some("holds", "zeros") == "holds", int(f.rng.integers(1, 21))
    f.notes.append(f"for about {run} messages")
    off, left = True, run
    last: list[Message] = []

    def broken(message: Message) -> Message:
        nonlocal off, left
        left -= 1
        if left < 0:
            off, left = not off, int(f.rng.integers(1, 2 * run + 1))
        if not off:
            last[:] = [message]
            return message
        return message.carrying(last[0]) if hold and last else message.with_values(lambda _, v: 0.0 * v)

    return f.edit(stream, broken)


@kind("wrench", "joints")
def tared(f: Injection) -> list[Message]:
    """The present wrench of a contact, or the present efforts, are taken for zero."""
    stream = f.stream("wrench", "joints")
    names = ("effort",) if stream == "joints" else ("force", "torque")
    at: dict[str, Array] = {}
    return f.edit(stream, lambda m: m.with_values(lambda name, v: v - at.setdefault(name, v), *names))
