"""Faults of the numbers of sensors: impossible, stuck, scaled, noisy, out of date."""

import numpy as np

from benchmarks.fault_campaign.fault import INPUTS, SENSORS, Change, Injection, kind, vector_kind
from benchmarks.fault_campaign.messages import IN_RANGE, Message, nanoseconds
from inertial_estimation.signals import Array

GRAVITY = 9.80665  # [m/s^2]
DEGREES = 180.0 / np.pi
UNITS = {
    "specific_force_I": (1.0 / GRAVITY, 1e3, 0.1),
    "angular_rate_I": (DEGREES, 1e3, 0.1),
    "position": (DEGREES, 0.1),
    "velocity": (DEGREES, 1e3, 0.1),
    "effort": (1e3, 1e-3, 0.1),
    "wrench_F": (1e-3, 1e3, 1.0 / GRAVITY, 0.1),
}
OFFSET = (
    "an accelerometer's constant offset is a tilt, a gyroscope's is its bias, and a small one of a joint or "
    "of a force is calibration: no redundancy shows which"
)
DRIFT = (
    "a drift as slow as that of a bias, and a contact force or an effort that goes astray as slowly as a "
    "load is put down, are not contradicted by the other inputs"
)


@vector_kind()
def impossible(f: Injection, vector: str) -> Change:
    """Numbers are NaN, infinite or 1e8 to 1e308."""
    value = f.sign() * f.some(np.nan, np.inf, 10.0 ** f.uniform(8.0, 308.0))
    return lambda v: np.full_like(v, value)


@vector_kind()
def zero(f: Injection, vector: str) -> Change:
    """Numbers are exactly zero."""
    return np.zeros_like


@kind()
def spike(f: Injection) -> list[Message]:
    """1 to 50 readings in a row are outliers, within the range of the sensor or far beyond it."""
    stream, vector = f.vector()
    low, high = f.some((0.1, 1.0), (1.0, 1e5))
    size, count = IN_RANGE[vector] * f.log_uniform(low, high), f.some(1, f.integer(2, 50))
    sizes = size * f.columns(stream, vector)
    f.end_ns = f.begin_ns + nanoseconds(60.0)  # the count ends it
    signs = lambda v: f.rng.choice([-1.0, 1.0], v.shape)  # noqa: E731
    return f.edit(stream, lambda m: m.with_values(lambda _, v: v + sizes * signs(v), vector), count)


@vector_kind(*SENSORS)
def spikes_repeated(f: Injection, vector: str) -> Change:
    """2 to 30 % of the readings are outliers."""
    size, share = IN_RANGE[vector] * f.log_uniform(0.1, 3.0), f.log_uniform(0.02, 0.3)
    return lambda v: v + size * f.rng.choice([-1.0, 1.0]) * (f.rng.random() < share)


@vector_kind(*SENSORS)
def saturated(f: Injection, vector: str) -> Change:
    """Numbers are clipped at a share of a large value, on both sides or on one."""
    limit = IN_RANGE[vector] * f.log_uniform(0.01, 0.5)
    low, high = f.some((-limit, limit), (-np.inf, limit), (-limit, np.inf))
    return lambda v: np.clip(v, low, high)


@vector_kind(*SENSORS, whole=True, duration_s=(0.02, 3.0))
def units(f: Injection, vector: str) -> Change:
    """A vector is sent in another unit."""
    factor = f.some(*UNITS[vector])
    return lambda v: factor * v


@vector_kind(*SENSORS)
def gain(f: Injection, vector: str) -> Change:
    """Numbers are scaled by 0.2 to 0.7 or 1.5 to 5."""
    factor = f.log_uniform(1.5, 5.0) ** f.sign()
    return lambda v: factor * v


@vector_kind(*SENSORS)
def sign_flipped(f: Injection, vector: str) -> Change:
    """Numbers have the other sign."""
    return np.negative


@vector_kind(*SENSORS, hidden=OFFSET)
def offset(f: Injection, vector: str) -> Change:
    """Numbers are off by a constant."""
    size = IN_RANGE[vector] * f.log_uniform(0.01, 0.3)
    return lambda v: v + size


@vector_kind(*SENSORS, whole=True)
def quantised(f: Injection, vector: str) -> Change:
    """A vector is rounded to coarse steps, as by a converter of few bits."""
    step = IN_RANGE[vector] * f.some(0.01, 0.03, 0.1, 0.3)
    return lambda v: step * np.round(v / step)


@vector_kind(*SENSORS)
def noise_grown(f: Injection, vector: str) -> Change:
    """White noise is added."""
    sigma = IN_RANGE[vector] * f.log_uniform(0.01, 0.5)
    return lambda v: v + sigma * f.rng.normal(size=len(v))


@kind(*SENSORS, duration_s=(0.5, 4.0), hidden=DRIFT)
def drift(f: Injection) -> list[Message]:
    """Numbers wander off at a constant rate."""
    stream, vector = f.vector(*SENSORS)
    size, length_s = IN_RANGE[vector] * f.log_uniform(0.03, 1.0), 1e-9 * (f.end_ns - f.begin_ns)
    rates = size / length_s * f.columns(stream, vector)
    return f.edit(stream, lambda m: m.with_values(lambda _, v: v + rates * f.elapsed_s(m), vector))


@kind("imu")
def vibration(f: Injection) -> list[Message]:
    """The IMU feels an oscillation of 15 to 95 Hz, as of a fan out of balance."""
    stream, vector = f.vector("imu")
    size, hertz, axis = IN_RANGE[vector] * f.log_uniform(0.02, 0.5), f.uniform(15.0, 95.0), f.axis()
    wave = lambda m: size * np.sin(2.0 * np.pi * hertz * f.elapsed_s(m)) * axis  # noqa: E731
    return f.edit(stream, lambda m: m.with_values(lambda _, v: v + wave(m), vector))


@kind(*SENSORS)
def stuck(f: Injection) -> list[Message]:
    """A sensor, or numbers of a vector, keep their values, exactly or with the noise of a converter."""
    stream, vector = f.vector(*INPUTS, "inertia")
    whole, noise = f.some(True, False), f.some(0.0, 0.0, 1e-4, 1e-3, 1e-2)
    mask = f.columns(stream, vector)
    held: list[Message] = []

    def hold(message: Message) -> Message:
        held.append(message)
        if whole:
            found = message.carrying(held[0])
            return found.with_values(lambda n, v: v + noise * IN_RANGE[n] * f.rng.normal(size=len(v)))
        return message.with_values(lambda n, v: np.where(mask, held[0].vectors[n], v), vector)

    return f.edit(stream, hold)


@kind()
def values_repeated(f: Injection) -> list[Message]:
    """New values come in 1 of 2 to 4 messages, or 5 to 50 % carry values of some messages before."""
    stream, every = f.stream(*INPUTS), f.some(0, 2, 3, 4)
    behind, share = f.integer(2, 10), f.uniform(0.05, 0.5)
    past: list[Message] = []

    def repeat(message: Message) -> Message:
        past.append(message)
        k = len(past) - 1
        back = k % every if every else min(k, behind) * (f.rng.random() < share)
        return message.carrying(past[k - back])

    return f.edit(stream, repeat)


@kind()
def old_data_replayed(f: Injection) -> list[Message]:
    """A player sends values of another time, of one stream or of all, at the stamps of now."""
    streams, ahead_ns = f.one_or_all(*INPUTS), nanoseconds(f.log_uniform(0.3, 2.0))
    return f.edit(streams, lambda m: m.carrying(f.newest(m.stream, m.arrival_ns + ahead_ns)))


@kind(*SENSORS)
def loose_cable(f: Injection) -> list[Message]:
    """A sensor reports zeros, or its last values, for some messages, again and again."""
    stream, hold, run = f.stream(*SENSORS), f.some(True, False), f.integer(1, 20)
    broken = np.repeat(np.arange(2000) % 2 == 0, f.rng.integers(1, 2 * run + 1, 2000)).tolist()
    last: list[Message] = []

    def lost(message: Message) -> Message:
        if not broken.pop(0):
            last[:] = [message]
            return message
        return message.carrying(last[0]) if hold and last else message.with_values(lambda _, v: 0.0 * v)

    return f.edit(stream, lost)


@kind("wrench", "joints")
def tared(f: Injection) -> list[Message]:
    """The present wrench of a contact, or the present efforts, are taken for zero."""
    stream = f.stream("wrench", "joints")
    at: dict[str, Array] = {}
    tare = lambda name, v: v - at.setdefault(name, v)  # noqa: E731
    return f.edit(stream, lambda m: m.with_values(tare, "effort", "wrench_F"))
