"""The rows of identification along a motion that is planned: same parameters, same rows, no measurements."""

import numpy as np
from numpy.random import Generator

from inertial_estimation.identification.excitation.design_robot import DesignRobot
from inertial_estimation.identification.excitation.information import BaseParameters, base_parameters
from inertial_estimation.identification.parameter_set import parameter_set
from inertial_estimation.models.dynamics_measurement import DynamicsMeasurement, DynamicsState, NoiseModel
from inertial_estimation.signals import Array

__all__ = ["DesignRows"]

STRUCTURE_STATES = 200  # random states that tell the base parameters
STEP = 1e-6  # of the one-sided differences in position, velocity, acceleration


class DesignRows:
    """Rows of the unknowns at states of the moving joints.

    Attributes:
        design: The robot and what of it moves.
        parameters: What the unknowns mean.
        row_names: Joints whose torque is measured.
        base: What motions of this kind can tell of the unknowns.
    """

    def __init__(
        self, design: DesignRobot, rng: Generator, *, static: bool, acceleration: float = 5.0
    ) -> None:
        """Find the base parameters.

        Args:
            design: The robot.
            rng: Source of the random states that tell the base parameters.
            static: Whether the robot rests in every state.
            acceleration: Spread of the accelerations of those states [rad/s^2].

        Raises:
            ~inertial_estimation.errors.ConfigurationError: If the parameters or rows do not fit the robot,
                or nothing can be excited.
        """
        self.design = design
        config, robot = design.config, design.robot
        self.parameters = parameter_set(config, robot)
        bodies, friction = self.parameters.bodies, self.parameters.friction
        self._measurement = DynamicsMeasurement(
            robot, bodies, config.rows.selection(), NoiseModel(), (), friction
        )
        self.row_names = self._measurement.row_names
        self._map = self.parameters.to_joint @ self.parameters.E
        self._moving = np.array(design.moving, dtype=int)
        limits, shape = design.limits, (STRUCTURE_STATES, len(self._moving))
        q = rng.uniform(limits.lower[self._moving], limits.upper[self._moving], shape)
        v = rng.uniform(-1.0, 1.0, shape) * limits.velocity[self._moving]
        a = rng.uniform(-1.0, 1.0, shape) * acceleration
        moves = 0.0 if static else 1.0
        self.base: BaseParameters = base_parameters(self.stacked(q, moves * v, moves * a))

    def full(self, moving: Array, rest: Array | None = None) -> Array:
        """Return values of all joints from those that move, the others at rest (zero unless given)."""
        values = np.zeros((len(moving), self.design.robot.n_joints))
        if rest is not None:
            values += rest
        values[:, self._moving] = moving
        return values

    def rows(self, q: Array, v: Array, a: Array) -> Array:
        """Return the rows of all unknowns.

        Args:
            q: Positions of the moving joints [rad], shape (k, n).
            v: Velocities [rad/s], shape (k, n).
            a: Accelerations [rad/s^2], shape (k, n).

        Returns:
            Shape (k, m, number of unknowns).
        """
        return self._raw(q, v, a) @ self._map

    def stacked(self, q: Array, v: Array, a: Array) -> Array:
        """Return the same rows one below the other, shape (k m, number of unknowns)."""
        rows = self.rows(q, v, a)
        return rows.reshape(-1, rows.shape[-1])

    def torques(self, q: Array, v: Array, a: Array) -> Array:
        """Return the torques of the measured rows with nominal parameters [Nm], shape (k, m)."""
        rows = self._measurement.rows(self._state(q, v, a))
        nominal = self.parameters.to_joint @ self.parameters.nominal
        torques: Array = rows.regressor @ nominal - rows.value
        return torques

    def gradient(self, q: Array, v: Array, a: Array, G: Array, *, static: bool = False) -> tuple[Array, ...]:
        """Return the derivative of f(M), M = A'A of the rows, by every state.

        df = tr(G dM) = 2 sum_k <A_k G, dA_k>; dA_k by one-sided differences of the rows.

        Args:
            q: Positions of the moving joints, shape (k, n).
            v: Velocities.
            a: Accelerations.
            G: df/dM, symmetric, shape (n, n) of all unknowns.
            static: Leave out velocities and accelerations.

        Returns:
            df/dq, and df/dv, df/da unless static, each of shape (k, n).
        """
        k, n = q.shape
        Y = self._raw(q, v, a)
        weights = 2.0 * (Y @ self._map) @ G @ self._map.T
        gradients = []
        for which in range(1 if static else 3):
            gradient = np.empty((k, n))
            for j in range(n):
                state = [q, v, a]
                state[which] = state[which].copy()
                state[which][:, j] += STEP
                gradient[:, j] = np.einsum("kmp,kmp->k", weights, self._raw(*state) - Y) / STEP
            gradients.append(gradient)
        return tuple(gradients)

    def _raw(self, q: Array, v: Array, a: Array) -> Array:
        return self._measurement.rows(self._state(q, v, a)).regressor

    def _state(self, q: Array, v: Array, a: Array) -> DynamicsState:
        return DynamicsState(self.full(q, self.design.home), self.full(v), self.full(a))
