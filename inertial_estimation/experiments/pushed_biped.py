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
from inertial_estimation.models.friction import NominalFriction
from inertial_estimation.models.robot_config import RobotConfig, SimulatedRobotConfig, StanceConfig
from inertial_estimation.signals import NANOSECONDS, Array, seconds
from inertial_estimation.simulation.config import (
    GroundConfig,
    SensorConfig,
    SimulationConfig,
)
from inertial_estimation.simulation.disturbances import Push
from inertial_estimation.simulation.simulation import Simulation
from inertial_estimation.spatial.rotations import rotation_from_quaternion

CONTACTS = ("left_sole", "right_sole")
IMU = "imu"
SOLE = (-0.1, 0.1, -0.06, 0.06)  # x_min, x_max, y_min, y_max of a foot's sole in its frame [m]
HIP_Y = 0.1  # of the hip joints from the middle [m]
IMU_HEIGHT = 0.3  # of the IMU above the hip joints [m]
HEAD = 0.54  # top of the trunk above the hip joints [m]
SOLE_DROP = 0.06  # of the sole below the ankle [m]
EFFORT, SPEED = 400.0, 30.0  # limits of every joint [Nm, rad/s]: not reached


class _Part(NamedTuple):
    """A box of even density, hung from the part before it by one joint of the same name."""

    name: str
    axis: str  # of its joint
    drop: float  # how far its joint is below that of the part before it [m]
    mass: float  # [kg]
    size: tuple[float, float, float]  # edges along x, y, z [m]
    com_z: float  # height of the middle of the box above the joint [m]


TRUNK = _Part("trunk", "", 0.0, 20.6, (0.2, 0.32, 0.56), 0.26)
LEG = (
    _Part("hip_yaw", "0 0 1", 0.0, 0.8, (0.1, 0.1, 0.1), 0.0),
    _Part("hip_roll", "1 0 0", 0.0, 0.8, (0.1, 0.1, 0.1), 0.0),
    _Part("hip_pitch", "0 1 0", 0.0, 4.5, (0.12, 0.12, 0.38), -0.19),  # thigh
    _Part("knee", "0 1 0", 0.38, 3.2, (0.1, 0.1, 0.38), -0.19),  # shin
    _Part("ankle_pitch", "0 1 0", 0.38, 0.5, (0.06, 0.06, 0.06), 0.0),
    _Part("ankle_roll", "1 0 0", 0.0, 1.2, (0.2, 0.12, 0.04), -0.04),  # foot
)


def biped_urdf() -> str:
    """Return the URDF of the biped, with fixed frames `IMU` in the trunk and `CONTACTS` amid the soles."""
    elements = [_link(TRUNK.name, TRUNK), _frame(IMU, "trunk", IMU_HEIGHT)]
    for side, y, sole in zip(("left", "right"), (HIP_Y, -HIP_Y), CONTACTS, strict=True):
        parent, shift = "trunk", y
        for part in LEG:
            name = f"{side}_{part.name}"
            elements.append(_link(f"{name}_link", part))
            elements.append(_joint(name, parent, part, shift))
            parent, shift = f"{name}_link", 0.0
        elements.append(_frame(sole, parent, -SOLE_DROP))
    return '<?xml version="1.0"?>\n<robot name="biped">\n' + "\n".join(elements) + "\n</robot>\n"


def _link(name: str, part: _Part) -> str:
    x, y, z = part.size
    k = part.mass / 12.0
    return (
        f'<link name="{name}"><inertial><origin xyz="0 0 {part.com_z:g}"/><mass value="{part.mass:g}"/>'
        f'<inertia ixx="{k * (y * y + z * z):.8g}" iyy="{k * (x * x + z * z):.8g}" '
        f'izz="{k * (x * x + y * y):.8g}" ixy="0" ixz="0" iyz="0"/></inertial>'
        f'<visual><origin xyz="0 0 {part.com_z:g}"/><geometry><box size="{x:g} {y:g} {z:g}"/></geometry>'
        "</visual></link>"
    )


def _joint(name: str, parent: str, part: _Part, y: float) -> str:
    return (
        f'<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{name}_link"/>'
        f'<origin xyz="0 {y:g} {-part.drop:g}"/><axis xyz="{part.axis}"/>'
        f'<limit lower="-2.5" upper="2.5" effort="{EFFORT:g}" velocity="{SPEED:g}"/></joint>'
    )


def _frame(name: str, parent: str, z: float) -> str:
    return (
        f'<link name="{name}"/><joint name="{name}_fixed" type="fixed"><parent link="{parent}"/>'
        f'<child link="{name}"/><origin xyz="0 0 {z:g}"/></joint>'
    )


RATE = 500.0  # of all sensors and of the PD controller [Hz]
STEP = 0.0005  # of the simulation [s]
GYRO_NOISE = 0.02  # standard deviation per sample [rad/s] (B V-A)
FORCE_NOISE = 0.5  # standard deviation per sample [m/s^2] (B V-A)
STIFFNESS, DAMPING = 1e5, 1e3  # of each of the four corners of a foot [N/m, Ns/m] (B V-A)
Pushes = tuple[tuple[float, float], ...]
PUSHES: Pushes = ((4.0, 100.0), (14.0, 300.0))  # time [s] and force [N] (B V-A)
QUICK_PUSHES = ((1.5, 100.0), (7.0, 300.0))
PUSH_DURATION = 0.1  # [s] (B V-A)
PUSH_POINT = (0.0, 0.0, 0.26)  # in the trunk: its centre of mass [m]
LONGEST_RUN = 20.0  # it must have fallen by then [s]
KP, KD = 1000.0, 30.0  # of every joint [Nm/rad, Nms/rad]
ARMATURE = 0.1  # rotor inertia as seen at each joint [kg m^2]


@dataclass(frozen=True, slots=True, eq=False)
class PushRecord:
    """What the sensors would read without noise, and the truth, at one rate."""

    pushes: Pushes
    time_s: Array  # since the robot was let go, shape (n,)
    force_I: Array  # specific force of the IMU [m/s^2], shape (n, 3)
    rate_I: Array  # angular velocity of the IMU [rad/s], shape (n, 3)
    q: Array  # joint positions [rad], shape (n, 12)
    v: Array  # joint velocities [rad/s], shape (n, 12)
    wrench_F: Array  # at each contact in its frame [N, Nm], shape (n, 2, 6)
    tilt_I: Array  # true vertical in the IMU frame, shape (n, 3)

    def noisy_imu(self, rng: Generator) -> tuple[Array, Array]:
        """Return specific force and angular velocity with the paper's white noise."""
        force = self.force_I + FORCE_NOISE * rng.standard_normal(self.force_I.shape)
        rate = self.rate_I + GYRO_NOISE * rng.standard_normal(self.rate_I.shape)
        return force, rate

    def lean(self) -> Array:
        """Return the angle between the trunk and the vertical [rad], shape (n,)."""
        angle: Array = np.arccos(np.clip(self.tilt_I[:, 2], -1.0, 1.0))
        return angle


def robot_config() -> RobotConfig:
    """Return IMU and contacts of the biped."""
    return RobotConfig(imu_frame=IMU, contacts=CONTACTS)


def simulate_push(pushes: Pushes = PUSHES) -> PushRecord:
    """Push the robot forwards until the top of the trunk reaches the ground.

    Raises:
        ConfigurationError: If the robot has not fallen in `LONGEST_RUN` seconds.
    """
    rotors = NominalFriction(joints=("*",), terms=("armature",), values=(ARMATURE,))
    config = SimulationConfig(
        robot=SimulatedRobotConfig(imu_frame=IMU, contacts=CONTACTS, nominal_friction=rotors),
        stance=StanceConfig(soles=SOLE * len(CONTACTS)),
        step=STEP,
        ground=GroundConfig(stiffness=STIFFNESS, damping=DAMPING),
        sensors=SensorConfig(rate=RATE),
    )
    point = np.array(PUSH_POINT)
    disturbances = [
        Push("trunk", np.array([force, 0.0, 0.0]), time, PUSH_DURATION, point) for time, force in pushes
    ]
    simulation = Simulation(config, biped_urdf(), disturbances)
    home = simulation.truth().q.copy()
    simulation.apply(np.zeros_like(home))
    begin_ns, period_ns = simulation.stamp_ns, round(NANOSECONDS / RATE)
    rows: list[tuple[Array, ...]] = []
    height, time = HEAD, 0.0
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
        simulation.apply(KP * (home - truth.q) - KD * truth.v)
        if time > LONGEST_RUN:
            raise ConfigurationError(f"the biped still stands after {time:g} s: the pushes are too weak")
        height = float(truth.base.p_WB[2] + R_WB[2, 2] * HEAD)
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    return PushRecord(pushes, *columns)
