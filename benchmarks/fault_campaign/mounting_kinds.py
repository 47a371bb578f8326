"""Faults of mounting and wiring: of the IMU, of contacts, of joints, of estimates of the base."""

from dataclasses import replace

import numpy as np
from scipy.spatial.transform import Rotation

from benchmarks.fault_campaign.fault import Injection, kind
from benchmarks.fault_campaign.messages import Message, nanoseconds
from benchmarks.fault_campaign.value_kinds import DEGREES, GRAVITY

IMU = ("specific force", "angular rate")
SLOPE = "a robot that stands on ground of that slope from the first reading on has the same readings"
RELIEVED = "a support that takes over a share of the weight has the forces of a load that is put down"


@kind("imu", pipelines=("tilt", "inertial", "payload"))
def gravity_free(f: Injection) -> list[Message]:
    """The accelerometer reports no gravity, as some drivers do."""
    forces = f.values("imu", "specific force")
    mean = forces[: max(20, len(forces) // 10)].mean(axis=0)
    return f.change("imu", "specific force", lambda v: v - GRAVITY * mean / np.linalg.norm(mean))


@kind("imu", "wrench")
def axes_permuted(f: Injection) -> list[Message]:
    """The axes of IMU or contact sensor are turned by quarter turns, as by a wrong frame in a driver."""
    axes = np.eye(3)[f.rng.permutation(3)] * f.rng.choice([-1.0, 1.0], 3)
    axes[0] *= np.sign(np.linalg.det(axes))
    if np.array_equal(axes, np.eye(3)):
        axes = np.roll(axes, 1, axis=0)
    f.notes.append(str(axes.astype(int).tolist()))
    stream = f.stream("imu", "wrench")
    vectors = f.some(IMU, IMU[:1], IMU[1:]) if stream == "imu" else ()
    return f.edit(stream, lambda m: m.with_values(lambda _, v: axes @ v, *vectors))


@kind("imu", hidden=SLOPE)
def imu_turned(f: Injection) -> list[Message]:
    """The IMU is turned by 3 to 40 deg, as by a loose screw."""
    angles = f.rng.uniform(-1.0, 1.0, 3) * f.log_uniform(3.0, 40.0)
    f.notes.append(f"by {np.linalg.norm(angles):.0f} deg")
    R = Rotation.from_euler("xyz", angles, degrees=True).as_matrix()
    return f.edit("imu", lambda m: m.with_values(lambda _, v: R @ v))


@kind("imu", duration_s=(0.1, 3.0))
def imu_loose(f: Injection) -> list[Message]:
    """The IMU swings on its mount: it feels its own rotation, and gravity in turning axes."""
    angle, hertz = f.log_uniform(2.0, 30.0) / DEGREES, f.log_uniform(0.3, 12.0)
    axis = f.rng.normal(size=3)
    axis *= angle / np.linalg.norm(axis)
    f.notes.append(f"by {angle * DEGREES:.1f} deg at {hertz:.1f} Hz")

    def swing(message: Message) -> Message:
        phase = 2.0 * np.pi * hertz * f.elapsed_s(message)
        R = Rotation.from_rotvec(-np.sin(phase) * axis).as_matrix()  # old axes into those of the IMU
        rate = {"angular rate": 2.0 * np.pi * hertz * np.cos(phase) * axis}
        return message.with_values(lambda name, v: R @ v + rate.get(name, 0.0))

    return f.edit("imu", swing)


@kind("wrench")
def contact_scaled(f: Injection) -> list[Message]:
    """The wrench of one contact, or of all, is zero, of the other sign, or scaled."""
    return f.scaled(f.one_or_all("wrench"), f.some(0.0, 0.0, -1.0, 0.3, 2.0, 5.0))


@kind("wrench", hidden=RELIEVED, hidden_in=("inertial",))
def weight_elsewhere(f: Injection) -> list[Message]:
    """A knee or a crane bears a share of the weight that no contact measures."""
    return f.scaled(f.present("wrench"), f.some(float(f.rng.uniform(0.0, 0.9))))


@kind("wrench")
def wrenches_swapped(f: Injection) -> list[Message]:
    """Two contacts are exchanged."""
    one, other = (str(s) for s in f.rng.choice(f.present("wrench"), 2, replace=False))
    partner = {one: other, other: one}
    return f.edit([one, other], lambda m: m.carrying(f.newest(partner[m.stream], m.arrival_ns)))


@kind("joints")
def swapped_joints(f: Injection) -> list[Message]:
    """Two joints are exchanged, or only their velocities, or all values are sent under the next name."""
    n, what = len(f.joints), f.some("two joints", "velocities", "all shifted")
    a, b = (int(i) for i in f.rng.choice(n, 2, replace=False))
    order = np.roll(np.arange(n), a or 1) if what == "all shifted" else np.arange(n)
    if what != "all shifted":
        order[[a, b]] = b, a
        f.notes.append(f"{f.joints[a]} and {f.joints[b]}")
    vectors = ("velocity",) if what == "velocities" else ()
    return f.edit("joints", lambda m: m.with_values(lambda _, v: v[order], *vectors))


@kind("joints")
def encoder_slip(f: Injection) -> list[Message]:
    """The position of one joint is off by 0.1 rad to a whole turn."""
    joint, slip = int(f.rng.integers(len(f.joints))), f.sign() * f.some(0.1, 0.3, 1.0, np.pi, 2.0 * np.pi)
    f.notes.append(f.joints[joint])
    return f.change("joints", "position", lambda v: v + slip * (np.arange(len(v)) == joint))


@kind("joints")
def joints_delayed(f: Injection) -> list[Message]:
    """Some joints, or all, have the values of 20 to 200 ms before at the stamp of now."""
    delay_s, n = f.log_uniform(0.02, 0.2), len(f.joints)
    late = f.rng.random(n) < f.rng.choice([0.5, 1.0])
    f.notes.append(f"{int(late.sum())} of {n} by {1e3 * delay_s:.0f} ms")

    def mixed(message: Message) -> Message:
        old = f.newest("joints", message.arrival_ns - nanoseconds(delay_s)).sample
        return message.with_values(lambda name, v: np.where(late, getattr(old, name), v))

    return f.edit("joints", mixed)


@kind("joints")
def not_sent(f: Injection) -> list[Message]:
    """Joint states come without efforts, or without velocities."""
    field = f.some("effort", "velocity")
    return f.edit("joints", lambda m: replace(m, sample=replace(m.sample, **{field: None})))


@kind("base_state", "orientation")
def quaternion_not_unit(f: Injection) -> list[Message]:
    """The quaternion of the base is scaled, down to zero."""
    factor = f.some(0.0, 1e-3, 0.5, 1.1, 2.0, 100.0)
    return f.scaled(f.stream("base_state", "orientation"), factor, "quaternion")


@kind("base_state", "orientation")
def yaw_jumps(f: Injection) -> list[Message]:
    """The heading of the base is turned by a constant, as by a reset of its source."""
    stream, angle = f.stream("base_state", "orientation"), f.some(float(f.rng.uniform(-np.pi, np.pi)))
    turn = Rotation.from_rotvec([0.0, 0.0, angle])
    return f.change(stream, "quaternion", lambda q: (turn * Rotation.from_quat(q)).as_quat())
