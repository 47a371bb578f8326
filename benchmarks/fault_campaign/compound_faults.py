"""Faults of several sensors at once and of their mounting: a loose IMU, old data played again, worn feet."""

from dataclasses import replace

import numpy as np

from benchmarks.fault_campaign.delivery_faults import REGULAR
from benchmarks.fault_campaign.driver_faults import column_frozen, filtered
from benchmarks.fault_campaign.fault import Draw, Kind
from benchmarks.fault_campaign.readings import Reading, nanoseconds, restamped, with_channel
from benchmarks.fault_campaign.value_faults import saturated, sign_flipped, stuck, units
from benchmarks.fault_campaign.wiring_faults import encoder_slip, gain, loose_cable
from inertial_estimation.signals import NANOSECONDS
from inertial_estimation.spatial.rotations import rotation_from_roll_pitch_yaw
from inertial_estimation.spatial.vectors import DEGREES

PARTS = (stuck, saturated, units, sign_flipped, gain, loose_cable, column_frozen, filtered)
AWAY_S = (0.3, 2.0)  # distance of that time from now


def two_at_once(draw: Draw) -> list[Reading]:
    """Let two sensors lie at the same time, each in its own way."""
    found, concerned = draw.readings, draw.streams
    for _ in range(2):
        part = PARTS[int(draw.rng.integers(len(PARTS)))]
        one = replace(draw, readings=found, streams=[])
        found = part(one)
        draw.notes.append(part.__name__)
        concerned += one.streams
    return found


def imu_loose(draw: Draw) -> list[Reading]:
    """Let the IMU swing on its mount: it feels its own rotation, and gravity in turning axes."""
    draw.streams.append("imu")
    angle, hertz = draw.log_uniform(2.0, 30.0) / DEGREES, draw.log_uniform(0.3, 12.0)
    axis = draw.rng.normal(size=3)
    axis /= np.linalg.norm(axis)
    draw.notes.append(f"by {angle * DEGREES:.1f} deg at {hertz:.1f} Hz")
    omega = 2.0 * np.pi * hertz
    S = np.array([[0.0, -axis[2], axis[1]], [axis[2], 0.0, -axis[0]], [-axis[1], axis[0], 0.0]])

    def swing(reading: Reading) -> Reading:
        phase = omega * (reading.arrival_ns - draw.begin_ns) / NANOSECONDS
        turn, rate = angle * np.sin(phase), angle * omega * np.cos(phase)
        R = np.eye(3) - np.sin(turn) * S + (1.0 - np.cos(turn)) * S @ S  # old axes into those of the IMU
        reading = with_channel(reading, "specific force", lambda v: R @ v)
        return with_channel(reading, "angular rate", lambda v: R @ v + rate * axis)

    return draw.each("imu", swing)


def old_data_replayed(draw: Draw) -> list[Reading]:
    """Let a player send the data of another time, of one stream or of all, at the stamps of now."""
    streams = draw.present(*REGULAR)
    chosen = streams if draw.rng.random() < 0.3 else [draw.pick(*REGULAR)]
    draw.streams += [stream for stream in chosen if stream not in draw.streams]
    draw.end_ns = min(draw.end_ns, draw.begin_ns + nanoseconds(AWAY_S[1]))
    ahead_ns = nanoseconds(draw.log_uniform(*AWAY_S))
    draw.notes.append(f"{'all' if len(chosen) > 1 else chosen[0]}, those of {1e-9 * ahead_ns:.2f} s later")
    by_stream: dict[str, list[Reading]] = {}
    for reading in draw.readings:
        by_stream.setdefault(reading.stream, []).append(reading)
    arrivals = {s: np.array([r.arrival_ns for r in found]) for s, found in by_stream.items()}

    def other(reading: Reading) -> Reading:
        k = int(np.searchsorted(arrivals[reading.stream], reading.arrival_ns + ahead_ns))
        source = by_stream[reading.stream][min(k, len(arrivals[reading.stream]) - 1)]
        return replace(reading, sample=restamped(source, reading.sample.stamp_ns).sample)

    return draw.each(chosen, other)


def half_turn(draw: Draw) -> list[Reading]:
    """Let the position of one joint be half a turn off, as after an index pulse that was missed."""
    draw.streams.append("joints")
    names = draw.first_sample("joints").names
    joint, turn = int(draw.rng.integers(len(names))), float(draw.rng.choice([-np.pi, np.pi]))
    mirrored = bool(draw.rng.random() < 0.3)
    draw.notes.append(f"{names[joint]}{', mirrored' if mirrored else ''}")
    one = np.arange(len(names)) == joint
    return draw.change("joints", "position", lambda v: np.where(one, (-v if mirrored else v) + turn, v))


def foot_delaminated(draw: Draw) -> list[Reading]:
    """Let a foot's sensor lose a growing share of what it bears, and report torques that are none."""
    stream, share = draw.pick("wrench"), float(draw.rng.uniform(0.2, 0.9))
    time_s, torque = draw.log_uniform(0.03, 1.0), draw.log_uniform(0.5, 30.0)
    draw.notes.append(f"{stream} loses {100 * share:.0f} % within {time_s:.2g} s, {torque:.2g} Nm")

    def peel(reading: Reading) -> Reading:
        gone = 1.0 - np.exp(-(reading.arrival_ns - draw.begin_ns) / NANOSECONDS / time_s)
        reading = with_channel(reading, "force", lambda v: (1.0 - share * gone) * v)
        return with_channel(reading, "torque", lambda v: v + torque * gone * draw.rng.normal(size=3))

    return draw.each(stream, peel)


def weight_elsewhere(draw: Draw) -> list[Reading]:
    """Let a knee or a crane bear a share of the weight that no foot measures."""
    streams = draw.present("wrench")
    draw.streams += streams
    share = float(draw.rng.uniform(0.1, 1.0))
    draw.notes.append(f"{100 * share:.0f} % of it")

    def relieved(reading: Reading) -> Reading:
        return replace(
            reading, sample=replace(reading.sample, wrench_F=(1.0 - share) * reading.sample.wrench_F)
        )

    return draw.each(streams, relieved)


def torque_gain_drifts(draw: Draw) -> list[Reading]:
    """Let the gain of torque sensors change as they warm up, of one joint or of all."""
    draw.streams.append("joints")
    sample = draw.first_sample("joints")
    mask, change = draw.column(len(sample.names)), draw.log_uniform(0.05, 0.6)
    change *= float(draw.rng.choice([-1.0, 1.0]))
    draw.notes.append(f"by {100 * change:+.0f} %")

    def warm(reading: Reading) -> Reading:
        share = (reading.arrival_ns - draw.begin_ns) / (draw.end_ns - draw.begin_ns)
        return with_channel(reading, "effort", lambda v: (1.0 + share * change * mask) * v)

    return draw.each("joints", warm)


def velocities_exchanged(draw: Draw) -> list[Reading]:
    """Exchange the velocities of two joints; their positions are right."""
    draw.streams.append("joints")
    names = draw.first_sample("joints").names
    a, b = (int(i) for i in draw.rng.choice(len(names), 2, replace=False))
    order = np.arange(len(names))
    order[a], order[b] = b, a
    draw.notes.append(f"those of {names[a]} and {names[b]} exchanged")
    return draw.change("joints", "velocity", lambda v: v[order])


def coarse_encoder(draw: Draw) -> list[Reading]:
    """Give one joint an encoder of few counts, and velocities that are its differences."""
    draw.streams.append("joints")
    names = draw.first_sample("joints").names
    joint, counts = int(draw.rng.integers(len(names))), int(draw.rng.choice([128, 512, 2048]))
    draw.notes.append(f"{names[joint]}, {counts} counts a turn")
    count, one = 2.0 * np.pi / counts, np.arange(len(names)) == joint
    before: dict[str, float] = {}

    def coarse(reading: Reading) -> Reading:
        q = count * np.round(reading.sample.position / count)
        stamp, old, old_ns = reading.sample.stamp_ns, before.get("q"), before.get("stamp")
        before["q"], before["stamp"] = float(q[joint]), stamp
        reading = with_channel(reading, "position", lambda v: np.where(one, q, v))
        if old is None or old_ns is None or stamp <= old_ns:
            return reading
        rate = (float(q[joint]) - old) / ((stamp - old_ns) / NANOSECONDS)
        return with_channel(reading, "velocity", lambda v: np.where(one, rate, v))

    return draw.each("joints", coarse)


def fallen(draw: Draw) -> list[Reading]:
    """Let an encoder slip while the IMU is turned on its mount, as after a fall."""
    found = encoder_slip(draw)
    angles = draw.rng.uniform(-1.0, 1.0, 3) * draw.log_uniform(3.0, 20.0) / DEGREES
    R = rotation_from_roll_pitch_yaw(*angles)
    draw.streams.append("imu")
    draw.notes.append(f"IMU by {np.linalg.norm(angles) * DEGREES:.0f} deg")
    turned = replace(draw, readings=found)
    return turned.turned("imu", ("specific force", "angular rate"), R)


WARMING = "a gain that changes as slowly as a load is put down, by as much, is one"
RELIEVED = (
    "a support that takes over a share of the weight is a load that was put down: forces alone do not show it"
)
COMPOUND_KINDS = (
    Kind("two_at_once", two_at_once, needs=("imu", "joints")),
    Kind("imu_loose", imu_loose, needs=("imu",), duration_s=(0.1, 3.0)),
    Kind("old_data_replayed", old_data_replayed),
    Kind("half_turn", half_turn, needs=("joints",)),
    Kind("foot_delaminated", foot_delaminated, needs=("wrench",), duration_s=(0.1, 3.0)),
    Kind("weight_elsewhere", weight_elsewhere, needs=("wrench",), undetectable={"inertial": RELIEVED}),
    Kind(
        "torque_gain_drifts",
        torque_gain_drifts,
        needs=("joints",),
        pipelines=("inertial", "payload"),
        duration_s=(0.5, 4.0),
        undetectable={"*": WARMING},
    ),
    Kind("velocities_exchanged", velocities_exchanged, needs=("joints",)),
    Kind("coarse_encoder", coarse_encoder, needs=("joints",), duration_s=(0.1, 3.0)),
    Kind("fallen", fallen, needs=("imu",), duration_s=(0.1, 3.0)),
)
