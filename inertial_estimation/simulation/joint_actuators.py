"""What lies between a torque command and the links: limits, lag, rotor inertia, friction, end stops."""

import numpy as np

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array
from inertial_estimation.simulation.simulation_config import ActuatorConfig

__all__ = ["JointActuators"]

STOP_DAMPING = 0.02  # of an end stop: this times its stiffness [s]
STANCE_MARGIN = 1e-3  # [rad]


class JointActuators:
    """The actuators of all joints, in the robot's order.

    The torque on the links is tau - d(v) v' - stop, d(v) = viscous + coulomb tanh(v / v_s) / v: friction and
    stops are taken with the velocity v' at the end of the step, which makes them part of the inertia on the
    left, M + rotor + h d + h^2 k.

    Attributes:
        tau: Motor torques now [Nm], shape (n_joints,).
    """

    def __init__(self, robot: RobotModel, config: ActuatorConfig, step: float) -> None:
        model = robot.model
        n, n_base = robot.n_joints, robot.n_base
        self._config, self._h = config, step
        self._names = robot.joint_names
        first = 2 if robot.floating_base else 1
        bounded = np.array([model.nqs[j] == 1 for j in range(first, model.njoints)], dtype=bool)
        address = [model.idx_qs[j] for j in range(first, model.njoints)]
        lower, upper = model.lowerPositionLimit[address], model.upperPositionLimit[address]
        bounded &= upper > lower
        self._lower = np.where(bounded, lower, -np.inf)
        self._upper = np.where(bounded, upper, np.inf)
        effort = np.array(model.effortLimit[n_base:])
        limited = config.torque_limit_scale > 0.0
        self._limit = np.where(limited & (effort > 0.0), effort * config.torque_limit_scale, np.inf)
        urdf = float(config.urdf_friction)
        self._viscous = config.viscous + urdf * np.array(model.damping[n_base:])
        self._coulomb = config.coulomb + urdf * np.array(model.friction[n_base:])
        self._frictionless = not (self._viscous.any() or self._coulomb.any())
        self._command = np.zeros(n)
        self.tau = np.zeros(n)
        self._blend = 1.0 if config.lag == 0.0 else 1.0 - float(np.exp(-step / config.lag))

    def check_stance(self, q: Array) -> None:
        """Refuse a home posture beyond the end stops.

        Raises:
            ConfigurationError: Naming the joints.
        """
        if self._config.stop_stiffness == 0.0:
            return
        over = np.flatnonzero((q < self._lower - STANCE_MARGIN) | (q > self._upper + STANCE_MARGIN))
        if len(over):
            found = ", ".join(
                f"{self._names[i]} at {q[i]:g} (limits {self._lower[i]:g} to {self._upper[i]:g})"
                for i in over
            )
            raise ConfigurationError(
                f"the stance is beyond the joints' limits: {found}; expected stance.positions within them, or "
                "actuators.stop_stiffness 0"
            )

    def reset(self) -> None:
        """Forget commands."""
        self._command[:] = 0.0
        self.tau = np.zeros_like(self._command)

    def command(self, tau: Array) -> None:
        """Take the torques to apply from now on [Nm], shape (n_joints,)."""
        self._command = np.clip(tau, -self._limit, self._limit)

    def start_from(self, tau: Array) -> None:
        """Let the lag begin at these torques [Nm], shape (n_joints,)."""
        self.tau = np.clip(tau, -self._limit, self._limit)

    def step(self) -> None:
        """Advance the lag by one step."""
        self.tau = self.tau + self._blend * (self._command - self.tau)

    def inertia(self, q: Array, v: Array) -> Array:
        """Return rotor inertia plus what friction and stops add to the left side [kg m^2], shape (n,)."""
        inertia = np.full(len(q), self._config.armature)
        if not self._frictionless:
            inertia += self._h * self._friction(v)
        over = self._beyond(q)
        if over is not None:
            k = self._config.stop_stiffness * (over != 0.0)
            inertia += (self._h * STOP_DAMPING + self._h**2) * k
        return inertia

    def force(self, q: Array, v: Array) -> Array:
        """Return motor torques less friction and stops with the velocity now [Nm], shape (n_joints,)."""
        force = self.tau
        if not self._frictionless:
            force = force - self._friction(v) * v
        over = self._beyond(q)
        if over is not None:
            k = self._config.stop_stiffness
            force = force - k * over - k * (STOP_DAMPING + self._h) * v * (over != 0.0)
        return force

    def _friction(self, v: Array) -> Array:
        v_s = self._config.coulomb_speed
        ratio = np.abs(v) / v_s
        shape = np.where(ratio > 1e-6, np.tanh(ratio) / np.maximum(ratio, 1e-6), 1.0)
        friction: Array = self._viscous + self._coulomb / v_s * shape
        return friction

    def _beyond(self, q: Array) -> Array | None:
        if self._config.stop_stiffness == 0.0:
            return None
        over: Array = q - np.minimum(np.maximum(q, self._lower), self._upper)
        return over if over.any() else None
