"""Contact forces the ground can give: friction pyramid, centre of pressure in the sole, spin friction."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from inertial_estimation.models.stance_config import StanceConfig, contact_points
from inertial_estimation.models.whole_body_dynamics import COM_ROWS, FRAME_ROWS, DynamicsState, MotionRows
from inertial_estimation.signals import Array

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


def make_contacts(stance: StanceConfig, names: Sequence[str], friction: float) -> tuple[Contact, ...]:
    """Build the contacts of a robot.

    Args:
        stance: Rectangles of the soles; without them every contact is a point.
        names: Names of the contacts.
        friction: Coefficient of friction of the ground.

    Raises:
        ~inertial_estimation.errors.ConfigurationError: If a rectangle is wrong.
    """
    points = contact_points(stance, names)
    return tuple(
        Contact(
            name, p, p.mean(axis=0), _sole_cone(p, friction) if len(p) > 1 else _friction_pyramid(friction)
        )
        for name, p in zip(names, points, strict=True)
    )


def force_rows(contacts: Sequence[Contact]) -> list[slice]:
    """Return where the force coordinates of each contact lie, one contact behind the other."""
    ends = np.cumsum([0, *(contact.dim for contact in contacts)]).tolist()
    return [slice(begin, end) for begin, end in pairwise(ends)]


class ForceAxes:
    """Turns the motions of contacts into the axes of their forces.

    Attributes:
        rows: Where the rows of each contact lie.
    """

    def __init__(self, contacts: Sequence[Contact]) -> None:
        """Lay out the rows.

        Args:
            contacts: The contacts, in the order of the frames of the state.
        """
        self.rows = force_rows(contacts)
        self._count = sum(contact.dim for contact in contacts)
        self._world = np.eye(3)

    def motions(self, state: DynamicsState, R_WG: Array | None = None) -> MotionRows:
        """Return the motions of all contacts in the axes of their forces, as `force_rows` lays them out.

        Args:
            state: Dynamics now.
            R_WG: Axes of the ground, for the force of a point, shape (3, 3); None: those of the world.
        """
        rows, axes = state.rows, self._world if R_WG is None else R_WG
        turn = np.zeros((self._count, len(rows.velocity)))  # (R' J_v, R' J_w) of a sole, R' J_v of a point
        for n, where in enumerate(self.rows):
            sole = where.stop - where.start == FRAME_ROWS
            R = state.places[n, :9].reshape(3, 3) if sole else axes
            for part in range(where.start, where.stop, 3):
                column = COM_ROWS + FRAME_ROWS * n + part - where.start
                turn[part : part + 3, column : column + 3] = R.T
        return MotionRows(turn @ rows.jacobian, turn @ rows.velocity, turn @ rows.drift)


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
