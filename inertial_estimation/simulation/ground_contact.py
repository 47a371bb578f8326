"""Compliant contact of points with the ground: spring-dampers along the normal, friction across.

A point p at depth d below the ground, the normal n outwards, feels

    f_n = max(0, K d + D d')            no adhesion, nothing above the ground,
    f_t = -K (p - anchor)_t - D v_t     while |f_t| <= mu f_n; else mu f_n along it, and the anchor follows.

K and D are the same across as along, so a sticking point is an isotropic spring-damper. A step of length h
takes the forces at its end (backward Euler, `friction_modes`), so light feet on stiff ground are stable at a
step of 1 ms. Read off at an instant, the forces are the law above.
"""

from typing import Any

import numpy as np

from inertial_estimation.signals import Array
from inertial_estimation.simulation.contact_points import ContactPoints
from inertial_estimation.simulation.friction_modes import end_of_step_forces, friction_cone_forces
from inertial_estimation.simulation.simulation_config import GroundConfig


class GroundContact:
    """The forces of the ground on contact points, with the anchors of the touching points.

    Attributes:
        points: The contact points.
        stiffness: Stiffness of each point [N/m].
    """

    def __init__(self, points: ContactPoints, config: GroundConfig) -> None:
        """Start with every anchor at the origin; `anchor_here` moves them to the points.

        Args:
            points: The contact points.
            config: Stiffness, damping, friction.
        """
        n = len(points)
        self.points = points
        self.stiffness = config.stiffness
        self._damping, self._mu = config.damping, config.friction
        self._anchor_W = np.zeros((n, 3))
        self._slip_force = np.zeros((n, 2))
        self._slipping = np.zeros(n, dtype=bool)

    def anchor_here(self) -> None:
        """Set every anchor to the position of its point."""
        self._anchor_W[:] = self.points.position_W
        self._slipping[:] = False

    def follow(self, data: Any) -> None:
        """Move the anchors of free points with the points, and drag those of slipping points."""
        points = self.points
        free = points.depth <= 0.0
        if any(free.tolist()):
            self._anchor_W[free] = points.position_W[free]
        if not any(self._slipping.tolist()):
            return
        slips = self._slipping[points.near] & ~free[points.near]
        way = np.zeros((len(points.near), 3))
        way[:, :2] = self._slip_force[points.near] + self._damping * points.velocity(data)[:, :2]
        moved = points.near[slips]
        self._anchor_W[moved] = points.position_W[moved] + points.in_world(way)[slips] / self.stiffness

    def resting_forces(self) -> Array:
        """Return the spring forces on the near points of a robot at rest [N], shape (m, 3)."""
        springs = self._springs()
        springs[self.points.depth[self.points.near] <= 0.0] = 0.0
        return springs

    def forces(self, data: Any) -> Array:
        """Return the forces on the near points at this instant, in ground axes [N], shape (m, 3)."""
        trial = self._springs() - self._damping * self.points.velocity(data)
        return friction_cone_forces(trial, self.points.depth[self.points.near] > 0.0, self._mu)

    def in_world(self, force: Array) -> Array:
        """Return forces on all points in world axes [N], shape (n, 3), of those on the near, shape (m, 3)."""
        found = np.zeros((len(self.points), 3))
        found[self.points.near] = self.points.in_world(force)
        return found

    def end_of_step_forces(self, h: float, u: Array, u_free: Array, A: Array) -> Array:
        """Return the forces on the near points over a step of length h, by the contact law at its end.

        Args:
            h: Step [s].
            u: Velocities of the near points now [m/s], shape (3 m,).
            u_free: Their velocities at the end of the step without contact [m/s], shape (3 m,).
            A: J M^-1 J', shape (3 m, 3 m).

        Returns:
            Forces [N], shape (3 m,).
        """
        self._slipping[:] = False
        near = self.points.near
        depth = self.points.depth[near]
        candidates = depth > 0.0
        if not all(candidates.tolist()):  # some may touch before the end of the step
            candidates |= depth - h * np.minimum(u[2::3], u_free[2::3]) > 0.0
        if not any(candidates.tolist()):
            return np.zeros(len(u))
        b = self._damping + h * self.stiffness
        right = self._springs().ravel() - b * u_free
        force, slips = end_of_step_forces(h * b * A, right, candidates, self._mu)
        if any(slips.tolist()):
            self._slipping[near] = slips
            self._slip_force[near] = force.reshape(-1, 3)[:, :2]
        return force

    def _springs(self) -> Array:
        """K times depth along the normal, minus K times the displacement from the anchor, shape (m, 3)."""
        springs: Array = -self.stiffness * self.points.displacement(self._anchor_W)
        springs[:, 2] = self.stiffness * self.points.depth[self.points.near]
        return springs
