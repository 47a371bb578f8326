"""Actuators between a torque command and the links: motors, rotor inertia, friction, end stops."""

import numpy as np

from inertial_estimation.errors import ConfigurationError, listing
from inertial_estimation.models.friction import NominalFriction
from inertial_estimation.models.joint_limits import urdf_limits
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array
from inertial_estimation.simulation.config import ActuatorConfig

STOP_STIFFNESS = 1000.0  # of the end stops [Nm/rad]
STOP_DAMPING = 20.0  # of the end stops [Nms/rad]
STANCE_MARGIN = 1e-3  # tolerance of a stance beyond a limit, for rounded values in files [rad]


class JointActuators:
    """The actuators of all joints, in the robot's order.

    The torque on the links is

        tau_link = tau - offset - rotor a - d(v) v' - k (over + h v') - c v',    v' = v + h a,

    d(v) = viscous + coulomb tanh(|v| / v_s) / |v|; k and c are those of an end stop, which acts when the
    joint is `over` its limit in the URDF. Friction and stops use the velocity v' at the end of the step, so
    that the integration is stable however stiff they are. The factor of a is `inertia`, the remainder is
    `force`. A brake adds to d(v).

    Attributes:
        tau: Present torques of the motors [Nm], shape (n_joints,).
        brake: Damping of the brakes [Nms/rad]; 0: released.
        inertia: Inertia at each joint in addition to that of the links [kg m^2], shape (n_joints,).
    """

    def __init__(
        self, robot: RobotModel, config: ActuatorConfig, step: float, known: NominalFriction
    ) -> None:
        """Read the limits of the URDF.

        Args:
            robot: The robot.
            config: Parameters.
            step: Step of the integration [s].
            known: Friction and rotor inertia of the robot.
        """
        terms = ("viscous", "coulomb", "offset", "armature")
        self._viscous, self._coulomb, self._offset, self._rotor = (
            known.of_joints(term, robot) for term in terms
        )
        self._step, self._smoothing_speed = step, known.smoothing_speed
        self._has_friction = bool(self._viscous.any() or self._coulomb.any())
        limits = urdf_limits(robot)
        self._limit = (config.torque_limit_scale or np.inf) * limits.effort
        self._range = limits.lower, limits.upper
        self._resistance, self.inertia = self._offset, self._rotor  # resistance of offset, friction and stops
        self.release()

    def release(self) -> None:
        """Return to zero torque and zero command, without brakes."""
        self.tau, self._command = np.zeros((2, len(self._limit)))
        self.brake = 0.0

    def command(self, tau: Array) -> None:
        """Set the torques from the next step on [Nm], shape (n_joints,)."""
        self._command = np.clip(tau, -self._limit, self._limit)

    def advance(self) -> None:
        """Start a step: the last command becomes the torque of the motors."""
        self.tau = self._command

    def rest(self, tau_link: Array) -> None:
        """Set the motor torques from the link torques of a robot at rest [Nm], shape (n_joints,)."""
        self.tau = np.clip(tau_link + self._offset, -self._limit, self._limit)

    def evaluate(self, q: Array, v: Array) -> None:
        """Compute friction and end stops at joint positions [rad] and velocities [rad/s]."""
        lower, upper = self._range
        stopped = any(((q < lower) | (q > upper)).tolist())
        if not (stopped or self._has_friction or self.brake):
            self.inertia, self._resistance = self._rotor, self._offset
            return
        damping, stop_torque = np.full(len(v), self.brake), np.zeros(len(v))
        if self._has_friction:
            ratio = np.maximum(np.abs(v) / self._smoothing_speed, np.finfo(float).tiny)
            damping += self._viscous + self._coulomb / self._smoothing_speed * np.tanh(ratio) / ratio
        if stopped:
            excess = q - np.clip(q, lower, upper)
            damping += np.where(excess != 0.0, STOP_DAMPING + self._step * STOP_STIFFNESS, 0.0)
            stop_torque = STOP_STIFFNESS * excess
        self.inertia = self._rotor + self._step * damping
        self._resistance = damping * v + self._offset + stop_torque

    @property
    def force(self) -> Array:
        """Motor torques minus the current resistance of friction and stops [Nm], shape (n_joints,)."""
        return self.tau - self._resistance

    def on_links(self, a: Array) -> Array:
        """Return the torques on the links at joint accelerations a [rad/s^2], shape (n_joints,)."""
        return self.force - self.inertia * a


def check_stance(robot: RobotModel, q: Array) -> None:
    """Check that a home posture is within the end stops.

    Raises:
        ConfigurationError: If a joint is beyond its limits; the message names all such joints.
    """
    limits = urdf_limits(robot)
    lower, upper = limits.lower, limits.upper
    over = np.flatnonzero((q < lower - STANCE_MARGIN) | (q > upper + STANCE_MARGIN))
    if len(over):
        names = robot.joint_names
        found = [f"{names[i]} at {q[i]:g} (limits {lower[i]:g} to {upper[i]:g})" for i in over]
        raise ConfigurationError(
            f"the stance is beyond the joints' limits: {listing(found)}; expected stance.positions within "
            "them"
        )
