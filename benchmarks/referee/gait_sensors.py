"""Readings of imperfect sensors of a legged robot in a synthetic gait."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import make_interp_spline

from benchmarks.referee.gait_motion import GaitMotion
from inertial_estimation.errors import ConfigurationError
from inertial_estimation.models.contacts import ContactView
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.models.predicted_forces import PredictedForces
from inertial_estimation.models.robot_config import RobotSetup
from inertial_estimation.recordings.recording import MemoryRecording, Sample
from inertial_estimation.signals import NANOSECONDS, Array, ImuSample, JointReading, PoseSample, WrenchSample
from inertial_estimation.spatial import linear_algebra
from inertial_estimation.spatial.rotations import quaternion_from_rotation
from inertial_estimation.synthetic.synthetic_sensors import (
    GROUND_TRUTH_TOPIC,
    IMU_TOPIC,
    JOINTS_TOPIC,
    recorded,
    wrench_topic,
)

START_NS = 1_700_000_000 * NANOSECONDS
TOLERANCE = 1e-7  # largest error of the feet's positions [m]
DIFFERENCE = 1e-5  # step of the central differences for Jacobians [rad]
ITERATIONS, REUSED = 40, 5  # iterations of Newton's method, and iterations with the same Jacobians
GRAVITY = np.array([0.0, 0.0, -STANDARD_GRAVITY])
FRICTION_SPEED = 0.02  # speed over which Coulomb friction changes sign [rad/s]
VIBRATION_DECAY = 0.05  # decay time of the IMU's vibration after a touchdown [s]


@dataclass(frozen=True)
class GaitSensors:
    """Imperfections of the sensors of a walking robot."""

    force_noise: float = 0.05  # standard deviation of every reading of the accelerometer [m/s^2]
    force_scale: float = 1.0  # factor of the accelerometer
    force_bias: float = 0.03  # standard deviation of its constant offset on each axis [m/s^2]
    rate_noise: float = 0.005  # standard deviation of every reading of the gyroscope [rad/s]
    rate_bias: float = 0.004  # standard deviation of its constant offset on each axis [rad/s]
    rate_scale: float = 0.003  # standard deviation of its scale factor error on each axis
    vibration: float = 0.0  # amplitude of the accelerometer's vibration after a touchdown [m/s^2]
    rate_vibration: float = 0.0  # amplitude of the gyroscope's vibration after a touchdown [rad/s]
    encoder_offset: float = 0.005  # standard deviation of constant offsets of the joints [rad]
    velocity_noise: float = 0.02  # standard deviation of every joint velocity [rad/s]
    wrench_noise: float = 0.01  # standard deviation of every contact force, over the robot's weight
    wrench_delay_s: float = 0.0  # delay of the contact forces [s]
    missing: float = 0.0  # share of the time in which the measured force of a contact is zero
    phantom: float = 0.0  # share of the time in which that of a foot in the air is a tenth of the weight
    effort_noise: float = 0.0  # standard deviation of joint torques, over the robot's weight [m]
    effort_friction: float = 0.0  # Coulomb friction of the joints, over the robot's weight [m]


@dataclass(frozen=True, eq=False)
class GaitReadings:
    """Readings of all sensors at common times, and the truth."""

    times_s: Array  # time [s], shape (n,)
    imu: Array  # specific force then angular rate, IMU frame, shape (n, 6)
    q: Array  # joint positions [rad], shape (n, n_joints)
    v: Array  # joint velocities [rad/s], shape (n, n_joints)
    tau: Array  # joint torques [Nm], shape (n, n_joints)
    wrenches: Array  # wrench of each contact in its wrench frame [N, Nm], shape (n, m, 6)
    forces: Array  # true vertical force at each contact [N], shape (n, m)
    up_I: Array  # the true vertical in the IMU frame, shape (n, 3)
    up_B: Array  # the true vertical in the base frame, shape (n, 3)
    orientation: Array  # true orientation of the base (x y z w), shape (n, 4)
    position: Array  # true position of the base [m], shape (n, 3)


def feet_at_rest(setup: RobotSetup, posture: Array) -> Array:
    """Return the positions of the contacts relative to the base in a posture [m], shape (m, 3)."""
    view = ContactView(setup.robot, setup.contacts, setup.imu)
    view.update(posture)
    return view.points_B


def gait_readings(
    setup: RobotSetup, posture: Array, motion: GaitMotion, sensors: GaitSensors, rng: np.random.Generator
) -> GaitReadings:
    """Read all sensors during a motion.

    Args:
        setup: Robot with an IMU that does not move relative to its base.
        posture: Joint positions at rest [rad], shape (n_joints,).
        motion: Motion of base and feet.
        sensors: Imperfections.
        rng: Random generator of the noise.

    Returns:
        The readings.

    Raises:
        ConfigurationError: If the robot has no IMU, or a foot cannot reach.
    """
    legs = _Legs(setup, posture)
    R_WB, t = motion.rotation, motion.times_s
    feet_B = np.einsum("nji,nmj->nmi", R_WB, motion.feet - motion.position[:, None, :])
    q, v, R_IF = legs.follow(t, feet_B)
    R_BI, p_BI = legs.view.R_BI, legs.view.p_BI
    R_WF = (R_WB @ R_BI)[:, None] @ R_IF
    weight = setup.robot.total_mass * STANDARD_GRAVITY
    wrenches = _wrenches(weight * _sensed_load(motion, sensors, rng), R_WF)
    rate = motion.rate
    spin = make_interp_spline(t, rate, k=5)(t, 1)
    lever = np.cross(spin, p_BI) + np.cross(rate, np.cross(rate, p_BI))
    proper = np.einsum("nji,nj->ni", R_WB, motion.acceleration - GRAVITY)
    imu = _imu_readings(np.hstack([(proper + lever) @ R_BI, rate @ R_BI]), motion, sensors, rng)
    a = make_interp_spline(t, v, k=5)(t, 1)
    forces = weight * motion.load
    pressed = _wrenches(forces, R_WF)
    tau = _torques(setup, (q, v, a), (proper, rate, spin), pressed)
    tau += weight * sensors.effort_friction * np.tanh(v / FRICTION_SPEED)
    q = q + sensors.encoder_offset * rng.standard_normal(q.shape[1])
    v = v + sensors.velocity_noise * rng.standard_normal(v.shape)
    tau += weight * sensors.effort_noise * rng.standard_normal(tau.shape)
    up_B = R_WB[:, 2, :]
    orientation = np.array([quaternion_from_rotation(R) for R in R_WB])
    return GaitReadings(t, imu, q, v, tau, wrenches, forces, up_B @ R_BI, up_B, orientation, motion.position)


def _torques(
    setup: RobotSetup, joints: tuple[Array, ...], base: tuple[Array, ...], wrenches_F: Array
) -> Array:
    """Return the torques on the links that produce a given motion [Nm], shape (n, n_joints)."""
    load, torques = PredictedForces(setup.robot, setup.contacts), np.empty_like(joints[0])
    for i, (q, v, a, f, w, dw) in enumerate(zip(*joints, *base, strict=True)):
        state = load.at(q, v, a, (f, w, dw))
        explained = np.einsum("cij,ci->j", state.jacobians, wrenches_F[i])
        torques[i] = (state.force - explained)[setup.robot.n_base :]
    return torques


def gait_recording(setup: RobotSetup, readings: GaitReadings) -> MemoryRecording:
    """Return readings as a recording with the topics of the nodes and the true pose of the base."""
    names, samples = setup.robot.joint_names, list[tuple[str, Sample]]()
    for k, stamp in enumerate((START_NS + np.round(NANOSECONDS * readings.times_s).astype(int)).tolist()):
        joints = JointReading(stamp, names, readings.q[k], readings.v[k], readings.tau[k])
        pose = PoseSample(stamp, readings.orientation[k], readings.position[k])
        samples.append((IMU_TOPIC, ImuSample(stamp, readings.imu[k, :3], readings.imu[k, 3:])))
        samples += [(JOINTS_TOPIC, joints), (GROUND_TRUTH_TOPIC, pose)]
        for name, wrench in zip(setup.contact_names, readings.wrenches[k], strict=True):
            samples.append((wrench_topic(name), WrenchSample(stamp, wrench)))
    return recorded(samples, "synthetic gait")


class _Legs:
    """Joint positions and velocities of given positions of the feet, by Newton's method."""

    def __init__(self, setup: RobotSetup, posture: Array) -> None:
        self.view = ContactView(setup.robot, setup.contacts, setup.imu)
        self._q = posture.copy()
        self._legs = np.array(self._joints_of_legs(posture))
        self._inverse = self._inverse_jacobians()

    def _feet(self, q: Array) -> Array:
        self.view.update(q)
        return self.view.points_B

    def _joints_of_legs(self, posture: Array) -> list[list[int]]:
        """Return the joints that move each contact."""
        bent = posture + 0.1
        feet, legs = self._feet(bent), [list[int]() for _ in self.view.points]
        for joint in range(len(posture)):
            moved = self._feet(bent + 0.1 * np.eye(len(posture))[joint]) - feet
            for leg, distance in zip(legs, np.linalg.norm(moved, axis=1), strict=True):
                if distance > 1e-9:
                    leg.append(joint)
        if any(len(leg) != 3 for leg in legs):
            raise ConfigurationError("a synthetic gait needs legs of three joints and point feet")
        return legs

    def follow(self, t: Array, feet_B: Array) -> tuple[Array, Array, Array]:
        """Solve for every sample; `feet_B` are the feet in the base frame [m], shape (n, m, 3).

        Returns:
            Positions and velocities of the joints, and orientations of the wrench frames in the IMU frame.
        """
        q = np.empty((len(t), len(self._q)))
        rotations = []
        for k in range(len(t)):
            self._solve(feet_B[k])
            q[k] = self._q
            self._q = 2.0 * q[k] - q[max(k - 1, 0)]
            rotations.append(self.view.rotations @ self.view.offsets)
        v: Array = make_interp_spline(t, q, k=5)(t, 1)
        return q, v, np.array(rotations)

    def _solve(self, feet_B: Array) -> None:
        """Iterate by Newton's method, with the inverse Jacobians of an earlier sample if they converge."""
        for iteration in range(ITERATIONS):
            left = feet_B - self._feet(self._q)
            if np.abs(left).max() < TOLERANCE:
                return
            if iteration % REUSED == REUSED - 1:
                self._inverse = self._inverse_jacobians()
            self._q = self._q.copy()
            self._q[self._legs] += np.einsum("mij,mj->mi", self._inverse, left)
        raise ConfigurationError(f"a foot cannot reach: off by {np.abs(left).max():.2e} m")

    def _inverse_jacobians(self) -> Array:
        """Return the maps from the velocity of each foot (base frame) to its joint rates, shape (m, 3, 3)."""
        J = np.empty((len(self._legs), 3, 3))
        for i in range(3):
            d = np.zeros_like(self._q)
            d[self._legs[:, i]] = DIFFERENCE
            J[:, :, i] = (self._feet(self._q + d) - self._feet(self._q - d)) / (2.0 * DIFFERENCE)
        return np.array([linear_algebra.inv(J_leg) for J_leg in J])


def _imu_readings(ideal: Array, motion: GaitMotion, sensors: GaitSensors, rng: np.random.Generator) -> Array:
    n = len(ideal)
    decay = np.exp(-motion.touchdowns / VIBRATION_DECAY)[:, None]
    force = ideal[:, :3] + sensors.vibration * decay * rng.standard_normal((n, 3))
    rate = ideal[:, 3:] + sensors.rate_vibration * decay * rng.standard_normal((n, 3))
    force = sensors.force_scale * force + sensors.force_bias * rng.standard_normal(3)
    rate = rate * (
        1.0 + sensors.rate_scale * rng.standard_normal(3)
    ) + sensors.rate_bias * rng.standard_normal(3)
    force = force + sensors.force_noise * rng.standard_normal((n, 3))
    return np.hstack([force, rate + sensors.rate_noise * rng.standard_normal((n, 3))])


def _sensed_load(motion: GaitMotion, sensors: GaitSensors, rng: np.random.Generator) -> Array:
    """Return the vertical forces over the weight with the errors of their sensors, shape (n, m)."""
    n, m = motion.load.shape
    h = float(motion.times_s[1] - motion.times_s[0])
    load = motion.load * np.where(_episodes(sensors.missing, n, m, h, rng), 0.0, 1.0)
    load = load + np.where(_episodes(sensors.phantom, n, m, h, rng) & (motion.load <= 0.0), 0.1, 0.0)
    late = round(sensors.wrench_delay_s / h)
    load = np.vstack([np.repeat(load[:1], late, axis=0), load[: n - late]])
    return load + sensors.wrench_noise * rng.standard_normal((n, m))


def _wrenches(forces: Array, R_WF: Array) -> Array:
    """Return vertical forces [N], shape (n, m), as wrenches in their wrench frames, shape (n, m, 6)."""
    return np.concatenate((forces[:, :, None] * R_WF[:, :, 2, :], np.zeros((*forces.shape, 3))), axis=2)


def _episodes(share: float, n: int, m: int, h: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return flags of episodes of 60 ms that cover a share of the time, shape (n, m)."""
    length = max(1, round(0.06 / h))
    blocks = rng.uniform(size=(n // length + 1, m)) < share
    episodes: NDArray[np.bool_] = np.repeat(blocks, length, axis=0)[:n]
    return episodes
