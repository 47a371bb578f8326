"""Sensors of a simulated robot: what ideal ones read, their noise, and when readings arrive."""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
from numpy.random import default_rng

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.models.robot_config import JointCorrections
from inertial_estimation.signals import Array, ImuSample, JointReading, WrenchSample
from inertial_estimation.simulation.config import (
    SensorConfig,
    SimulationConfig,
    period_in_steps,
    step_ns,
)
from inertial_estimation.simulation.physics import RobotPhysics
from inertial_estimation.spatial.rotations import Vector, add, cross, skew, vector


@dataclass(frozen=True, eq=False)
class SensorReadings:
    """Readings that arrive at one stamp; lost ones are None or absent.

    Attributes:
        stamp_ns: The stamp of all of them [ns].
        imu: Reading of the IMU; None without one.
        joints: Positions, velocities and torques.
        wrenches: By contact.
    """

    stamp_ns: int
    imu: ImuSample | None
    joints: JointReading | None
    wrenches: Mapping[str, WrenchSample]


class TrueReadings:
    """Ideal sensors of a robot's physics, at its current state.

    Attributes:
        has_imu: Whether the robot has an IMU.
    """

    def __init__(self, physics: RobotPhysics, config: SimulationConfig) -> None:
        """Find the sensors of a robot."""
        self._physics = physics
        self._at_motor = config.sensors.effort_at == "motor"
        self.has_imu = physics.imu is not None
        if physics.imu is not None:
            T_BI = physics.imu.T_JI
            self._imu_body = physics.built.bodies[physics.imu.joint_id]
            self._R_BI, self._lever = T_BI.rotation, vector(T_BI.translation)
        self._contacts = []
        for patch in physics.patches:
            frame = physics.robot.model.frames[physics.robot.frame_id(patch.wrench_frame)]
            body, R_BF = physics.built.bodies[frame.parentJoint], frame.placement.rotation
            resultant = np.hstack([np.vstack([np.eye(3), skew(p)]) for p in patch.points_F])
            self._contacts.append((patch.name, patch.where, body, R_BF, resultant))

    def imu(self) -> tuple[Array, Array]:
        """Return specific force [m/s^2] and angular rate [rad/s], IMU frame, shape (3,) each."""
        model, data, body = self._physics.model, self._physics.data, self._imu_body
        twist, acceleration = np.zeros((2, 6))
        mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_XBODY, body, twist, 1)
        mujoco.mj_objectAcceleration(model, data, mujoco.mjtObj.mjOBJ_XBODY, body, acceleration, 1)
        w, alpha = vector(twist[:3]), vector(acceleration[:3])
        lever: Vector = self._lever
        turning = add(cross(alpha, lever), cross(w, cross(w, lever)))
        return (acceleration[3:] + turning) @ self._R_BI, twist[:3] @ self._R_BI

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
        for name, where, body, R_BF, resultant in self._contacts:
            forces_F = forces_W[where] @ (xmat[body].reshape(3, 3) @ R_BF)
            found[name] = resultant @ forces_F.ravel()
        return found


class NoisySensors:
    """Reads the current state; the random generator advances equally for any standard deviations."""

    def __init__(
        self,
        true: TrueReadings,
        joint_names: tuple[str, ...],
        config: SensorConfig,
        corrections: JointCorrections,
        seed: int,
    ) -> None:
        """Seed the noise.

        Args:
            true: Source of the true readings.
            joint_names: Names of the joints.
            config: Noise.
            corrections: Offsets and gains that a reader has to correct: the readings are without.
            seed: Seed of noise and lost messages.

        Raises:
            ConfigurationError: If a bias does not have three values.
        """
        noise = config.noise
        self._true, self._names, self._corrections = true, joint_names, corrections
        self._dropped = noise.dropped
        self._rng = default_rng(seed)
        for name in ("specific_force_bias", "angular_rate_bias"):
            if len(getattr(noise, name)) != 3:
                count = len(getattr(noise, name))
                raise ConfigurationError(f"sensors.{name} has {count} values, expected three")
        self._imu_bias = np.array([noise.specific_force_bias, noise.angular_rate_bias])
        self._imu_sigma = np.array([[noise.specific_force], [noise.angular_rate]])
        self._joint_sigma = np.array([[noise.position], [noise.velocity], [noise.effort]])
        self._wrench_sigma = np.repeat([noise.force, noise.torque], 3)

    def imu(self, stamp_ns: int, _forces_W: Array) -> ImuSample | None:
        """Return a reading of the IMU with a stamp [ns]; None if it is lost or there is no IMU."""
        if not self._true.has_imu:
            return None
        error = self._imu_bias + self._imu_sigma * self._rng.standard_normal((2, 3))
        f, w = self._true.imu()
        return ImuSample(stamp_ns, f + error[0], w + error[1]) if self._arrives() else None

    def joints(self, stamp_ns: int, _forces_W: Array) -> JointReading | None:
        """Return a reading of the joints with a stamp [ns]; None if it is lost."""
        error = self._joint_sigma * self._rng.standard_normal((3, len(self._names)))
        q, v, tau = self._true.joints()
        q, tau = q - self._corrections.offset, tau / self._corrections.gain
        if not self._arrives():
            return None
        return JointReading(stamp_ns, self._names, q + error[0], v + error[1], tau + error[2])

    def wrenches(self, stamp_ns: int, forces_W: Array) -> dict[str, WrenchSample]:
        """Return readings of force sensors with a stamp, those that are not lost, by contact.

        Args:
            stamp_ns: Stamp [ns].
            forces_W: Forces of the ground on the contact points [N], shape (n, 3).
        """
        found = {}
        for name, wrench in self._true.wrenches(forces_W).items():
            error = self._wrench_sigma * self._rng.standard_normal(6)
            if self._arrives():
                found[name] = WrenchSample(stamp_ns, wrench + error)
        return found

    def _arrives(self) -> bool:
        return self._rng.random() >= self._dropped


class SensorSuite:
    """Measures at the step to which a reading refers, and delivers it after its delay.

    Readings arrive every `period` steps, all of one stamp together. One delayed by d steps was measured d
    steps before; before the beginning the robot was at rest.

    Attributes:
        period: Steps from one reading to the next.
    """

    def __init__(self, sensors: NoisySensors, config: SimulationConfig) -> None:
        """Set rate and delays.

        Args:
            sensors: The sensors.
            config: Rate and delays.

        Raises:
            ConfigurationError: If period or delays are not a whole number of steps.
        """
        self.period = period_in_steps(config)
        self._start_ns, self._step_ns = config.start_ns, step_ns(config)
        measures = {"imu": sensors.imu, "joint": sensors.joints, "wrench": sensors.wrenches}
        # The order determines that of the noise samples.
        self._queues: list[tuple[int, Callable[[int, Array], Any], deque[Any]]] = [
            (_delay_in_steps(kind, config), measure, deque()) for kind, measure in measures.items()
        ]
        self._due = {-delay % self.period for delay, _, _ in self._queues}

    def begin(self, forces_W: Array) -> None:
        """Measure the robot at rest, for readings that arrive before the first delayed measurement.

        Args:
            forces_W: Forces of the ground on the contact points [N], shape (n, 3).
        """
        for delay, measure, queue in self._queues:
            for arrival in range(self.period, delay + 1, self.period):
                queue.append(measure(self._stamp(arrival), forces_W))

    def due(self, step: int) -> bool:
        """Return whether any sensor measures at a step, counted from the beginning."""
        return step % self.period in self._due

    def measure(self, step: int, forces_W: Array) -> None:
        """Measure the current state with the sensors that are due.

        Args:
            step: Steps since the beginning.
            forces_W: Forces of the ground on the contact points [N], shape (n, 3).
        """
        for delay, measure, queue in self._queues:
            if (step + delay) % self.period == 0:
                queue.append(measure(self._stamp(step + delay), forces_W))

    def arrived(self, step: int) -> SensorReadings | None:
        """Return the readings that arrive at a step; None between two stamps."""
        if step % self.period:
            return None
        imu, joints, wrenches = (queue.popleft() for _, _, queue in self._queues)
        return SensorReadings(self._stamp(step), imu, joints, wrenches)

    def _stamp(self, step: int) -> int:
        return self._start_ns + step * self._step_ns


def _delay_in_steps(kind: str, config: SimulationConfig) -> int:
    delay: float = getattr(config.sensors.noise, f"{kind}_delay_s")
    steps = round(delay / config.step)
    if abs(steps * config.step - delay) > 1e-9:
        raise ConfigurationError(
            f"sensors.{kind}_delay_s is {delay:g} s, expected a multiple of the step, {config.step:g} s"
        )
    return steps
