"""Readings of ideal sensors at the current state of a simulated robot."""

import mujoco
import numpy as np

from inertial_estimation.signals import Array
from inertial_estimation.simulation.robot_physics import RobotPhysics
from inertial_estimation.simulation.simulation_config import SimulationConfig
from inertial_estimation.spatial.rotations import skew
from inertial_estimation.spatial.vectors import Vector, add, cross, vector


class TrueReadings:
    """Ideal sensors of a robot's physics."""

    def __init__(self, physics: RobotPhysics, config: SimulationConfig) -> None:
        self._physics = physics
        self._at_motor = config.sensors.effort_at == "motor"
        model = physics.robot.model
        self._imu: tuple[int, Array, Vector] | None = None
        self._twist, self._acceleration = np.zeros(6), np.zeros(6)
        if physics.imu is not None:
            T_BI = physics.imu.T_JI
            body = physics.built.bodies[physics.imu.joint_id]
            self._imu = (body, T_BI.rotation, vector(T_BI.translation))
        self._contacts = []
        for patch in physics.patches:
            frame = model.frames[physics.robot.frame_id(patch.wrench_frame)]
            body, R_BF = physics.built.bodies[frame.parentJoint], frame.placement.rotation
            resultant = np.hstack([np.vstack([np.eye(3), skew(p)]) for p in patch.points_F])
            self._contacts.append((patch.name, patch.where, body, R_BF, resultant))

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
        for name, where, body, R_BF, resultant in self._contacts:
            forces_F = forces_W[where] @ (xmat[body].reshape(3, 3) @ R_BF)
            found[name] = resultant @ forces_F.ravel()
        return found
