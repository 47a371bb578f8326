"""Sensors of a simulated robot: ideal readings, errors of the sensors, and times of arrival."""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
from numpy.random import Generator, default_rng

from inertial_estimation.models.imu import ImuMount
from inertial_estimation.models.robot_config import JointCorrections
from inertial_estimation.signals import Array, ImuSample, JointReading, WrenchSample
from inertial_estimation.simulation.config import SensorNoise, SimulationConfig
from inertial_estimation.simulation.physics import RobotPhysics
from inertial_estimation.spatial.rotations import Vector, add, cross, skew, vector


@dataclass(frozen=True, eq=False)
class SensorReadings:
    """Readings that arrive at one stamp; lost ones are None or absent."""

    stamp_ns: int  # the stamp of all of them [ns]
    imu: ImuSample | None  # reading of the IMU; None without one
    joints: JointReading | None  # positions, velocities and torques
    wrenches: Mapping[str, WrenchSample]  # by contact


class SensorErrors:
    """Adds the errors of sensors to true values of one instant, or of n instants along the first axis.

    The generator advances by the same number of samples for any standard deviations.
    """

    def __init__(self, noise: SensorNoise, corrections: JointCorrections, rng: Generator) -> None:
        """Set biases and noise, the joint corrections that undo the errors, and the random generator."""
        self._noise, self._corrections, self._rng = noise, corrections, rng
        self._bias = np.array([noise.specific_force_bias, noise.angular_rate_bias])

    def imu(self, f_I: Array, w_I: Array) -> tuple[Array, Array]:
        """Return measured specific force [m/s^2] and angular rate [rad/s], shape (..., 3) each."""
        f = self._white(f_I + self._bias[0], self._noise.specific_force)
        return f, self._white(w_I + self._bias[1], self._noise.angular_rate)

    def joints(self, q: Array, v: Array, tau: Array) -> tuple[Array, Array, Array]:
        """Return measured positions [rad], velocities [rad/s] and efforts [Nm]."""
        noise, corrections = self._noise, self._corrections
        q = self._white(q - corrections.offset, noise.position)
        v = self._white(v, noise.velocity)
        return q, v, self._white(tau / corrections.gain, noise.effort)

    def wrench(self, wrench: Array) -> Array:
        """Return a measured wrench [N, Nm], shape (..., 6)."""
        force = self._white(wrench[..., :3], self._noise.force)
        return np.concatenate([force, self._white(wrench[..., 3:], self._noise.torque)], axis=-1)

    def arrive(self, n: int) -> list[bool]:
        """Return which of n messages are not lost."""
        kept: list[bool] = (self._rng.random(n) >= self._noise.dropped).tolist()
        return kept

    def _white(self, values: Array, sigma: float) -> Array:
        return values + sigma * self._rng.standard_normal(values.shape)


class TrueReadings:
    """Ideal sensors of a robot's physics, at its current state."""

    def __init__(self, physics: RobotPhysics, effort_at: str) -> None:
        """Find the sensors of a robot; its torque is sensed at the "link" or at the "motor"."""
        self._physics, self._at_motor = physics, effort_at == "motor"
        self._imu = None if physics.imu is None else _mounted(physics, physics.imu)
        self._contacts = []
        for patch in physics.patches:
            frame = physics.robot.model.frames[physics.robot.frame_id(patch.wrench_frame)]
            body, R_BF = physics.built.bodies[frame.parentJoint], frame.placement.rotation
            resultant = np.hstack([np.vstack([np.eye(3), skew(p)]) for p in patch.points_F])
            self._contacts.append((patch.name, patch.where, body, R_BF, resultant))

    def imu(self) -> tuple[Array, Array] | None:
        """Return specific force [m/s^2] and angular rate [rad/s], IMU frame, shape (3,); None without IMU."""
        if self._imu is None:
            return None
        model, data, (body, R_BI, lever) = self._physics.model, self._physics.data, self._imu
        twist, acceleration = np.zeros((2, 6))
        mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_XBODY, body, twist, 1)
        mujoco.mj_objectAcceleration(model, data, mujoco.mjtObj.mjOBJ_XBODY, body, acceleration, 1)
        w, alpha = vector(twist[:3]), vector(acceleration[:3])
        turning = add(cross(alpha, lever), cross(w, cross(w, lever)))
        return (acceleration[3:] + turning) @ R_BI, twist[:3] @ R_BI

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


def _mounted(physics: RobotPhysics, mount: ImuMount) -> tuple[int, Array, Vector]:
    """Return the body of an IMU, and its orientation and position in it."""
    T_BI = mount.T_JI
    return physics.built.bodies[mount.joint_id], T_BI.rotation.copy(), vector(T_BI.translation)


class SensorSuite:
    """Measures at the step to which a reading refers, and delivers it after its delay.

    Readings arrive every `period` steps, all of one stamp together. A reading delayed by d steps was measured
    d steps before its stamp; before the beginning the robot was at rest.

    Attributes:
        period: Steps from one reading to the next.
    """

    def __init__(
        self,
        true: TrueReadings,
        joint_names: tuple[str, ...],
        config: SimulationConfig,
        corrections: JointCorrections,
    ) -> None:
        """Set rate, delays and errors, seeded by the configuration.

        Raises:
            ~inertial_estimation.errors.ConfigurationError: If period or delays are no whole number of steps.
        """
        noise = config.sensors.noise
        self._true, self._names, self._step_ns = true, joint_names, config.step_ns
        self._errors = SensorErrors(noise, corrections, default_rng(config.seed))
        self.period = config.in_steps("sensors.rate", 1.0 / config.sensors.rate)
        measures = {"imu": self._imu, "joint": self._joints, "wrench": self._wrenches}
        delays = {kind: f"{kind}_delay_s" for kind in measures}
        # The order determines that of the noise samples.
        self._queues: list[tuple[int, Callable[[int, Array], Any], deque[Any]]] = [
            (config.in_steps(f"sensors.{delays[kind]}", getattr(noise, delays[kind])), measure, deque())
            for kind, measure in measures.items()
        ]

    def begin(self, forces_W: Array) -> None:
        """Measure the robot at rest, for readings that arrive before the first delayed measurement.

        Args:
            forces_W: Forces of the ground on the contact points [N], shape (n, 3).
        """
        for delay, measure, queue in self._queues:
            for arrival in range(self.period, delay + 1, self.period):
                queue.append(measure(arrival * self._step_ns, forces_W))

    def measure(self, step: int, instant: Callable[[], Array]) -> None:
        """Measure with the sensors that are due at a step since the beginning.

        Args:
            step: Steps since the beginning.
            instant: Computes the accelerations of the current state, and returns the forces of the ground on
                the contact points [N], shape (n, 3).
        """
        for delay, measure, queue in self._queues:
            if (step + delay) % self.period == 0:
                queue.append(measure((step + delay) * self._step_ns, instant()))

    def arrived(self, step: int) -> SensorReadings | None:
        """Return the readings that arrive at a step; None between two stamps."""
        if step % self.period:
            return None
        imu, joints, wrenches = (queue.popleft() for _, _, queue in self._queues)
        return SensorReadings(step * self._step_ns, imu, joints, wrenches)

    def _imu(self, stamp_ns: int, _forces_W: Array) -> ImuSample | None:
        true = self._true.imu()
        if true is None:
            return None
        sample = ImuSample(stamp_ns, *self._errors.imu(*true))
        return sample if self._arrives() else None

    def _joints(self, stamp_ns: int, _forces_W: Array) -> JointReading | None:
        reading = JointReading(stamp_ns, self._names, *self._errors.joints(*self._true.joints()))
        return reading if self._arrives() else None

    def _wrenches(self, stamp_ns: int, forces_W: Array) -> dict[str, WrenchSample]:
        found = {}
        for name, wrench in self._true.wrenches(forces_W).items():
            sample = WrenchSample(stamp_ns, self._errors.wrench(wrench))
            if self._arrives():
                found[name] = sample
        return found

    def _arrives(self) -> bool:
        return self._errors.arrive(1)[0]
