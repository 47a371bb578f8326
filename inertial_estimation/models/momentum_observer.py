"""Joint torques of the environment by the momentum observer: no acceleration, no inverse of the mass matrix.

With p = M(q) q' of a robot on a fixed base, p' = C'q' - g + tau + J'f, and the residual

    r = K (p - p(0) - int (C'q' - g + tau + r) dt)

follows J'f with one pole: r' = K (J'f - r). Source: De Luca and Mattone, "Sensorless robot collision
detection and hybrid force/motion control" (2005), eq. (8); De Luca et al., "Collision detection and safe
reaction with the DLR-III lightweight manipulator arm" (2006).

A base that moves is a frame with proper acceleration f, rate w and angular acceleration w'; nothing else of
its motion enters the joints' rows. With b the torques of inverse dynamics at q'' = 0 in that frame (f
contains gravity) and the joints' block M of the mass matrix,

    p = M q',   p' = (C + C') q' + tau + J'f_ext - b,   since M' = C + C'.

On a fixed base b = C q' + g, which gives the equation above.
"""

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from inertial_estimation.errors import ConfigurationError, MeasurementError
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array

__all__ = ["BaseFrameMotion", "MomentumObserver"]


@dataclass(frozen=True, slots=True, eq=False)
class BaseFrameMotion:
    """Motion of a floating base as its IMU senses it, at the origin of the base, in its axes.

    Attributes:
        proper_acceleration_B: Acceleration less gravity: one g upwards at rest [m/s^2], shape (3,).
        w_WB_B: Angular velocity [rad/s], shape (3,).
        dw_WB_B: Angular acceleration [rad/s^2], shape (3,).
    """

    proper_acceleration_B: Array
    w_WB_B: Array
    dw_WB_B: Array


class MomentumObserver:
    """Estimates the joint torques that the environment adds to those of the drives."""

    def __init__(self, robot: RobotModel, *, gain: float = 100.0, armature: Array | None = None) -> None:
        """Prepare the models.

        Args:
            robot: The robot.
            gain: K [1/s]; the residual follows a step to 63 % in 1/K.
            armature: Rotor inertia seen at each joint [kg m^2], shape (n_joints,); None: zero.

        Raises:
            ConfigurationError: If the gain is not positive, or the armature has another shape.
        """
        if not 0.0 < gain < np.inf:
            raise ConfigurationError(f"the gain of a momentum observer is {gain:g} 1/s, expected above 0")
        self._armature = np.zeros(robot.n_joints) if armature is None else np.array(armature, dtype=float)
        if self._armature.shape != (robot.n_joints,):
            raise ConfigurationError(
                f"the armature has shape {self._armature.shape}, expected one value for each of the "
                f"{robot.n_joints} joints"
            )
        self._robot = robot
        self._gain = gain
        self._model = robot.model.copy()
        if robot.floating_base:
            self._model.gravity = pin.Motion.Zero()  # the proper acceleration contains it
        self._data = self._model.createData()
        self._v = np.zeros(self._model.nv)
        self._a = np.zeros(self._model.nv)
        self._integral: Array | None = None
        self._residual = np.zeros(robot.n_joints)

    @property
    def residual(self) -> Array:
        """Torques of the environment r [Nm], shape (n_joints,); zero before the first update."""
        return self._residual

    def reset(self) -> None:
        """Begin anew, with a residual of zero."""
        self._integral = None
        self._residual = np.zeros(self._robot.n_joints)

    def update(self, q: Array, v: Array, tau: Array, dt: float, base: BaseFrameMotion | None = None) -> Array:
        """Take the readings at the end of one step.

        The step is implicit in r, hence stable for any gain: r = K (p - p(0) - I - beta dt) / (1 + K dt).

        Args:
            q: Joint positions in the model's order [rad], shape (n_joints,).
            v: Joint velocities [rad/s], shape (n_joints,).
            tau: Torques that act on the bodies: measured ones less friction [Nm], shape (n_joints,).
            dt: Time since the last update [s]; of the first update it is not used.
            base: Motion of a floating base; None for a fixed one.

        Returns:
            r [Nm], shape (n_joints,).

        Raises:
            MeasurementError: If a value is not finite, or the base's motion is missing or superfluous.
        """
        self._check(q, v, tau, base)
        momentum, rate = self._momentum(q, v, base)
        if self._integral is None:
            self._integral = momentum
            return self._residual
        if not 0.0 < dt < np.inf:
            raise MeasurementError(f"a step of the momentum observer takes {dt:g} s, expected above 0")
        self._integral = self._integral + dt * (rate + tau)
        K = self._gain
        self._residual = K * (momentum - self._integral) / (1.0 + K * dt)
        self._integral = self._integral + dt * self._residual
        return self._residual

    def _momentum(self, q: Array, v: Array, base: BaseFrameMotion | None) -> tuple[Array, Array]:
        """Return p and (C + C') q' - b, shape (n_joints,) each."""
        n = self._robot.n_base
        model, data = self._model, self._data
        configuration = self._robot.configuration(q)
        velocity, acceleration = self._v, self._a
        velocity[:n] = 0.0
        velocity[n:] = v
        M = pin.crba(model, data, configuration)[n:, n:]
        momentum: Array = M @ v + self._armature * v
        C = pin.computeCoriolisMatrix(model, data, configuration, velocity)[n:, n:]
        turned = (C + C.T) @ v
        if base is not None:
            velocity[3:6] = base.w_WB_B
            acceleration[:3], acceleration[3:6] = base.proper_acceleration_B, base.dw_WB_B
        bias = pin.rnea(model, data, configuration, velocity, acceleration)[n:]
        return momentum, turned - bias

    def _check(self, q: Array, v: Array, tau: Array, base: BaseFrameMotion | None) -> None:
        n = self._robot.n_joints
        for name, values in (("q", q), ("v", v), ("tau", tau)):
            if np.shape(values) != (n,) or not np.isfinite(values).all():
                raise MeasurementError(f"{name} is {values}, expected {n} finite numbers")
        if (base is not None) != self._robot.floating_base:
            kind = "floating" if self._robot.floating_base else "fixed"
            given = "a motion" if base is not None else "no motion"
            raise MeasurementError(f"the base is {kind}, but {given} of it is given")
