"""The sensors of a simulated robot: ideal readings of an instant, then noise, bias, delay and losses."""

from collections import deque
from typing import Any

import mujoco
import numpy as np
from numpy.random import default_rng

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.signals import Array, ImuSample, JointReading, WrenchSample
from inertial_estimation.simulation.ground_truth import SensorReadings
from inertial_estimation.simulation.robot_physics import RobotPhysics
from inertial_estimation.simulation.simulation_config import SimulationConfig, period_in_steps, step_ns
from inertial_estimation.spatial.rotations import skew
from inertial_estimation.spatial.vectors import Vector, add, cross, vector

__all__ = ["IdealSensors", "SensorSuite"]


class IdealSensors:
    """What perfect sensors read at the present instant of a robot's physics."""

    def __init__(self, physics: RobotPhysics, config: SimulationConfig) -> None:
        self._physics = physics
        self._at_motor = config.sensors.effort == "motor"
        model = physics.robot.model
        self._imu: tuple[int, Array, Vector] | None = None
        self._twist, self._acceleration = np.zeros(6), np.zeros(6)
        if config.robot.imu_frame:
            frame = model.frames[physics.robot.frame_id(config.robot.imu_frame)]
            T_BI = frame.placement
            self._imu = (physics.built.bodies[frame.parentJoint], T_BI.rotation, vector(T_BI.translation))
        self._contacts = []
        for contact, where, points_C in zip(
            physics.contacts, physics.point_slices, physics.points_C, strict=True
        ):
            frame = model.frames[physics.robot.frame_id(contact.wrench_frame)]
            body, R_BC = physics.built.bodies[frame.parentJoint], frame.placement.rotation
            resultant = np.hstack([np.vstack([np.eye(3), skew(p)]) for p in points_C])
            self._contacts.append((contact.name, where, body, R_BC, resultant))

    @property
    def has_imu(self) -> bool:
        """Whether the robot has an IMU."""
        return self._imu is not None

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints."""
        return self._physics.robot.joint_names

    def imu(self) -> tuple[Array, Array]:
        """Return specific force [m/s^2] and angular rate [rad/s], IMU frame, shape (3,) each."""
        assert self._imu is not None
        body, R_BI, lever = self._imu
        model, data = self._physics.model, self._physics.data
        mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_XBODY, body, self._twist, 1)
        mujoco.mj_objectAcceleration(model, data, mujoco.mjtObj.mjOBJ_XBODY, body, self._acceleration, 1)
        w, alpha = vector(self._twist[:3]), vector(self._acceleration[:3])
        turning = add(cross(alpha, lever), cross(w, cross(w, lever)))
        return (self._acceleration[3:] + turning) @ R_BI, self._twist[:3] @ R_BI

    def joints(self) -> tuple[Array, Array, Array]:
        """Return joint positions [rad], velocities [rad/s] and torques [Nm]."""
        physics = self._physics
        return physics.q, physics.v, physics.actuators.tau if self._at_motor else physics.tau_link

    def wrenches(self, forces_W: Array) -> dict[str, Array]:
        """Return the wrench at each contact, in its wrench frame [N, Nm], shape (6,).

        Args:
            forces_W: Forces of the ground on the contact points [N], shape (n, 3).
        """
        found = {}
        xmat = self._physics.data.xmat
        for name, where, body, R_BC, resultant in self._contacts:
            forces_C = forces_W[where] @ (xmat[body].reshape(3, 3) @ R_BC)
            found[name] = resultant @ forces_C.ravel()
        return found


class SensorSuite:
    """Measures at every step at which a reading has to be true, and hands out what has arrived."""

    def __init__(self, ideal: IdealSensors, config: SimulationConfig) -> None:
        self._ideal, self._noise = ideal, config.sensors.noise
        self._rng = default_rng(config.sensors.seed)
        self.period = period_in_steps(config)
        self._step_ns = step_ns(config)
        self._delays = {kind: self._steps(kind, config) for kind in ("imu", "joint", "wrench")}
        self._waiting: dict[str, deque[Any]] = {kind: deque() for kind in self._delays}

    def due(self, step: int) -> bool:
        """Whether any sensor measures at a step, counted from the beginning."""
        return any((step + delay) % self.period == 0 for delay in self._delays.values())

    def measure(self, step: int, stamp_ns: int, forces_W: Array) -> None:
        """Measure the present instant with the sensors that are due.

        Args:
            step: Steps since the beginning.
            stamp_ns: Time of the instant [ns].
            forces_W: Forces of the ground on the contact points [N], shape (n, 3).
        """
        for kind, delay in self._delays.items():
            if (step + delay) % self.period:
                continue
            stamp = stamp_ns + delay * self._step_ns
            reading = {"imu": self._imu, "joint": self._joints, "wrench": self._wrenches}[kind](
                stamp, forces_W
            )
            self._waiting[kind].append((stamp, reading))

    def arrived(self, stamp_ns: int) -> SensorReadings | None:
        """Return what arrives at a stamp; None if nothing is due."""
        found = {kind: self._pop(kind, stamp_ns) for kind in self._waiting}
        if all(value is None for value in found.values()):
            return None
        return SensorReadings(stamp_ns, found["imu"], found["joint"], found["wrench"] or {})

    def _pop(self, kind: str, stamp_ns: int) -> Any:
        queue = self._waiting[kind]
        return queue.popleft()[1] if queue and queue[0][0] <= stamp_ns else None

    def _steps(self, kind: str, config: SimulationConfig) -> int:
        delay: float = getattr(config.sensors.noise, f"{kind}_delay_s")
        steps = round(delay / config.step)
        if abs(steps * config.step - delay) > 1e-9:
            raise ConfigurationError(
                f"sensors.{kind}_delay_s is {delay:g} s, expected a multiple of the step, {config.step:g} s"
            )
        return steps

    def _kept(self) -> bool:
        return bool(self._rng.uniform() >= self._noise.dropped)

    def _white(self, sigma: float, size: int) -> Array:
        return sigma * self._rng.standard_normal(size)

    def _imu(self, stamp: int, _forces_W: Array) -> ImuSample | None:
        if not self._ideal.has_imu:
            return None
        noise = self._noise
        f, w = self._ideal.imu()
        f = f + np.array(noise.specific_force_bias) + self._white(noise.specific_force, 3)
        w = w + np.array(noise.angular_rate_bias) + self._white(noise.angular_rate, 3)
        return ImuSample(stamp, f, w) if self._kept() else None

    def _joints(self, stamp: int, _forces_W: Array) -> JointReading | None:
        noise = self._noise
        q, v, tau = self._ideal.joints()
        q = q + self._white(noise.position, len(q))
        v = v + self._white(noise.velocity, len(v))
        tau = tau + self._white(noise.effort, len(tau))
        names = self._ideal.joint_names
        return JointReading(stamp, names, q, v, tau) if self._kept() else None

    def _wrenches(self, stamp: int, forces_W: Array) -> dict[str, WrenchSample]:
        found = {}
        for name, wrench in self._ideal.wrenches(forces_W).items():
            force = wrench[:3] + self._white(self._noise.force, 3)
            torque = wrench[3:] + self._white(self._noise.torque, 3)
            if self._kept():
                found[name] = WrenchSample(stamp, np.concatenate([force, torque]))
        return found
