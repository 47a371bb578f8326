"""Joint torques of the environment by the momentum observer: no acceleration, no inverse of the mass matrix.

With p = M(q) v, p' = C'v - g + S'tau + J'f, and the residual

    r = K (p - p(0) - int (C'v - g + S'tau + r) dt)

follows J'f with one pole: r' = K (J'f - r). Source: De Luca and Mattone, "Sensorless robot collision
detection and hybrid force/motion control" (2005), eq. (8); De Luca et al., "Collision detection and safe
reaction with the DLR-III lightweight manipulator arm" (2006), for a fixed base.

A floating base needs neither its velocity nor its tilt nor its angular acceleration: by the principle of
equivalence the equations hold in the frame that moves with a point of the base, the IMU, and does not turn.
In it that point is at rest, and gravity less its acceleration is a uniform field -f, with f the proper
acceleration that the accelerometer senses. So v = (v_B, w, q'), with v_B = -w x p_BI the velocity of the
base's origin and w the gyroscope's rate, and g is the inverse dynamics of f. Only the joints' rows are used.
Those of a limb contain the inertias of that limb alone: neither the trunk's mass nor a load on it has an
effect.
"""

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from inertial_estimation.errors import ConfigurationError, MeasurementError
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array


@dataclass(frozen=True, slots=True, eq=False)
class BaseFrameMotion:
    """Motion of a floating base as an IMU senses it, in the axes of the base.

    Attributes:
        proper_acceleration_B: That of the IMU: one g upwards at rest [m/s^2], shape (3,).
        w_WB_B: Angular velocity [rad/s], shape (3,).
        v_B: Velocity of the origin of the base relative to the IMU, in axes that do not turn [m/s], shape
            (3,): -w x p_BI for an IMU on the base, zero at its origin.
    """

    proper_acceleration_B: Array
    w_WB_B: Array
    v_B: Array


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
        """Begin anew; until the next update the residual is zero."""
        self._integral = None
        self._residual = np.zeros(self._robot.n_joints)

    def update(self, q: Array, v: Array, tau: Array, dt: float, base: BaseFrameMotion | None = None) -> Array:
        """Take the readings at the end of one step.

        The step is implicit in r, hence stable for any gain: r = K (p - p(0) - I - beta dt) / (1 + K dt). The
        first update takes the momentum for constant, r = -beta.

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
        K, beta = self._gain, rate + tau
        if self._integral is None:
            self._residual = -beta
            self._integral = momentum + beta / K
            return self._residual
        if not 0.0 < dt < np.inf:
            raise MeasurementError(f"a step of the momentum observer takes {dt:g} s, expected above 0")
        self._integral = self._integral + dt * beta
        self._residual = K * (momentum - self._integral) / (1.0 + K * dt)
        self._integral = self._integral + dt * self._residual
        return self._residual

    def _momentum(self, q: Array, v: Array, base: BaseFrameMotion | None) -> tuple[Array, Array]:
        """Return the joints' rows of M v and of C'v - g, shape (n_joints,) each."""
        n = self._robot.n_base
        model, data = self._model, self._data
        configuration = self._robot.configuration(q)
        velocity, acceleration = self._v, self._a
        velocity[n:] = v
        if base is not None:
            velocity[:3], velocity[3:6] = base.v_B, base.w_WB_B
            acceleration[:3] = base.proper_acceleration_B
        M = pin.crba(model, data, configuration)
        momentum: Array = M[n:] @ velocity + self._armature * v
        C = pin.computeCoriolisMatrix(model, data, configuration, velocity)
        turned = C[n:] @ velocity + velocity @ C[:, n:]  # M' = C + C'
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
