"""Contact forces the ground can give: friction pyramid, centre of pressure in the sole, spin friction."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from inertial_estimation.compilation import Column, MutableTable, Table, compiled, warm_up
from inertial_estimation.models.stance_config import StanceConfig, contact_points
from inertial_estimation.models.whole_body_dynamics import FrameMotion
from inertial_estimation.signals import Array

__all__ = ["Contact", "ContactMotion", "contact_motion", "make_contacts"]

PYRAMID_SHARE = 2.0**-0.5  # of the friction coefficient: the pyramid inside the cone


@dataclass(frozen=True, eq=False)
class Contact:
    """One contact as the controller sees it.

    A sole transmits a wrench, given in its own frame at its origin; a point transmits a force, given in
    world axes or those of the ground (a point foot rolls, so its own axes are arbitrary).

    Attributes:
        name: Name of the contact.
        points_C: Corners of the sole, or the point, in the contact frame [m], shape (4 or 1, 3).
        centre_C: Their middle [m], shape (3,).
        cone: Rows G with G f >= 0 for every force the ground can give, shape (k, dim).
    """

    name: str
    points_C: Array
    centre_C: Array
    cone: Array

    @property
    def dim(self) -> int:
        """Number of force coordinates: 6 for a sole, 3 for a point."""
        return int(self.cone.shape[1])

    @property
    def is_sole(self) -> bool:
        """Whether it transmits torque."""
        return self.dim == 6


@dataclass(frozen=True, slots=True, eq=False)
class ContactMotion:
    """Motion of a contact in the axes of its force.

    Attributes:
        jacobian: J, shape (dim, nv).
        velocity: J v, shape (dim,).
        drift: J'v, shape (dim,).
    """

    jacobian: Array
    velocity: Array
    drift: Array


def make_contacts(stance: StanceConfig, names: Sequence[str], friction: float) -> tuple[Contact, ...]:
    """Build the contacts of a robot.

    Args:
        stance: Rectangles of the soles; without them every contact is a point.
        names: Names of the contacts.
        friction: Coefficient of friction of the ground.

    Raises:
        ~inertial_estimation.errors.ConfigurationError: If a rectangle is wrong.
    """
    warm_up()
    points = contact_points(stance, names)
    return tuple(
        Contact(
            name, p, p.mean(axis=0), _sole_cone(p, friction) if len(p) > 1 else _friction_pyramid(friction)
        )
        for name, p in zip(names, points, strict=True)
    )


def contact_motion(contact: Contact, motion: FrameMotion, R_WG: Array | None = None) -> ContactMotion:
    """Return the motion of a contact in the axes of its force.

    Args:
        contact: The contact.
        motion: Motion of its frame.
        R_WG: Axes of the ground, for the force of a point, shape (3, 3); None: those of the world.
    """
    if not contact.is_sole and R_WG is not None:
        R_GW = R_WG.T
        return ContactMotion(R_GW @ motion.jacobian[:3], R_GW @ motion.velocity[:3], R_GW @ motion.drift[:3])
    if not contact.is_sole:
        return ContactMotion(motion.jacobian[:3], motion.velocity[:3], motion.drift[:3])
    by_column = np.ascontiguousarray(motion.jacobian.T)  # as Pinocchio lays it out
    jacobian, vectors = np.empty((6, len(by_column))), np.empty((2, 6))
    turn_into_sole(motion.R_WF, by_column, motion.velocity, motion.drift, jacobian, vectors)
    return ContactMotion(jacobian, vectors[0], vectors[1])


@compiled
def turn_into_sole(
    R_WC: Table,
    by_column: Table,
    velocity: Column,
    drift: Column,
    jacobian: MutableTable,
    vectors: MutableTable,
) -> None:
    """Write the motion of a sole, given in world axes, in its own axes: (R' J_v, R' J_w) and so on.

    Args:
        R_WC: Orientation of the sole, shape (3, 3).
        by_column: Transposed Jacobian, shape (nv, 6).
        velocity: J v, shape (6,).
        drift: J'v, shape (6,).
        jacobian: Shape (6, nv); written.
        vectors: Velocity and drift in the axes of the sole, shape (2, 6); written.
    """
    for i in range(3):
        x, y, z = R_WC[0, i], R_WC[1, i], R_WC[2, i]
        for first in (0, 3):
            for j in range(len(by_column)):
                column = by_column[j]
                jacobian[first + i, j] = x * column[first] + y * column[first + 1] + z * column[first + 2]
            vectors[0, first + i] = x * velocity[first] + y * velocity[first + 1] + z * velocity[first + 2]
            vectors[1, first + i] = x * drift[first] + y * drift[first + 1] + z * drift[first + 2]


def _friction_pyramid(friction: float) -> Array:
    mu = PYRAMID_SHARE * friction
    return np.array(
        [[-1.0, 0.0, mu], [1.0, 0.0, mu], [0.0, -1.0, mu], [0.0, 1.0, mu], [0.0, 0.0, 1.0]],
    )


def _sole_cone(points: Array, friction: float) -> Array:
    """Rows for a rectangle: pyramid, centre of pressure inside, spin about the centre.

    Centre of pressure x = -n_y / f_z, y = n_x / f_z. Spin: |n_z - (c_x f_y - c_y f_x)| <= mu r f_z with c
    the centre and r the shorter half side.
    """
    (x0, y0), (x1, y1) = points[:, :2].min(axis=0), points[:, :2].max(axis=0)
    cx, cy, mu = 0.5 * (x0 + x1), 0.5 * (y0 + y1), PYRAMID_SHARE * friction
    spin = mu * 0.5 * min(x1 - x0, y1 - y0)
    pyramid = np.hstack((_friction_pyramid(friction), np.zeros((5, 3))))
    pressure = [
        [0.0, 0.0, -x0, 0.0, -1.0, 0.0],
        [0.0, 0.0, x1, 0.0, 1.0, 0.0],
        [0.0, 0.0, -y0, 1.0, 0.0, 0.0],
        [0.0, 0.0, y1, -1.0, 0.0, 0.0],
        [-cy, cx, spin, 0.0, 0.0, -1.0],
        [cy, -cx, spin, 0.0, 0.0, 1.0],
    ]
    return np.vstack((pyramid, pressure))
