"""Faults of sensors: of their numbers, and of mounting and wiring of IMU, contacts and joints."""

from dataclasses import replace

import numpy as np
from scipy.spatial.transform import Rotation

from benchmarks.fault_campaign.fault import INPUTS, SENSORS, Change, Injection, kind, vector_kind
from benchmarks.fault_campaign.messages import IN_RANGE, Message, nanoseconds

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
IMU = ("specific_force_I", "angular_rate_I")
OFFSET = (
    "an accelerometer's constant offset is a tilt, a gyroscope's is its bias, and a small one of a joint or "
    "of a force is calibration: no redundancy shows which"
)
DRIFT = (
    "a drift as slow as that of a bias, and a contact force or an effort that goes astray as slowly as a "
    "load is put down, are not contradicted by the other inputs"
)
SLOPE = "a robot that stands on ground of that slope from the first reading on has the same readings"
RELIEVED = "a support that takes over a share of the weight has the forces of a load that is put down"


def _impossible(f: Injection, vector: str) -> Change:
    value = f.sign() * f.some(np.nan, np.inf, 10.0 ** f.uniform(8.0, 308.0))
    return lambda v: np.full_like(v, value)


def _scaled(f: Injection, vector: str) -> Change:
    factor = f.log_uniform(1.5, 5.0) ** f.sign()
    return lambda v: factor * v


def _outliers(f: Injection, vector: str) -> Change:
    size, share = IN_RANGE[vector] * f.log_uniform(0.1, 3.0), f.log_uniform(0.02, 0.3)
    return lambda v: v + size * f.rng.choice([-1.0, 1.0]) * (f.rng.random() < share)


def _clipped(f: Injection, vector: str) -> Change:
    limit = IN_RANGE[vector] * f.log_uniform(0.01, 0.5)
    low, high = f.some((-limit, limit), (-np.inf, limit), (-limit, np.inf))
    return lambda v: np.clip(v, low, high)


def _other_unit(f: Injection, vector: str) -> Change:
    factor = f.some(*UNITS[vector])
    return lambda v: factor * v


def _shifted(f: Injection, vector: str) -> Change:
    size = IN_RANGE[vector] * f.log_uniform(0.01, 0.3)
    return lambda v: v + size


def _rounded(f: Injection, vector: str) -> Change:
    step = IN_RANGE[vector] * f.some(0.01, 0.03, 0.1, 0.3)
    return lambda v: step * np.round(v / step)


def _noisy(f: Injection, vector: str) -> Change:
    sigma = IN_RANGE[vector] * f.log_uniform(0.01, 0.5)
    return lambda v: v + sigma * f.rng.normal(size=len(v))


UNIT = {"whole": True, "duration_s": (0.02, 3.0)}
vector_kind("impossible", "Numbers are NaN, infinite or 1e8 to 1e308.", _impossible)
vector_kind("zero", "Numbers are exactly zero.", lambda f, vector: np.zeros_like)
vector_kind("sign_flipped", "Numbers have the other sign.", lambda f, vector: np.negative, *SENSORS)
vector_kind("gain", "Numbers are scaled by 0.2 to 0.7 or 1.5 to 5.", _scaled, *SENSORS)
vector_kind("offset", "Numbers are off by a constant.", _shifted, *SENSORS, hidden=OFFSET)
vector_kind("noise_grown", "White noise is added.", _noisy, *SENSORS)
vector_kind("spikes_repeated", "2 to 30 % of the readings are outliers.", _outliers, *SENSORS)
vector_kind("saturated", "Numbers are clipped on one side or on both.", _clipped, *SENSORS)
vector_kind("units", "A vector is sent in another unit.", _other_unit, *SENSORS, **UNIT)
vector_kind("quantised", "A vector is rounded to coarse steps.", _rounded, *SENSORS, whole=True)


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


@kind("imu", pipelines=("tilt", "inertial", "payload"))
def gravity_free(f: Injection) -> list[Message]:
    """The accelerometer reports no gravity, as some drivers do."""
    mean = np.mean([m.vectors["specific_force_I"] for m in f.of("imu")[:100]], axis=0)
    return f.change("imu", lambda v: v - GRAVITY * mean / np.linalg.norm(mean), "specific_force_I")


@kind("imu", "wrench")
def axes_permuted(f: Injection) -> list[Message]:
    """The axes of IMU or contact sensor are turned by quarter turns, as by a wrong frame in a driver."""
    axes = np.eye(3)[f.rng.permutation(3)] * f.rng.choice([-1.0, 1.0], 3)
    axes[0] *= np.sign(np.linalg.det(axes))
    if np.array_equal(axes, np.eye(3)):
        axes = np.roll(axes, 1, axis=0)
    vectors = f.some(IMU, IMU[:1], IMU[1:])
    turn = lambda v: (v.reshape(-1, 3) @ axes.T).ravel()  # noqa: E731
    return f.change(f.stream("imu", "wrench"), turn, *vectors, "wrench_F")


@kind("imu", hidden=SLOPE)
def imu_turned(f: Injection) -> list[Message]:
    """The IMU is turned by 3 to 40 deg, as by a loose screw."""
    R = Rotation.from_rotvec(f.log_uniform(3.0, 40.0) / DEGREES * f.axis()).as_matrix()
    return f.change("imu", lambda v: R @ v)


@kind("imu", duration_s=(0.1, 3.0))
def imu_loose(f: Injection) -> list[Message]:
    """The IMU swings on its mount: it feels its own rotation, and gravity in turning axes."""
    angles, omega = f.log_uniform(2.0, 30.0) / DEGREES * f.axis(), 2.0 * np.pi * f.log_uniform(0.3, 12.0)

    def swing(message: Message) -> Message:
        phase = omega * f.elapsed_s(message)
        R = Rotation.from_rotvec(-np.sin(phase) * angles).as_matrix()  # old axes into those of the IMU
        rates = {"angular_rate_I": omega * np.cos(phase) * angles}
        return message.with_values(lambda name, v: R @ v + rates.get(name, 0.0))

    return f.edit("imu", swing)


@kind("wrench")
def contact_scaled(f: Injection) -> list[Message]:
    """The wrench of one contact, or of all, is zero, of the other sign, or scaled."""
    streams, factor = f.one_or_all("wrench"), f.some(0.0, 0.0, -1.0, 0.3, 2.0, 5.0)
    return f.change(streams, lambda v: factor * v)


@kind("wrench", hidden=RELIEVED, hidden_in=("inertial",))
def weight_elsewhere(f: Injection) -> list[Message]:
    """A knee or a crane bears a share of the weight that no contact measures."""
    share = f.uniform(0.0, 0.9)
    return f.change(f.present("wrench"), lambda v: share * v)


@kind("wrench")
def wrenches_swapped(f: Injection) -> list[Message]:
    """Two contacts are exchanged."""
    one, other = (str(s) for s in f.rng.choice(f.present("wrench"), 2, replace=False))
    partner = {one: other, other: one}
    return f.edit([one, other], lambda m: m.carrying(f.newest(partner[m.stream], m.arrival_ns)))


@kind("joints")
def swapped_joints(f: Injection) -> list[Message]:
    """Two joints are exchanged, or only their velocities, or all values are sent under the next name."""
    what, (a, b) = f.some("two", "velocities", "all"), f.rng.choice(len(f.joints), 2, replace=False)
    order = np.roll(np.arange(len(f.joints)), 1 if what == "all" else 0)
    if what != "all":
        order[[a, b]] = b, a
    return f.change("joints", lambda v: v[order], *(("velocity",) if what == "velocities" else ()))


@kind("joints")
def encoder_slip(f: Injection) -> list[Message]:
    """The position of one joint is off by 0.1 rad to a whole turn."""
    joint, slip = f.some(*f.joints), f.sign() * f.some(0.1, 0.3, 1.0, np.pi, 2.0 * np.pi)
    return f.change("joints", lambda v: v + slip * (np.array(f.joints) == joint), "position")


@kind("joints")
def joints_delayed(f: Injection) -> list[Message]:
    """Some joints, or all, have the values of 20 to 200 ms before at the stamp of now."""
    delay_ns = nanoseconds(f.log_uniform(0.02, 0.2))
    late = f.rng.random(len(f.joints)) < f.some(0.5, 1.0)

    def mixed(message: Message) -> Message:
        old = f.newest("joints", message.arrival_ns - delay_ns).vectors
        return message.with_values(lambda name, v: np.where(late, old[name], v))

    return f.edit("joints", mixed)


@kind("joints")
def not_sent(f: Injection) -> list[Message]:
    """Joint states come without efforts, or without velocities."""
    field = f.some("effort", "velocity")
    return f.edit("joints", lambda m: replace(m, sample=replace(m.sample, **{field: None})))


@kind("base_state")
def quaternion_not_unit(f: Injection) -> list[Message]:
    """The quaternion of the base is scaled, down to zero."""
    stream, factor = f.stream("base_state"), f.some(0.0, 1e-3, 0.5, 1.1, 2.0, 100.0)
    return f.change(stream, lambda v: factor * v, "quaternion_xyzw")
