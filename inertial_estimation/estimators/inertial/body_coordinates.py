"""Coordinates of the bodies in the state of an inertial filter."""

from abc import ABC, abstractmethod

import numpy as np

from inertial_estimation.compilation import Column, MutableColumn, MutableTable, Table, compiled
from inertial_estimation.estimators.inertial.coordinate_limits import CoordinateLimits
from inertial_estimation.estimators.inertial.filter_values import FilterState
from inertial_estimation.estimators.inertial.linearisation import BodyLinearisation, linearised_at
from inertial_estimation.models.body_reference import BodyReference
from inertial_estimation.models.inertia_posterior import InertiaPosterior
from inertial_estimation.signals import Array


class BodyCoordinates(ABC):
    """Maps a state to the inertial parameters of its bodies; friction follows the bodies unchanged.

    Attributes:
        bodies: The bodies, in the order of the state.
        linear: Whether the parameters are linear in the coordinates.
        curved_map: How they depend on these where they are not: whether by Foster's convention, else by
            Rucker's, and the limits of the coordinates.
    """

    linear = False
    curved_map: tuple[bool, CoordinateLimits] | None = None

    def __init__(self, bodies: tuple[BodyReference, ...], friction: Array) -> None:
        """Find the nominal state.

        Args:
            bodies: The bodies.
            friction: Nominal friction parameters, shape (n_friction,).
        """
        self.bodies = bodies
        self._n_inertial = 10 * len(bodies)
        self._x_nominal = np.concatenate([*(self._coordinates(body.nominal_C) for body in bodies), friction])
        self._to_joint = np.array([body.to_joint for body in bodies]).reshape(-1, 10)

    @abstractmethod
    def _coordinates(self, pi_C: Array) -> Array:
        """Return the coordinates of one body from its parameters in C, shape (10,)."""

    @abstractmethod
    def _body_map(self, coordinates: Array) -> tuple[Array, Array]:
        """Return parameters in C (n, 10) and their Jacobians (n, 10, 10) of coordinates (n, 10)."""

    @abstractmethod
    def posterior_of(self, x: Array, P: Array) -> InertiaPosterior:
        """Return the distribution of the parameters about the link frames, of a state and its covariance."""

    def masses_of(self, x: Array) -> Array:
        """Return the mass of every body in a state [kg], shape (n_bodies,)."""
        masses: Array = self.parameters_at(self.body_coordinates(x))[:, 0]
        return masses

    def parameters_at(self, coordinates: Array) -> Array:
        """Return the parameters in C of bodies with given coordinates, shape (k, 10) both."""
        return self._body_map(coordinates)[0]

    def parameters_in(self, state: FilterState) -> Array:
        """Return the parameters in C of every body in a state, shape (n_bodies, 10); they are not changed."""
        if state.parameters is not None:
            return state.parameters[1]
        return self.parameters_at(self.body_coordinates(state.x))

    def touches_bound(self, x: Array) -> bool:
        """Return whether a coordinate is at the bound of what floating point can tell from inconsistent."""
        return False

    def parameters_of(self, x: Array, P: Array) -> tuple[Array, Array]:
        """Return the parameters in C (n, 10) and their covariances (n, 10, 10) of a state and covariance."""
        pi_C, G = self._body_map(self.body_coordinates(x))
        covariance_C = np.empty((len(self.bodies), 10, 10))
        jacobians = np.ascontiguousarray(G).reshape(-1, 10)
        _body_covariances(jacobians, np.ascontiguousarray(P), covariance_C.reshape(-1, 10))
        return pi_C, covariance_C

    def _curvature(self, x: Array, slope_pi: Array) -> Array:
        """Return the second derivatives of slope_pi' pi by the coordinates of each body, (n, 10, 10)."""
        return np.zeros((len(self.bodies), 10, 10))

    def bounded(self, x: Array) -> Array:
        """Limit the state to parameters that floating point can distinguish from inconsistent ones."""
        return x

    def body_coordinates(self, x: Array) -> Array:
        """Return the coordinates of the bodies in a state, shape (n_bodies, 10)."""
        coordinates: Array = x[: self._n_inertial].reshape(-1, 10)
        return coordinates

    def _linearisation(self, x: Array) -> BodyLinearisation:
        pi_C, G = self._body_map(self.body_coordinates(x))
        pi_C, G, n = np.ascontiguousarray(pi_C), np.ascontiguousarray(G), len(x)
        phi, dphi = np.empty(n), np.empty((n, n))
        _fill_about_joints(self._to_joint, pi_C, G.reshape(-1, 10), x, phi, dphi)
        return linearised_at(x, pi_C, G, phi, dphi)


@compiled
def _fill_about_joints(
    to_joint: Table, pi_C: Table, G: Table, x: Column, phi: MutableColumn, dphi: MutableTable
) -> None:
    """Write the parameters about the joint frames, friction last, and their Jacobian by the state.

    Args:
        to_joint: Maps of the parameters in C of k bodies, one below the other, shape (10 k, 10).
        pi_C: Parameters in C, shape (k, 10).
        G: Their Jacobians by the coordinates, one below the other, shape (10 k, 10).
        x: State, shape (n,).
        phi: Shape (n,); written.
        dphi: Block diagonal, shape (n, n); written.
    """
    phi[:] = x
    dphi[:] = np.eye(len(x))
    for i in range(len(pi_C)):
        rows = slice(10 * i, 10 * i + 10)
        phi[rows] = to_joint[rows] @ pi_C[i]
        dphi[rows, rows] = to_joint[rows] @ G[rows]


@compiled
def _body_covariances(G: Table, P: Table, out: MutableTable) -> None:
    """Write G P_b G' of the block P_b of every body; G and the results one below the other, (10 n, 10)."""
    for begin in range(0, len(G), 10):
        rows = slice(begin, begin + 10)
        block = np.ascontiguousarray(P[rows, rows])
        out[rows] = G[rows] @ block @ G[rows].T
