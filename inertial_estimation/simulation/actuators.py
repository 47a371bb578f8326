"""Actuators between a torque command and the links: motors, rotor inertia, friction, end stops."""

import numpy as np

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.models.friction import NominalFriction
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array
from inertial_estimation.simulation.config import ActuatorConfig

SMALLEST_SPEED_RATIO = 1e-6  # to the smoothing speed; there tanh(x) / x is one
DAMPING_TIME = 0.02  # damping of an end stop over its stiffness [s]
STANCE_MARGIN = 1e-3  # by which a stance may exceed a limit, for rounded values in files [rad]


class Motors:
    """The motors of all joints, in the robot's order.

    Attributes:
        tau: Torques now [Nm], shape (n_joints,).
    """

    def __init__(self, robot: RobotModel, config: ActuatorConfig, step: float) -> None:
        """Read the effort limits of the URDF; the step is that of the integration [s]."""
        effort = np.array(robot.model.effortLimit[robot.n_base :])
        limited = (config.torque_limit_scale > 0.0) & (effort > 0.0)
        self._limit: Array = np.where(limited, effort * config.torque_limit_scale, np.inf)
        self._blend = 1.0 if config.lag == 0.0 else 1.0 - float(np.exp(-step / config.lag))
        self.reset()

    def reset(self) -> None:
        """Return to zero torque and zero command."""
        self.tau, self._command = np.zeros((2, len(self._limit)))

    def command(self, tau: Array) -> None:
        """Set the commanded torques [Nm], shape (n_joints,)."""
        self._command = np.clip(tau, -self._limit, self._limit)

    def set_torque(self, tau: Array) -> None:
        """Set the current torques, the state of the lag, within the limits [Nm], shape (n_joints,)."""
        self.tau = np.clip(tau, -self._limit, self._limit)

    def advance(self) -> None:
        """Advance the lag by one step."""
        if self._blend == 1.0:
            self.tau = self._command
        else:
            self.tau = self.tau + self._blend * (self._command - self.tau)


class EndStops:
    """The end stops of all joints, in the robot's order, at the position limits of the URDF.

    Attributes:
        stiffness: Stiffness [Nm/rad]; zero for no end stops.
    """

    def __init__(self, robot: RobotModel, stiffness: float) -> None:
        """Read the limits."""
        model = robot.model
        joints = range(model.njoints - robot.n_joints, model.njoints)
        address = [model.idx_qs[j] for j in joints]
        lower, upper = model.lowerPositionLimit[address], model.upperPositionLimit[address]
        bounded = np.array([model.nqs[j] == 1 for j in joints], dtype=bool) & (upper > lower)
        bounded &= stiffness > 0.0
        self._names, self.stiffness = robot.joint_names, stiffness
        self._lower = np.where(bounded, lower, -np.inf)
        self._upper = np.where(bounded, upper, np.inf)

    def check_stance(self, q: Array) -> None:
        """Raise for a home posture beyond the end stops.

        Raises:
            ConfigurationError: Naming the joints.
        """
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
        if not any(((q < self._lower) | (q > self._upper)).tolist()):
            return None
        excess: Array = q - np.clip(q, self._lower, self._upper)
        return excess


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
        self, robot: RobotModel, config: ActuatorConfig, step: float, known: NominalFriction
    ) -> None:
        """Read the limits of the URDF.

        Args:
            robot: The robot.
            config: Parameters.
            step: Step of the integration [s].
            known: Friction and rotor inertia of the robot.
        """
        terms = {t: known.of_joints(t, robot) for t in ("viscous", "coulomb", "offset", "armature")}
        self.motors = Motors(robot, config, step)
        self.stops = EndStops(robot, config.stop_stiffness)
        self.brake = 0.0
        self._smoothing_speed = known.smoothing_speed
        self._viscous = terms["viscous"]
        self._coulomb = terms["coulomb"]
        self._rubs = bool(self._viscous.any() or self._coulomb.any())
        self._step, self._offset = step, terms["offset"]
        self._rotor = terms["armature"]
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
        if excess is None and not self._rubs and not self.brake:
            self.inertia, self._resistance = self._rotor, self._offset
            return
        damping, stop_torque = np.full(len(v), self.brake), np.zeros(len(v))
        if self._rubs:
            ratio = np.maximum(np.abs(v) / self._smoothing_speed, SMALLEST_SPEED_RATIO)
            damping += self._viscous + self._coulomb / self._smoothing_speed * np.tanh(ratio) / ratio
        if excess is not None:
            damping += np.where(excess != 0.0, self.stops.stiffness * (DAMPING_TIME + self._step), 0.0)
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
