"""What lies between a torque command and the links: limits, lag, rotor inertia, friction, end stops."""

import numpy as np

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.models.friction import NominalFriction
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array
from inertial_estimation.simulation.simulation_config import ActuatorConfig

__all__ = ["JointActuators"]

STOP_DAMPING = 0.02  # of an end stop: this times its stiffness [s]
STANCE_MARGIN = 1e-3  # [rad]
SLOWEST = 1e-6  # of the ratio of a speed to that of Coulomb's sign change


class JointActuators:
    """The actuators of all joints, in the robot's order.

    The torque on the links is

        tau_link = tau - offset - rotor a - d(v) v' - k (over + h v') - c v',    v' = v + h a,

    d(v) = viscous + coulomb tanh(|v| / v_s) / |v|; k and c are an end stop's, felt when the joint is `over`
    its limit. Friction and stops take the velocity v' at the end of the step: stable, however stiff. What
    multiplies a is the `inertia` beside the links' own, the rest is the `force`.

    Attributes:
        tau: Motor torques now [Nm], shape (n_joints,).
        inertia: [kg m^2], shape (n_joints,).
    """

    def __init__(
        self, robot: RobotModel, config: ActuatorConfig, step: float, known: NominalFriction | None = None
    ) -> None:
        """Read limits and friction of the URDF.

        Args:
            robot: The robot.
            config: Parameters.
            step: Step of the integration [s].
            known: Friction the robot is known to have, added to that of `config`; its smoothing speed then
                holds for all.
        """
        known = known or NominalFriction()
        rubs = known.by_joint(robot)
        self._coulomb_speed = known.smoothing_speed if known.joints else config.coulomb_speed
        self._offset = rubs["offset"]
        model, n_base = robot.model, robot.n_base
        self._config, self._h = config, step
        self._names = robot.joint_names
        joints = range(model.njoints - robot.n_joints, model.njoints)
        address = [model.idx_qs[j] for j in joints]
        lower, upper = model.lowerPositionLimit[address], model.upperPositionLimit[address]
        bounded = np.array([model.nqs[j] == 1 for j in joints], dtype=bool) & (upper > lower)
        self._lower = np.where(bounded, lower, -np.inf)
        self._upper = np.where(bounded, upper, np.inf)
        effort = np.array(model.effortLimit[n_base:])
        limited = (config.torque_limit_scale > 0.0) & (effort > 0.0)
        self.limit = np.where(limited, effort * config.torque_limit_scale, np.inf)
        urdf = float(config.urdf_friction)
        self._viscous = config.viscous + rubs["viscous"] + urdf * np.array(model.damping[n_base:])
        self._coulomb = config.coulomb + rubs["coulomb"] + urdf * np.array(model.friction[n_base:])
        self._rubs = bool(self._viscous.any() or self._coulomb.any())
        self._blend = 1.0 if config.lag == 0.0 else 1.0 - float(np.exp(-step / config.lag))
        self._rotor = config.armature + rubs["armature"]
        self._nothing = np.zeros(robot.n_joints)
        self._held = self._offset  # by friction and stops, at the velocity now [Nm]
        self.inertia = self._rotor
        self.reset()

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
                f"the stance is beyond the joints' limits: {found}; expected stance.positions within them, "
                "or actuators.stop_stiffness 0"
            )

    def reset(self) -> None:
        """Forget the commands."""
        self._command = np.zeros(len(self._names))
        self.tau = np.zeros(len(self._names))

    def command(self, tau: Array) -> None:
        """Take the torques to apply from now on [Nm], shape (n_joints,)."""
        self._command = np.minimum(np.maximum(tau, -self.limit), self.limit)

    def rest(self, tau_link: Array) -> None:
        """Give what a robot at rest needs on its links [Nm], shape (n_joints,); the lag begins there."""
        self.tau = np.minimum(np.maximum(tau_link + self._offset, -self.limit), self.limit)

    def advance(self) -> None:
        """Let the motors follow their commands for one step."""
        if self._blend == 1.0:
            self.tau = self._command
        else:
            self.tau = self.tau + self._blend * (self._command - self.tau)

    def look(self, q: Array, v: Array) -> None:
        """Find friction and stops at a state.

        Args:
            q: Joint positions [rad], shape (n_joints,).
            v: Joint velocities [rad/s], shape (n_joints,).
        """
        k = self._config.stop_stiffness
        stopped = k > 0.0 and any(((q < self._lower) | (q > self._upper)).tolist())
        if not (stopped or self._rubs):
            self.inertia, self._held = self._rotor, self._offset
            return
        drag = self._friction(v) if self._rubs else self._nothing
        if stopped:
            over = q - np.minimum(np.maximum(q, self._lower), self._upper)
            drag = drag + np.where(over != 0.0, k * (STOP_DAMPING + self._h), 0.0)
        self.inertia = self._rotor + self._h * drag
        self._held = drag * v + self._offset + (k * over if stopped else 0.0)

    @property
    def force(self) -> Array:
        """Motor torques less what friction and stops hold at the velocity now [Nm], shape (n_joints,)."""
        return self.tau - self._held

    def on_links(self, a: Array) -> Array:
        """Return the torques on the links at joint accelerations a [rad/s^2], shape (n_joints,)."""
        return self.force - self.inertia * a

    def _friction(self, v: Array) -> Array:
        v_s = self._coulomb_speed
        ratio = np.maximum(np.abs(v) / v_s, SLOWEST)
        friction: Array = self._viscous + self._coulomb / v_s * np.tanh(ratio) / ratio
        return friction
