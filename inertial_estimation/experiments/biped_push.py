"""A standing biped under two pushes, the second of which makes it fall: Benallegue et al., V-A.

Joints are held by a PD controller on the true joint states, so the motion does not depend on the sensors'
noise: it is simulated once, without noise, and every seed adds its own to the readings of the IMU.
"""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.experiments.biped import CONTACTS, HEAD, IMU, SOLE, biped_urdf
from inertial_estimation.experiments.experiment import Progress
from inertial_estimation.models.robot_config import RobotConfig
from inertial_estimation.models.stance_config import StanceConfig
from inertial_estimation.signals import NANOSECONDS, Array, seconds
from inertial_estimation.simulation.disturbances import Push
from inertial_estimation.simulation.simulation import Simulation
from inertial_estimation.simulation.simulation_config import (
    ActuatorConfig,
    GroundConfig,
    SensorConfig,
    SimulationConfig,
)
from inertial_estimation.spatial.rotations import rotation_from_quaternion

RATE = 500.0  # of all sensors and of the PD controller [Hz]
STEP = 0.0005  # of the simulation [s]
GYRO_NOISE = 0.02  # standard deviation per sample [rad/s] (B V-A)
FORCE_NOISE = 0.5  # standard deviation per sample [m/s^2] (B V-A)
STIFFNESS, DAMPING = 1e5, 1e3  # of each of the four corners of a foot [N/m, Ns/m] (B V-A)
PUSHES = ((4.0, 100.0), (14.0, 300.0))  # time [s] and force [N] (B V-A)
PUSH_DURATION = 0.1  # [s] (B V-A)
PUSH_POINT = (0.0, 0.0, 0.26)  # in the trunk: its centre of mass [m]
LONGEST_RUN = 20.0  # it must have fallen by then [s]
KP, KD = 1000.0, 30.0  # of every joint [Nm/rad, Nms/rad]
ARMATURE = 0.1  # rotor inertia as seen at each joint [kg m^2]


@dataclass(frozen=True, slots=True, eq=False)
class PushRecord:
    """What the sensors would read without noise, and the truth, at one rate.

    Attributes:
        time_s: Time since the robot was let go [s], shape (n,).
        force_I: Specific force of the IMU [m/s^2], shape (n, 3).
        rate_I: Angular velocity of the IMU [rad/s], shape (n, 3).
        q: Joint positions [rad], shape (n, 12).
        v: Joint velocities [rad/s], shape (n, 12).
        wrench_F: Wrench at each contact in its frame [N, Nm], shape (n, 2, 6).
        tilt_I: True vertical in the IMU frame, shape (n, 3).
        height: Height of the top of the trunk [m], shape (n,).
    """

    time_s: Array
    force_I: Array
    rate_I: Array
    q: Array
    v: Array
    wrench_F: Array
    tilt_I: Array
    height: Array

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


def simulate_push(progress: Progress, direction: tuple[float, float] = (1.0, 0.0)) -> PushRecord:
    """Simulate until the top of the trunk reaches the ground.

    Args:
        progress: Called with the share that is done.
        direction: Of the pushes in the horizontal plane, unit norm; forwards by default.

    Returns:
        The record.

    Raises:
        ConfigurationError: If the robot has not fallen in `LONGEST_RUN` seconds.
    """
    config = SimulationConfig(
        robot=robot_config(),
        stance=StanceConfig(soles=SOLE * len(CONTACTS)),
        step=STEP,
        ground=GroundConfig(stiffness=STIFFNESS, damping=DAMPING),
        actuators=ActuatorConfig(armature=ARMATURE),
        sensors=SensorConfig(rate=RATE),
    )
    push = [
        Push("trunk", np.array([*direction, 0.0]) * force, time, PUSH_DURATION, np.array(PUSH_POINT))
        for time, force in PUSHES
    ]
    return _run(Simulation(config, biped_urdf(), push), progress)


def _run(simulation: Simulation, progress: Progress) -> PushRecord:
    home = simulation.truth().q.copy()
    simulation.apply(np.zeros_like(home))
    begin_ns, period_ns = simulation.stamp_ns, round(NANOSECONDS / RATE)
    rows: list[tuple[Array, ...]] = []
    while True:
        readings = simulation.advance(period_ns)[-1]
        truth = simulation.truth()
        time = seconds(simulation.stamp_ns - begin_ns)
        R_WB = rotation_from_quaternion(truth.base.quaternion_xyzw)
        imu = readings.imu
        assert imu is not None
        height = float(truth.base.p_WB[2] + R_WB[2, 2] * HEAD)
        wrenches = np.stack([readings.wrenches[name].wrench_F for name in CONTACTS])
        now = (np.array(time), imu.specific_force_I, imu.angular_rate_I, truth.q, truth.v, wrenches)
        rows.append((*now, R_WB[2], np.array(height)))
        simulation.apply(KP * (home - truth.q) - KD * truth.v)
        if len(rows) % 500 == 0:
            progress("simulation", time / LONGEST_RUN)
        if height < 0.0:
            return PushRecord(*(np.array(column) for column in zip(*rows, strict=True)))
        if time > LONGEST_RUN:
            raise ConfigurationError(
                f"the biped still stands after {LONGEST_RUN:g} s: the pushes are too weak"
            )
