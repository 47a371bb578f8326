"""Faults of the numbers: not finite, huge, outliers, stuck, saturated, wrong units, contacts, joints."""

from dataclasses import replace

import numpy as np

from benchmarks.fault_campaign.fault import Draw, Kind
from benchmarks.fault_campaign.readings import CHANNELS, Reading, joint_columns, with_channel
from inertial_estimation.models.imu import STANDARD_GRAVITY as G
from inertial_estimation.signals import Array, JointReading
from inertial_estimation.spatial.vectors import DEGREES

SENSORS = ("imu", "joints", "wrench")
ESTIMATES = ("base_state", "orientation", "inertia")
IN_RANGE = {  # largest value that a healthy sensor may report, for a spike that a range cannot catch
    "specific force": 30.0,
    "angular rate": 8.0,
    "position": 1.0,
    "velocity": 4.0,
    "effort": 80.0,
    "force": 800.0,
    "torque": 50.0,
    "quaternion": 0.5,
    "mass": 20.0,
    "com": 0.2,
    "inertia": 1.0,
}


def _constant(draw: Draw, value: float) -> list[Reading]:
    stream, channel = draw.pick_channel()
    return draw.masked(stream, channel, lambda v: np.full_like(v, value))


def nan(draw: Draw) -> list[Reading]:
    return _constant(draw, np.nan)


def inf(draw: Draw) -> list[Reading]:
    return _constant(draw, float(draw.rng.choice([np.inf, -np.inf])))


def huge(draw: Draw) -> list[Reading]:
    magnitude = 10.0 ** draw.rng.uniform(8.0, 308.0)
    draw.notes.append(f"{magnitude:.1g}")
    return _constant(draw, float(draw.rng.choice([-1.0, 1.0])) * magnitude)


def _spikes(draw: Draw, count: int, low: float, high: float) -> list[Reading]:
    """Add outliers to the next readings of one stream: some multiple of the largest credible value."""
    stream, channel = draw.pick_channel()
    size = IN_RANGE[channel] * draw.log_uniform(low, high)
    draw.notes.append(f"{count} readings, +-{size:.3g}")
    draw.set_duration(60.0)

    def outlier(v: Array) -> Array:
        return v + size * draw.rng.choice([-1.0, 1.0], v.shape)

    return draw.masked(stream, channel, outlier, most=count)


def spike_in_range(draw: Draw) -> list[Reading]:
    return _spikes(draw, 1, 0.1, 1.0)


def spike_beyond_range(draw: Draw) -> list[Reading]:
    return _spikes(draw, 1, 10.0, 1e5)


def burst(draw: Draw) -> list[Reading]:
    return _spikes(draw, int(draw.rng.integers(3, 51)), 0.3, 100.0)


def stuck(draw: Draw) -> list[Reading]:
    """Repeat the first value of a whole reading."""
    stream = draw.pick("imu", "joints", "wrench", *ESTIMATES)
    held: list[object] = []

    def hold(reading: Reading) -> Reading:
        held.append(reading.sample)
        first = reading
        for channel, field in CHANNELS[type(reading.sample)].items():
            value = field.get(held[0])
            if value is not None:
                first = with_channel(first, channel, lambda _, value=value: value)
        return first

    draw.notes.append(stream)
    return draw.each(stream, hold)


def zero(draw: Draw) -> list[Reading]:
    return _constant(draw, 0.0)


def saturated(draw: Draw) -> list[Reading]:
    stream, channel = draw.pick_channel(*SENSORS)
    values = [CHANNELS[type(r.sample)][channel].get(r.sample) for r in draw.readings if r.stream == stream]
    limit = float(draw.rng.uniform(0.2, 0.8)) * max(float(np.abs(v).max()) for v in values if v is not None)
    draw.notes.append(f"at {limit:.3g}")
    return draw.change(stream, channel, lambda v: np.clip(v, -limit, limit))


UNITS = {
    "specific force": (("g", 1.0 / G), ("x1000", 1e3), ("x0.1", 0.1)),
    "angular rate": (("deg/s", DEGREES), ("x1000", 1e3), ("x0.1", 0.1)),
    "position": (("deg", DEGREES), ("x0.1", 0.1)),
    "velocity": (("deg/s", DEGREES), ("x1000", 1e3), ("x0.1", 0.1)),
    "effort": (("mNm", 1e3), ("kNm", 1e-3), ("x0.1", 0.1)),
    "force": (("kN", 1e-3), ("mN", 1e3), ("kgf", 1.0 / G), ("x0.1", 0.1)),
    "torque": (("mNm", 1e3), ("x0.1", 0.1)),
}


def units(draw: Draw) -> list[Reading]:
    stream, channel = draw.pick_channel(*SENSORS)
    choices = UNITS[channel]
    name, factor = choices[int(draw.rng.integers(len(choices)))]
    draw.notes.append(name)
    return draw.change(stream, channel, lambda v: factor * v)


def sign_flipped(draw: Draw) -> list[Reading]:
    stream, channel = draw.pick_channel(*SENSORS)
    return draw.masked(stream, channel, lambda v: -v)


def offset(draw: Draw) -> list[Reading]:
    stream, channel = draw.pick_channel(*SENSORS)
    size = IN_RANGE[channel] * draw.log_uniform(0.01, 0.3)
    draw.notes.append(f"{size:.3g}")
    return draw.masked(stream, channel, lambda v: v + size)


def gravity_free(draw: Draw) -> list[Reading]:
    """Remove gravity from the accelerometer, as some drivers do: its mean over the fault's time."""
    draw.streams.append("imu")
    forces = [r.sample.specific_force_I for r in draw.readings if r.stream == "imu"]
    mean = np.mean(forces[: max(20, len(forces) // 10)], axis=0)
    up = mean / np.linalg.norm(mean)
    return draw.change("imu", "specific force", lambda v: v - G * up)


def _forces(draw: Draw, streams: list[str], factor: Array | float) -> list[Reading]:
    draw.streams += streams
    draw.notes.append(", ".join(streams))

    def scaled(reading: Reading) -> Reading:
        return replace(reading, sample=replace(reading.sample, wrench_F=factor * reading.sample.wrench_F))

    return draw.each(streams, scaled)


def contact_lost(draw: Draw) -> list[Reading]:
    """Let the wrench of one contact, or of all, read zero."""
    all_of_them = draw.present("wrench")
    return _forces(draw, all_of_them if draw.rng.random() < 0.3 else [str(draw.rng.choice(all_of_them))], 0.0)


def contact_flipped(draw: Draw) -> list[Reading]:
    """Turn the sign of all wrenches: what the robot does to the ground."""
    return _forces(draw, draw.present("wrench"), -1.0)


def one_contact_wrong(draw: Draw) -> list[Reading]:
    stream = str(draw.rng.choice(draw.present("wrench")))
    return _forces(draw, [stream], float(draw.rng.choice([-1.0, 0.3, 2.0, 5.0])))


def swapped_joints(draw: Draw) -> list[Reading]:
    """Exchange the readings of two joints."""
    draw.streams.append("joints")
    names = draw.first_sample("joints").names
    a, b = (int(i) for i in draw.rng.choice(len(names), 2, replace=False))
    order = list(range(len(names)))
    order[a], order[b] = b, a
    draw.notes.append(f"{names[a]} and {names[b]}")

    def swap(reading: Reading) -> Reading:
        return replace(reading, sample=joint_columns(reading.sample, names, order))

    return draw.each("joints", swap)


def joint_efforts_lost(draw: Draw) -> list[Reading]:
    """Let the efforts of one joint, or of all, read zero or not be sent."""
    draw.streams.append("joints")
    sample: JointReading = draw.first_sample("joints")
    choice = int(draw.rng.integers(3))
    joint = int(draw.rng.integers(len(sample.names)))
    draw.notes.append(("none sent", f"{sample.names[joint]} zero", "all zero")[choice])

    def lose(reading: Reading) -> Reading:
        if choice == 0:
            return replace(reading, sample=replace(reading.sample, effort=None))
        keep = np.ones(len(sample.names)) if choice == 1 else np.zeros(len(sample.names))
        keep[joint] = 0.0
        return with_channel(reading, "effort", lambda v: keep * v)

    return draw.each("joints", lose)


def quaternion_not_unit(draw: Draw) -> list[Reading]:
    stream = draw.pick("base_state", "orientation")
    factor = float(draw.rng.choice([0.0, 1e-3, 0.5, 1.1, 2.0, 100.0]))
    draw.notes.append(f"{stream} x{factor:g}")
    return draw.change(stream, "quaternion", lambda v: factor * v)


def efforts_x1000(draw: Draw) -> list[Reading]:
    draw.streams.append("joints")
    return draw.change("joints", "effort", lambda v: 1e3 * v)


SMALL_OFFSET = (
    "an accelerometer's constant offset is a tilt, a gyroscope's is its bias, and a small one of a joint or "
    "of a force is calibration: no redundancy shows which"
)
VALUE_KINDS = (
    Kind("nan", nan),
    Kind("inf", inf),
    Kind("huge", huge),
    Kind("spike_in_range", spike_in_range),
    Kind("spike_beyond_range", spike_beyond_range),
    Kind("burst_of_outliers", burst),
    Kind("stuck", stuck, needs=("imu", "joints", "wrench")),
    Kind("zero", zero),
    Kind("saturated", saturated, needs=SENSORS),
    Kind("units", units, needs=SENSORS, duration_s=(0.02, 3.0)),
    Kind(
        "efforts_x1000",
        efforts_x1000,
        needs=("joints",),
        pipelines=("inertial", "payload"),
        duration_s=(0.02, 0.5),
    ),
    Kind("sign_flipped", sign_flipped, needs=SENSORS),
    Kind("offset", offset, needs=SENSORS, undetectable={"*": SMALL_OFFSET}),
    Kind("gravity_free", gravity_free, needs=("imu",), pipelines=("tilt", "inertial", "payload")),
    Kind("contact_lost", contact_lost, needs=("wrench",)),
    Kind("contact_flipped", contact_flipped, needs=("wrench",)),
    Kind("one_contact_wrong", one_contact_wrong, needs=("wrench",)),
    Kind("swapped_joints", swapped_joints, needs=("joints",)),
    Kind("joint_efforts_lost", joint_efforts_lost, needs=("joints",), pipelines=("inertial", "payload")),
    Kind("quaternion_not_unit", quaternion_not_unit, needs=("base_state", "orientation")),
)
