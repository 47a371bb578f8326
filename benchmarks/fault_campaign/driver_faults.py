"""Faults of drivers and converters: creeping, clipped, frozen and filtered numbers, tares, turned frames."""

from dataclasses import replace

import numpy as np

from benchmarks.fault_campaign.delivery_faults import REGULAR
from benchmarks.fault_campaign.fault import Draw, Kind
from benchmarks.fault_campaign.readings import (
    CHANNELS,
    Reading,
    delayed,
    joint_columns,
    nanoseconds,
    restamped,
    with_channel,
)
from benchmarks.fault_campaign.value_faults import IN_RANGE, SENSORS
from inertial_estimation.signals import NANOSECONDS, Array, JointReading
from inertial_estimation.spatial.rotations import rotation_from_roll_pitch_yaw
from inertial_estimation.spatial.vectors import DEGREES

COUNTS = 4096  # of an encoder in one turn


def delay_growing(draw: Draw) -> list[Reading]:
    """Let one stream come later and later, with the stamps of the measurement or of arrival."""
    stream, restamp = draw.pick(*REGULAR), bool(draw.rng.random() < 0.5)
    rate = draw.log_uniform(0.01, 0.3)
    draw.notes.append(f"{stream}, {1e3 * rate:.0f} ms/s, stamped {'on arrival' if restamp else 'before'}")

    def late(reading: Reading) -> Reading:
        late_ns = round(rate * (reading.arrival_ns - draw.begin_ns))
        found = delayed(reading, late_ns)
        return restamped(found, found.sample.stamp_ns + late_ns) if restamp else found

    found = draw.each(stream, late)
    draw.end_ns += nanoseconds(rate * draw.duration_s)
    return found


def encoder_creep(draw: Draw) -> list[Reading]:
    """Let the position of one joint lose a count again and again."""
    draw.streams.append("joints")
    names = draw.first_sample("joints").names
    joint, rate = int(draw.rng.integers(len(names))), draw.log_uniform(1.0, 300.0)
    count = 2.0 * np.pi / COUNTS * float(draw.rng.choice([-1.0, 1.0]))
    draw.notes.append(f"{names[joint]}, {rate:.0f} counts/s")

    def creep(reading: Reading) -> Reading:
        lost = np.floor(rate * (reading.arrival_ns - draw.begin_ns) / NANOSECONDS)
        offset = count * lost * (np.arange(len(names)) == joint)
        return with_channel(reading, "position", lambda v: v + offset)

    return draw.each("joints", creep)


def clipped_on_one_side(draw: Draw) -> list[Reading]:
    """Clip the numbers of a vector above a limit, or below it."""
    stream, channel = draw.pick_channel(*SENSORS)
    values = [CHANNELS[type(r.sample)][channel].get(r.sample) for r in draw.readings if r.stream == stream]
    all_of_them = np.array([v for v in values if v is not None])
    share, above = float(draw.rng.uniform(0.2, 0.8)), bool(draw.rng.random() < 0.5)
    limit = all_of_them.min(axis=0) + share * np.ptp(all_of_them, axis=0)
    draw.notes.append(f"{'above' if above else 'below'} {100 * share:.0f} % of its range")
    return draw.masked(stream, channel, lambda v: (np.minimum if above else np.maximum)(v, limit))


def column_frozen(draw: Draw) -> list[Reading]:
    """Let one number keep its last value while the others of its vector go on."""
    stream, channel = draw.pick_channel(*SENSORS)
    sample = draw.first_sample(stream)
    value = CHANNELS[type(sample)][channel].get(sample)
    assert value is not None
    column = int(draw.rng.integers(len(value)))
    draw.notes.append(f"column {column}")
    held: list[float] = []

    def hold(v: Array) -> Array:
        held.append(float(v[column]))
        v[column] = held[0]
        return v

    return draw.change(stream, channel, hold)


def frozen_with_noise(draw: Draw) -> list[Reading]:
    """Let all numbers of a sensor stay where they are, but for the noise of its converter."""
    stream = draw.pick(*SENSORS)
    share = float(draw.rng.choice([1e-4, 1e-3, 1e-2]))
    draw.notes.append(f"{stream}, noise {share:g} of a usual reading")
    first: list[Reading] = []

    def hold(reading: Reading) -> Reading:
        first.append(reading)
        for channel, field in CHANNELS[type(reading.sample)].items():
            value = field.get(first[0].sample)
            if value is not None:
                noise = share * IN_RANGE[channel] * draw.rng.normal(size=len(value))
                reading = with_channel(reading, channel, lambda _, held=value + noise: held)
        return reading

    return draw.each(stream, hold)


def every_other_repeated(draw: Draw) -> list[Reading]:
    """Let a sensor repeat its last values in every second, third or fourth reading, at new stamps."""
    stream, every = draw.pick(*REGULAR), int(draw.rng.integers(2, 5))
    draw.notes.append(f"{stream}, new values in 1 of {every}" if every > 2 else f"{stream}, every other")
    last: list[Reading] = []

    def repeat(reading: Reading) -> Reading:
        last.append(reading)
        return replace(reading, sample=restamped(last[-1 - (len(last) - 1) % every], _stamp(reading)).sample)

    return draw.each(stream, repeat)


def duplicated_at_new_stamps(draw: Draw) -> list[Reading]:
    """Send every reading of a stream again a little later, as if it had been measured then."""
    stream, later_ns = draw.pick(*REGULAR), nanoseconds(draw.log_uniform(1e-4, 0.01))
    draw.notes.append(f"{stream}, {1e-6 * later_ns:.2g} ms later")
    found = []
    for reading in draw.readings:
        found.append(reading)
        if reading.stream == stream and draw.acts(reading):
            found.append(restamped(delayed(reading, later_ns), _stamp(reading) + later_ns))
    return found


def filtered(draw: Draw) -> list[Reading]:
    """Smooth a vector by a first-order filter, as a driver that has been switched to another mode."""
    stream, channel = draw.pick_channel(*SENSORS)
    time_s = draw.log_uniform(0.01, 0.2)
    draw.notes.append(f"time constant {1e3 * time_s:.0f} ms")
    state: dict[str, Array] = {}
    last_ns = draw.begin_ns

    def smooth(reading: Reading) -> Reading:
        nonlocal last_ns
        share = 1.0 - np.exp(-(reading.arrival_ns - last_ns) / NANOSECONDS / time_s)
        last_ns = reading.arrival_ns

        def mix(v: Array) -> Array:
            state["y"] = state["y"] + share * (v - state["y"]) if state else v
            return state["y"]

        return with_channel(reading, channel, mix)

    return draw.each(stream, smooth)


def tared(draw: Draw) -> list[Reading]:
    """Take the present force of a contact, or the present efforts, for zero."""
    stream = draw.pick("wrench", "joints")
    channels = ("effort",) if stream == "joints" else ("force", "torque")
    draw.notes.append(stream)
    zero: dict[str, Array] = {}

    def tare(reading: Reading) -> Reading:
        for channel in channels:

            def shifted(v: Array, channel: str = channel) -> Array:
                return v - zero.setdefault(channel, v)

            reading = with_channel(reading, channel, shifted)
        return reading

    return draw.each(stream, tare)


def wrench_turned(draw: Draw) -> list[Reading]:
    """Express the wrench of a contact in axes turned about its normal, as after a wrong assembly."""
    stream, angle = draw.pick("wrench"), float(draw.rng.choice([-90.0, 90.0, 180.0]))
    draw.notes.append(f"{stream}, {angle:.0f} deg")
    R = rotation_from_roll_pitch_yaw(0.0, 0.0, angle / DEGREES)
    return draw.turned(stream, ("force", "torque"), R)


def columns_shifted(draw: Draw) -> list[Reading]:
    """Send the values of the joints in another order than their names."""
    draw.streams.append("joints")
    names = draw.first_sample("joints").names
    shift = int(draw.rng.integers(1, len(names)))
    order = [(i + shift) % len(names) for i in range(len(names))]
    draw.notes.append(f"by {shift}")
    return draw.each("joints", lambda r: replace(r, sample=joint_columns(r.sample, names, order)))


def joint_states_split(draw: Draw) -> list[Reading]:
    """Send one half of the joints in one message, the others in the next one, as two buses do."""
    draw.streams.append("joints")
    found = []
    for reading in draw.readings:
        if reading.stream != "joints" or not draw.acts(reading):
            found.append(reading)
            continue
        sample: JointReading = reading.sample
        half = len(sample.names) // 2
        for columns in (range(half), range(half, len(sample.names))):
            part = joint_columns(sample, tuple(sample.names[i] for i in columns), list(columns))
            found.append(replace(reading, sample=part))
    return found


def yaw_jumps(draw: Draw) -> list[Reading]:
    """Turn the heading of an estimate of the base by a constant angle, as a reset of its source does."""
    stream, half = draw.pick("base_state", "orientation"), 0.5 * float(draw.rng.uniform(-np.pi, np.pi))
    draw.notes.append(f"{stream}, {2.0 * half * DEGREES:.0f} deg")
    c, s = np.cos(half), np.sin(half)
    turn = np.array([[c, -s, 0.0, 0.0], [s, c, 0.0, 0.0], [0.0, 0.0, c, s], [0.0, 0.0, -s, c]])
    return draw.change(stream, "quaternion", lambda q: turn @ q)  # (0, 0, s, c) q


def spikes_repeated(draw: Draw) -> list[Reading]:
    """Put outliers into a share of the readings, again and again."""
    stream, channel = draw.pick_channel(*SENSORS)
    size, share = IN_RANGE[channel] * draw.log_uniform(0.1, 3.0), draw.log_uniform(0.02, 0.3)
    draw.notes.append(f"+-{size:.3g} in {100 * share:.0f} % of the readings")

    def spike(v: Array) -> Array:
        return v + size * float(draw.rng.choice([-1.0, 1.0])) * (draw.rng.random() < share)

    return draw.masked(stream, channel, spike)


def vibration(draw: Draw) -> list[Reading]:
    """Add an oscillation to the IMU, as an unbalanced fan or a gear does."""
    stream, channel = draw.pick_channel("imu")
    size, hertz = IN_RANGE[channel] * draw.log_uniform(0.02, 0.5), draw.log_uniform(15.0, 95.0)
    draw.notes.append(f"{size:.2g} at {hertz:.0f} Hz")
    axis = draw.rng.normal(size=3)
    axis *= size / np.linalg.norm(axis)

    def shake(reading: Reading) -> Reading:
        phase = np.sin(2.0 * np.pi * hertz * (reading.arrival_ns - draw.begin_ns) / NANOSECONDS)
        return with_channel(reading, channel, lambda v: v + phase * axis)

    return draw.each(stream, shake)


def sign_alternates(draw: Draw) -> list[Reading]:
    """Flip the sign of a vector for some readings, again and again."""
    stream, channel = draw.pick_channel(*SENSORS)
    run = int(draw.rng.integers(1, 31))
    draw.notes.append(f"every {run} readings")
    count = 0

    def flip(v: Array) -> Array:
        nonlocal count
        count += 1
        return v if count // run % 2 else -v

    return draw.change(stream, channel, flip)


def imu_turned(draw: Draw) -> list[Reading]:
    """Turn the whole IMU by some degrees, as where a screw has come loose."""
    draw.streams.append("imu")
    angles = draw.rng.uniform(-1.0, 1.0, 3) * draw.log_uniform(3.0, 40.0) / DEGREES
    draw.notes.append(f"by {np.linalg.norm(angles) * DEGREES:.0f} deg")
    R = rotation_from_roll_pitch_yaw(*angles)
    return draw.turned("imu", ("specific force", "angular rate"), R)


def _stamp(reading: Reading) -> int:
    stamp: int = reading.sample.stamp_ns
    return stamp


SLOPE = "a robot that stands on ground of that slope from the first reading on has the same readings"
CREEP = "an offset of a few counts, as slow as that, is calibration: no redundancy shows which joint is wrong"
DRIVER_KINDS = (
    Kind("delay_growing", delay_growing, duration_s=(0.3, 4.0)),
    Kind(
        "encoder_creep",
        encoder_creep,
        needs=("joints",),
        duration_s=(0.5, 4.0),
        undetectable={"*": CREEP},
    ),
    Kind("clipped_on_one_side", clipped_on_one_side, needs=SENSORS),
    Kind("column_frozen", column_frozen, needs=SENSORS),
    Kind("frozen_with_noise", frozen_with_noise, needs=SENSORS),
    Kind("every_other_repeated", every_other_repeated),
    Kind("duplicated_at_new_stamps", duplicated_at_new_stamps),
    Kind("filtered", filtered, needs=SENSORS),
    Kind("tared", tared, needs=("wrench", "joints")),
    Kind("wrench_turned", wrench_turned, needs=("wrench",)),
    Kind("columns_shifted", columns_shifted, needs=("joints",)),
    Kind("joint_states_split", joint_states_split, needs=("joints",)),
    Kind("yaw_jumps", yaw_jumps, needs=("base_state", "orientation")),
    Kind("spikes_repeated", spikes_repeated, needs=SENSORS),
    Kind("vibration", vibration, needs=("imu",)),
    Kind("sign_alternates", sign_alternates, needs=SENSORS),
    Kind("imu_turned", imu_turned, needs=("imu",), undetectable={"*": SLOPE}),
)
