"""The ground below the robot: a frame defined by the standing feet, and the plane through them.

The position of the base in the world is not measured. Plans are therefore expressed in a frame G of the
ground, z up, that the standing feet define: their positions in G are known since they landed, and in each
tick the pose of G is fitted to the feet by forward kinematics.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from inertial_estimation.control.references import SMOOTH_S
from inertial_estimation.models.joint_trajectory import minimum_jerk
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra


class GroundFrame(NamedTuple):
    """Pose of the ground frame relative to the base origin, world axes."""

    yaw: float  # heading of the ground frame [rad]
    R_WG: Array  # orientation of the ground frame, shape (3, 3)
    p_BG_W: Array  # origin of the ground frame [m], shape (3,)

    @classmethod
    def at(cls, yaw: float, p_BG_W: Array) -> "GroundFrame":
        """Return the frame of a heading and an origin."""
        c, s = math.cos(yaw), math.sin(yaw)
        return cls(yaw, np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]), p_BG_W)

    def from_ground(self, place: Array) -> Array:
        """Return a place of the ground relative to the base origin, world axes [m], shape (3,)."""
        point: Array = self.p_BG_W + self.R_WG @ place
        return point

    def to_ground(self, point: Array) -> Array:
        """Return the place in the ground frame of a point relative to the base origin [m], shape (3,)."""
        place: Array = self.R_WG.T @ (point - self.p_BG_W)
        return place


class GroundPlane(NamedTuple):
    """A plane z = z_c + slope (p - p_c) in the ground frame."""

    centre: Array  # p_c with z_c [m], shape (3,)
    slope: Array  # rise along x and y, shape (2,)

    def height(self, x: float, y: float) -> float:
        """Return z at a place [m]."""
        return float(self.centre[2] + self.slope @ ((x, y) - self.centre[:2]))

    def axes(self) -> Array:
        """Return axes with z along the normal and x without a part along y, in the ground frame, (3, 3)."""
        sx, sy = self.slope.tolist()
        z = np.array([-sx, -sy, 1.0]) / math.sqrt(1.0 + sx * sx + sy * sy)
        x = np.array([1.0, 0.0, sx]) / math.sqrt(1.0 + sx * sx)
        axes: Array = np.array([x, np.cross(z, x), z]).T
        return axes


class WalkingGround:
    """Positions of the feet, and the plane through them, which changes smoothly as they land.

    Attributes:
        places: Position of each foot in the ground frame [m], shape (n, 3).
        plane: Plane fitted to the feet in least squares.
    """

    def __init__(self, centres: Sequence[Array], yaw: float) -> None:
        """Take the positions of the feet; the ground frame begins at the base origin, with its heading.

        Args:
            centres: Feet relative to the base origin, world axes [m], shape (3,) each.
            yaw: Heading of the base [rad].
        """
        frame = GroundFrame.at(yaw, np.zeros(3))
        self.places = np.array([frame.to_ground(centre) for centre in centres])
        self.plane = self._plane_before = self._fitted()
        self._since_landing = SMOOTH_S

    @property
    def middle(self) -> Array:
        """Middle of the feet in the ground frame [m], shape (2,)."""
        middle: Array = self.places[:, :2].mean(axis=0)
        return middle

    def advance(self, h: float) -> None:
        """Advance the blending of the plane by a time step [s]."""
        self._since_landing += h

    def locate(self, centres: Sequence[Array], standing: Sequence[int]) -> GroundFrame:
        """Return the pose of the ground frame that fits the standing feet best in least squares.

        Args:
            centres: Feet relative to the base origin, world axes [m], shape (3,) each.
            standing: Indices of the feet on the ground; at least two.
        """
        then, now = self.places[list(standing)], np.array([centres[i] for i in standing])
        then_mean, now_mean = then.mean(axis=0), now.mean(axis=0)
        frame = GroundFrame.at(turn_between(then - then_mean, now - now_mean), now_mean)
        return frame._replace(p_BG_W=now_mean - frame.R_WG @ then_mean)

    def blended_plane(self) -> GroundPlane:
        """Return the plane of the ground, blended from that before the last landing to the present one."""
        share, before = minimum_jerk(min(1.0, self._since_landing / SMOOTH_S))[0], self._plane_before
        return GroundPlane(*(a + share * (b - a) for a, b in zip(before, self.plane, strict=True)))

    def relocate(self, frame: GroundFrame, centres: Sequence[Array], share: float = 1.0) -> None:
        """Move the positions of all feet to the measured ones, or a share of the way."""
        found = np.array([frame.to_ground(centre) for centre in centres])
        self.places += share * (found - self.places)

    def settle(self, frame: GroundFrame, centres: Sequence[Array], h: float) -> None:
        """Move the positions of the standing feet towards the measured ones over a time step [s]."""
        self.relocate(frame, centres, min(1.0, h / SMOOTH_S))
        self.plane = self._fitted()

    def land(self, frame: GroundFrame, centre: Array, foot: int) -> None:
        """Take the position of a foot that has landed; the plane moves to include it.

        Args:
            frame: Pose of the ground frame.
            centre: Position of the foot relative to the base origin, world axes [m], shape (3,).
            foot: Index of the foot.
        """
        self.places[foot] = frame.to_ground(centre)
        self._plane_before, self.plane = self.blended_plane(), self._fitted()
        self._since_landing = 0.0

    def _fitted(self) -> GroundPlane:
        centre = self.places.mean(axis=0)
        arms = self.places - centre
        A = arms[:, :2]
        return GroundPlane(centre, linear_algebra.solve(A.T @ A + 1e-9 * np.eye(2), A.T @ arms[:, 2]))


def turn_between(then: Array, now: Array) -> float:
    """Return the angle about z that rotates points onto others in least squares [rad].

    Args:
        then: Points relative to their mean, shape (n, 2 or 3).
        now: The points after the rotation.
    """
    cross = float(then[:, 0] @ now[:, 1] - then[:, 1] @ now[:, 0])
    return math.atan2(cross, float(then[:, 0] @ now[:, 0] + then[:, 1] @ now[:, 1]))
