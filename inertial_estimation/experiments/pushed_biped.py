"""The biped of Benallegue et al. (V-A): twelve joints, 42.6 kg; it stands, is pushed, then pushed over.

The paper gives joints and weight only; shape and shares of the mass are those of a person of that weight, cut
to boxes: trunk with head and arms 20.6 kg, a leg 11.0 kg (hip 0.8 + 0.8, thigh 4.5, shin 3.2, ankle 0.5,
foot 1.2). Legs straight, it stands with its centre of mass above the middle of the feet. The IMU is in the
trunk. Axes: x forwards, y to the left, z up; every joint turns about an axis through its link's origin.

Joints are held by a PD controller on the true joint states, so the motion does not depend on the sensors'
noise: it is simulated once, without noise, and every seed adds its own to the readings of the IMU.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.inputs.config import RobotConfig
from inertial_estimation.models.friction import NominalFriction
from inertial_estimation.models.robot_config import SimulatedRobotConfig, StanceConfig
from inertial_estimation.signals import NANOSECONDS, Array, seconds
from inertial_estimation.simulation.config import GroundConfig, SensorConfig, SimulationConfig
from inertial_estimation.simulation.disturbances import Push
from inertial_estimation.simulation.simulation import Simulation
from inertial_estimation.spatial.rotations import rotation_from_quaternion

CONTACTS = ("left_sole", "right_sole")
IMU = "imu"
Pushes = tuple[tuple[float, float], ...]


class Biped(NamedTuple):
    """Shape, control, sensors and pushes of the biped."""

    sole: tuple[float, ...] = (-0.1, 0.1, -0.06, 0.06)  # x_min, x_max, y_min, y_max of a foot's sole [m]
    hip_y: float = 0.1  # distance of the hip joints from the middle [m]
    imu_height: float = 0.3  # height of the IMU above the hip joints [m]
    head: float = 0.54  # height of the top of the trunk above the hip joints [m]
    sole_drop: float = 0.06  # distance of the sole below the ankle [m]
    kp: float = 1000.0  # stiffness of every joint [Nm/rad]
    kd: float = 30.0  # damping of every joint [Nms/rad]
    armature: float = 0.1  # rotor inertia reflected to each joint [kg m^2]
    rate: float = 500.0  # rate of all sensors and of the PD controller [Hz]
    step: float = 0.0005  # step of the simulation [s]
    stiffness: float = 1e5  # of the ground at each of the four corners of a foot [N/m] (B V-A)
    damping: float = 1e3  # of the ground at each of these corners [Ns/m] (B V-A)
    gyro_noise: float = 0.02  # standard deviation per sample [rad/s] (B V-A)
    force_noise: float = 0.5  # standard deviation per sample [m/s^2] (B V-A)
    push_duration: float = 0.1  # duration of a push [s] (B V-A)
    push_point: tuple[float, ...] = (0.0, 0.0, 0.26)  # point of attack: the trunk's centre of mass [m]
    pushes: Pushes = ((4.0, 100.0), (14.0, 300.0))  # time [s] and force [N] (B V-A)
    longest_run: float = 20.0  # time by which the biped must have fallen [s]


BIPED = Biped()
QUICK_PUSHES: Pushes = tuple((time / 2, force) for time, force in BIPED.pushes)


class _Part(NamedTuple):
    """A box of uniform density, attached to the part before it by one joint of the same name."""

    name: str
    axis: str  # axis of its joint
    drop: float  # distance of its joint below that of the part before it [m]
    mass: float  # mass [kg]
    size: tuple[float, float, float]  # edges along x, y, z [m]
    com_z: float  # height of the middle of the box above the joint [m]

    @property
    def link(self) -> str:
        """Inertia and shape of the part as content of a link of a URDF."""
        x, y, z = self.size
        k = self.mass / 12.0
        return (
            f'<inertial><origin xyz="0 0 {self.com_z:g}"/><mass value="{self.mass:g}"/>'
            f'<inertia ixx="{k * (y * y + z * z):.8g}" iyy="{k * (x * x + z * z):.8g}" '
            f'izz="{k * (x * x + y * y):.8g}" ixy="0" ixz="0" iyz="0"/></inertial>'
            f'<visual><origin xyz="0 0 {self.com_z:g}"/><geometry><box size="{x:g} {y:g} {z:g}"/></geometry>'
            "</visual>"
        )


PARTS = [  # trunk, then a leg: two hip joints, thigh, shin, ankle, foot
    _Part("trunk", "", 0.0, 20.6, (0.2, 0.32, 0.56), 0.26),
    _Part("hip_yaw", "0 0 1", 0.0, 0.8, (0.1, 0.1, 0.1), 0.0),
    _Part("hip_roll", "1 0 0", 0.0, 0.8, (0.1, 0.1, 0.1), 0.0),
    _Part("hip_pitch", "0 1 0", 0.0, 4.5, (0.12, 0.12, 0.38), -0.19),
    _Part("knee", "0 1 0", 0.38, 3.2, (0.1, 0.1, 0.38), -0.19),
    _Part("ankle_pitch", "0 1 0", 0.38, 0.5, (0.06, 0.06, 0.06), 0.0),
    _Part("ankle_roll", "1 0 0", 0.0, 1.2, (0.2, 0.12, 0.04), -0.04),
]


def biped_urdf() -> str:
    """Return the URDF of the biped, with fixed frames `IMU` in the trunk and `CONTACTS` in the soles."""
    trunk, *leg = PARTS
    elements = [f'<link name="trunk">{trunk.link}</link>', *_attached(IMU, "trunk", z=BIPED.imu_height)]
    for side, y, sole in zip(("left", "right"), (BIPED.hip_y, -BIPED.hip_y), CONTACTS, strict=True):
        parent, shift = "trunk", y
        for part in leg:
            name = f"{side}_{part.name}"
            elements += _attached(f"{name}_link", parent, name, part, y=shift, z=-part.drop)
            parent, shift = f"{name}_link", 0.0
        elements += _attached(sole, parent, z=-BIPED.sole_drop)
    return '<?xml version="1.0"?>\n<robot name="biped">\n' + "\n".join(elements) + "\n</robot>\n"


def _attached(
    link: str, parent: str, joint: str = "", part: _Part | None = None, *, y: float = 0.0, z: float
) -> list[str]:
    """Return a link and the joint that attaches it to its parent, a fixed one if `part` is None."""
    kind, more = "fixed", ""
    if part is not None:  # the motion does not reach these limits
        limit = '<limit lower="-2.5" upper="2.5" effort="400" velocity="30"/>'
        kind, more = "revolute", f'<axis xyz="{part.axis}"/>{limit}'
    return [
        f'<link name="{link}">{part.link if part else ""}</link>',
        f'<joint name="{joint or link + "_fixed"}" type="{kind}"><parent link="{parent}"/>'
        f'<child link="{link}"/><origin xyz="0 {y:g} {z:g}"/>{more}</joint>',
    ]


@dataclass(frozen=True, slots=True, eq=False)
class PushRecord:
    """Readings of the sensors without noise, and the truth, at one rate."""

    pushes: Pushes
    time_s: Array  # time since the release [s], shape (n,)
    force_I: Array  # specific force of the IMU [m/s^2], shape (n, 3)
    rate_I: Array  # angular velocity of the IMU [rad/s], shape (n, 3)
    q: Array  # joint positions [rad], shape (n, 12)
    v: Array  # joint velocities [rad/s], shape (n, 12)
    wrench_F: Array  # wrench at each contact, in its frame [N, Nm], shape (n, 2, 6)
    tilt_I: Array  # true vertical in the IMU frame, shape (n, 3)

    def noisy_imu(self, rng: Generator) -> tuple[Array, Array]:
        """Return specific force and angular velocity with the paper's white noise."""
        force = self.force_I + BIPED.force_noise * rng.standard_normal(self.force_I.shape)
        rate = self.rate_I + BIPED.gyro_noise * rng.standard_normal(self.rate_I.shape)
        return force, rate

    def lean(self) -> Array:
        """Return the angle between the trunk and the vertical [rad], shape (n,)."""
        return np.arccos(np.clip(self.tilt_I[:, 2], -1.0, 1.0))


def robot_config() -> RobotConfig:
    """Return IMU and contacts of the biped."""
    return RobotConfig(imu_frame=IMU, contacts=CONTACTS)


def simulate_push(pushes: Pushes = BIPED.pushes) -> PushRecord:
    """Push the robot forwards until the top of the trunk reaches the ground.

    Raises:
        ConfigurationError: If the robot has not fallen in time.
    """
    b = BIPED
    rotors = NominalFriction(joints=("*",), terms=("armature",), values=(b.armature,))
    config = SimulationConfig(
        robot=SimulatedRobotConfig(imu_frame=IMU, contacts=CONTACTS, nominal_friction=rotors),
        stance=StanceConfig(soles=b.sole * len(CONTACTS)),
        step=b.step,
        ground=GroundConfig(stiffness=b.stiffness, damping=b.damping),
        sensors=SensorConfig(rate=b.rate),
    )
    point = np.array(b.push_point)
    forces = [
        Push("trunk", np.array([force, 0.0, 0.0]), time, b.push_duration, point) for time, force in pushes
    ]
    simulation = Simulation(config, biped_urdf(), forces)
    home = simulation.truth().q.copy()
    simulation.apply(np.zeros_like(home))
    begin_ns, period_ns = simulation.stamp_ns, round(NANOSECONDS / b.rate)
    rows: list[tuple[Array, ...]] = []
    height, time = b.head, 0.0
    while height >= 0.0:
        readings = simulation.advance(period_ns)[-1]
        truth = simulation.truth()
        time = seconds(simulation.stamp_ns - begin_ns)
        R_WB = rotation_from_quaternion(truth.base.quaternion_xyzw)
        imu = readings.imu
        assert imu is not None
        wrenches = np.stack([readings.wrenches[name].wrench_F for name in CONTACTS])
        sensed = (np.array(time), imu.specific_force_I, imu.angular_rate_I, truth.q, truth.v, wrenches)
        rows.append((*sensed, R_WB[2]))
        simulation.apply(b.kp * (home - truth.q) - b.kd * truth.v)
        if time > b.longest_run:
            raise ConfigurationError(f"the biped still stands after {time:g} s: the pushes are too weak")
        height = float(truth.base.p_WB[2] + R_WB[2, 2] * b.head)
    return PushRecord(pushes, *(np.array(column) for column in zip(*rows, strict=True)))
