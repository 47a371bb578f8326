"""Actuators between a torque command and the links: motors, rotor inertia, friction, end stops."""

import numpy as np

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.models.friction import NominalFriction
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array
from inertial_estimation.simulation.simulation_config import ActuatorConfig


class Motors:
    """The motors of all joints, in the robot's order.

    Attributes:
        limit: Largest torques [Nm], infinite where there is no limit, shape (n_joints,).
        tau: Torques now [Nm], shape (n_joints,).
    """

    def __init__(self, robot: RobotModel, config: ActuatorConfig, step: float) -> None:
        """Read the effort limits of the URDF.

        Args:
            robot: The robot.
            config: Parameters.
            step: Step of the integration [s].
        """
        effort = np.array(robot.model.effortLimit[robot.n_base :])
        limited = (config.torque_limit_scale > 0.0) & (effort > 0.0)
        self.limit: Array = np.where(limited, effort * config.torque_limit_scale, np.inf)
        self._blend = 1.0 if config.lag == 0.0 else 1.0 - float(np.exp(-step / config.lag))
        self._command = np.zeros(robot.n_joints)
        self.tau = np.zeros(robot.n_joints)

    def reset(self) -> None:
        """Return to zero torque and zero command."""
        self._command = np.zeros_like(self._command)
        self.tau = np.zeros_like(self.tau)

    def command(self, tau: Array) -> None:
        """Set the commanded torques [Nm], shape (n_joints,)."""
        self._command = self._limited(tau)

    def set_torque(self, tau: Array) -> None:
        """Set the current torques, the state of the lag, within the limits [Nm], shape (n_joints,)."""
        self.tau = self._limited(tau)

    def advance(self) -> None:
        """Advance the lag by one step."""
        if self._blend == 1.0:
            self.tau = self._command
        else:
            self.tau = self.tau + self._blend * (self._command - self.tau)

    def _limited(self, tau: Array) -> Array:
        limited: Array = np.minimum(np.maximum(tau, -self.limit), self.limit)
        return limited


SMALLEST_SPEED_RATIO = 1e-6  # to the smoothing speed; there tanh(x) / x is one


class JointFriction:
    """Friction torques d(v) v of all joints, d(v) = viscous + coulomb tanh(|v| / v_s) / |v|.

    Attributes:
        present: Whether any joint has friction.
    """

    def __init__(self, robot: RobotModel, config: ActuatorConfig, known: NominalFriction) -> None:
        """Add the friction of the parameters, of the URDF and of the robot's known friction.

        Args:
            robot: The robot.
            config: Parameters.
            known: Friction the robot is known to have; its smoothing speed then holds for all.
        """
        model, n_base, known_terms = robot.model, robot.n_base, known.by_joint(robot)
        urdf = float(config.urdf_friction)
        self._speed = known.smoothing_speed if known.joints else config.coulomb_speed
        self._viscous = config.viscous + known_terms["viscous"] + urdf * np.array(model.damping[n_base:])
        self._coulomb = config.coulomb + known_terms["coulomb"] + urdf * np.array(model.friction[n_base:])
        self.present = bool(self._viscous.any() or self._coulomb.any())

    def damping(self, v: Array) -> Array:
        """Return d(v), the friction torque over the velocity [Nms/rad], shape (n_joints,).

        Args:
            v: Joint velocities [rad/s], shape (n_joints,).
        """
        ratio = np.maximum(np.abs(v) / self._speed, SMALLEST_SPEED_RATIO)
        damping: Array = self._viscous + self._coulomb / self._speed * np.tanh(ratio) / ratio
        return damping


DAMPING_TIME = 0.02  # damping of an end stop over its stiffness [s]
STANCE_MARGIN = 1e-3  # by which a stance may exceed a limit, for rounded values in files [rad]


class EndStops:
    """The end stops of all joints, in the robot's order.

    Attributes:
        stiffness: Stiffness [Nm/rad]; zero for no end stops.
    """

    def __init__(self, robot: RobotModel, stiffness: float) -> None:
        """Read the position limits of the URDF.

        Args:
            robot: The robot.
            stiffness: Stiffness [Nm/rad]; zero for no end stops.
        """
        model = robot.model
        joints = range(model.njoints - robot.n_joints, model.njoints)
        address = [model.idx_qs[j] for j in joints]
        lower, upper = model.lowerPositionLimit[address], model.upperPositionLimit[address]
        bounded = np.array([model.nqs[j] == 1 for j in joints], dtype=bool) & (upper > lower)
        self._names = robot.joint_names
        self._lower = np.where(bounded, lower, -np.inf)
        self._upper = np.where(bounded, upper, np.inf)
        self.stiffness = stiffness

    def check_stance(self, q: Array) -> None:
        """Raise for a home posture beyond the end stops.

        Raises:
            ConfigurationError: Naming the joints.
        """
        if self.stiffness == 0.0:
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

    def excess(self, q: Array) -> Array | None:
        """Return the excess of joints beyond their limits [rad], shape (n_joints,); None without any."""
        if self.stiffness == 0.0 or not any(((q < self._lower) | (q > self._upper)).tolist()):
            return None
        excess: Array = q - np.minimum(np.maximum(q, self._lower), self._upper)
        return excess

    def end_of_step_damping(self, step: float) -> float:
        """Return the equivalent damping of an implicit spring-damper step, c + h k [Nms/rad]."""
        return self.stiffness * (DAMPING_TIME + step)


class JointActuators:
    """The actuators of all joints, in the robot's order.

    The torque on the links is

        tau_link = tau - offset - rotor a - d(v) v' - k (over + h v') - c v',    v' = v + h a,

    d(v) = viscous + coulomb tanh(|v| / v_s) / |v|; k and c are an end stop's, felt when the joint is `over`
    its limit. Friction and stops take the velocity v' at the end of the step: stable, however stiff. What
    multiplies a is the `inertia` in addition to that of the links, the rest is the `force`. A brake adds to
    d(v).

    Attributes:
        motors: The motors.
        stops: The end stops.
        brake: Damping of the brakes [Nms/rad]; 0: released.
        inertia: Inertia at each joint in addition to that of the links [kg m^2], shape (n_joints,).
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
        known_terms = known.by_joint(robot)
        self.motors = Motors(robot, config, step)
        self.stops = EndStops(robot, config.stop_stiffness)
        self.brake = 0.0
        self._friction = JointFriction(robot, config, known)
        self._step = step
        self._offset = known_terms["offset"]
        self._rotor = config.armature + known_terms["armature"]
        self._no_damping = np.zeros(robot.n_joints)
        self._resistance = self._offset  # of friction and stops at the present velocity [Nm]
        self.inertia = self._rotor

    @property
    def tau(self) -> Array:
        """Current motor torques [Nm], shape (n_joints,)."""
        return self.motors.tau

    def rest(self, tau_link: Array) -> None:
        """Set the motor torques from the link torques of a robot at rest [Nm], shape (n_joints,)."""
        self.motors.set_torque(tau_link + self._offset)

    def evaluate(self, q: Array, v: Array) -> None:
        """Compute friction and end stops at a state.

        Args:
            q: Joint positions [rad], shape (n_joints,).
            v: Joint velocities [rad/s], shape (n_joints,).
        """
        excess = self.stops.excess(q)
        if excess is None and not self._friction.present and not self.brake:
            self.inertia, self._resistance = self._rotor, self._offset
            return
        damping = self._friction.damping(v) if self._friction.present else self._no_damping
        if self.brake:
            damping = damping + self.brake
        stop_torque: Array | float = 0.0
        if excess is not None:
            damping = damping + np.where(excess != 0.0, self.stops.end_of_step_damping(self._step), 0.0)
            stop_torque = self.stops.stiffness * excess
        self.inertia = self._rotor + self._step * damping
        self._resistance = damping * v + self._offset + stop_torque

    @property
    def force(self) -> Array:
        """Motor torques minus the current resistance of friction and stops [Nm], shape (n_joints,)."""
        return self.motors.tau - self._resistance

    def on_links(self, a: Array) -> Array:
        """Return the torques on the links at joint accelerations a [rad/s^2], shape (n_joints,)."""
        return self.force - self.inertia * a
