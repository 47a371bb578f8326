"""Where the feet stand: a frame of the ground carried by the feet, and the plane through them.

The position of the base in the world is not measured. What is planned ahead is therefore kept in a frame G
of the ground, z up, that the standing feet define: their places in G are known from when they landed,
and each tick the pose of G is the one that fits the feet as forward kinematics finds them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra


@dataclass(frozen=True, slots=True, eq=False)
class GroundFrame:
    """Pose of the ground frame relative to the base origin, world axes.

    Attributes:
        yaw: Its heading [rad].
        R_WF: Its orientation, shape (3, 3).
        p_BF_W: Its origin [m], shape (3,).
    """

    yaw: float
    R_WF: Array
    p_BF_W: Array

    @classmethod
    def at(cls, yaw: float, p_BF_W: Array) -> "GroundFrame":
        """Return the frame of a heading and an origin."""
        c, s = math.cos(yaw), math.sin(yaw)
        return cls(yaw, np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]), p_BF_W)

    def from_ground(self, place: Array) -> Array:
        """Return a place of the ground relative to the base origin, world axes [m], shape (3,)."""
        point: Array = self.p_BF_W + self.R_WF @ place
        return point

    def to_ground(self, point: Array) -> Array:
        """Return the place in the ground frame of a point relative to the base origin [m], shape (3,)."""
        place: Array = self.R_WF.T @ (point - self.p_BF_W)
        return place


@dataclass(frozen=True, slots=True, eq=False)
class GroundPlane:
    """A plane z = z_c + slope (p - p_c) in the ground frame.

    Attributes:
        centre: p_c with z_c [m], shape (3,).
        slope: Rise along x and y, shape (2,).
    """

    centre: Array
    slope: Array

    def height(self, x: float, y: float) -> float:
        """Return z at a place [m]."""
        cx, cy, cz = self.centre.tolist()
        sx, sy = self.slope.tolist()
        return float(cz + sx * (x - cx) + sy * (y - cy))

    def axes(self) -> Array:
        """Return axes with z along the normal and x without a part along y, in the ground frame, (3, 3)."""
        sx, sy = self.slope.tolist()
        z = np.array([-sx, -sy, 1.0]) / math.sqrt(1.0 + sx * sx + sy * sy)
        x = np.array([1.0, 0.0, sx]) / math.sqrt(1.0 + sx * sx)
        axes: Array = np.array([x, np.cross(z, x), z]).T
        return axes

    def blended(self, other: "GroundPlane", share: float) -> "GroundPlane":
        """Return the plane a share of the way to another."""
        centre = self.centre + share * (other.centre - self.centre)
        return GroundPlane(centre, self.slope + share * (other.slope - self.slope))


class GroundMap:
    """Places of the feet in the ground frame.

    Attributes:
        places: Place of each foot, shape (n, 3) [m].
    """

    def __init__(self, places: Sequence[Array]) -> None:
        self.places = np.array(places, dtype=float)

    def locate(self, centres: Sequence[Array], standing: Sequence[int]) -> GroundFrame:
        """Return the pose of the ground frame that fits the standing feet best in least squares.

        Args:
            centres: Feet relative to the base origin, world axes [m], shape (3,) each.
            standing: Indices of those on the ground; at least two.
        """
        rows = list(standing)
        then, now = self.places[rows], np.array([centres[i] for i in rows])
        then_mean, now_mean = then.sum(axis=0) / len(rows), now.sum(axis=0) / len(rows)
        yaw = turn_between(then - then_mean, now - now_mean)
        frame = GroundFrame.at(yaw, np.zeros(3))
        return GroundFrame(yaw, frame.R_WF, now_mean - frame.R_WF @ then_mean)

    def update(self, frame: GroundFrame, centres: Sequence[Array], feet: Sequence[int], share: float) -> None:
        """Move the places of feet towards where they are found.

        Args:
            frame: Pose of the ground frame.
            centres: Feet relative to the base origin, world axes [m], shape (3,) each.
            feet: Which of them.
            share: Of the difference, 0 to 1.
        """
        for i in feet:
            self.places[i] += share * (frame.to_ground(centres[i]) - self.places[i])

    def plane(self) -> GroundPlane:
        """Return the plane through the feet that fits best in least squares."""
        centre = self.places.sum(axis=0) / len(self.places)
        arms = self.places - centre
        A = arms[:, :2]
        slope = linear_algebra.solve(A.T @ A + 1e-9 * np.eye(2), A.T @ arms[:, 2])
        return GroundPlane(centre, slope)


def turn_between(then: Array, now: Array) -> float:
    """Return the angle about z that turns points onto others best in least squares [rad].

    Args:
        then: Points relative to their mean, shape (n, 2 or 3).
        now: The points after the rotation.
    """
    cross = float(then[:, 0] @ now[:, 1] - then[:, 1] @ now[:, 0])
    return math.atan2(cross, float(then[:, 0] @ now[:, 0] + then[:, 1] @ now[:, 1]))
