"""Faults of mounting and wiring: of the IMU, of contacts, of joints, of estimates of the base."""

from dataclasses import replace

import numpy as np
from scipy.spatial.transform import Rotation

from benchmarks.fault_campaign.fault import Injection, kind
from benchmarks.fault_campaign.messages import Message, nanoseconds
from benchmarks.fault_campaign.value_kinds import DEGREES, GRAVITY

IMU = ("specific_force_I", "angular_rate_I")
SLOPE = "a robot that stands on ground of that slope from the first reading on has the same readings"
RELIEVED = "a support that takes over a share of the weight has the forces of a load that is put down"


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
