"""The ground under a walking robot: places of its feet, and a plane that changes smoothly as they land."""

import math
from collections.abc import Sequence

import numpy as np

from inertial_estimation.control.walking.ground_map import GroundFrame, GroundMap, GroundPlane
from inertial_estimation.signals import Array
from inertial_estimation.spatial.minimum_jerk import minimum_jerk

PLANE_BLEND_S = 0.3  # in which the height follows a plane of the ground that a landing has changed
SETTLING_S = 0.5  # in which a standing robot takes over where its feet are, and leans with the ground


class WalkingGround:
    """Places of the feet and the plane through them.

    Attributes:
        plane: Plane through the feet.
        lean: Roll and pitch of the ground the base leans with [rad], shape (2,).
    """

    def __init__(self, centres: Sequence[Array], yaw: float) -> None:
        """Take the feet where they are; the ground frame lies below the base.

        Args:
            centres: Feet relative to the base origin, world axes [m], shape (3,) each.
            yaw: Heading of the base [rad].
        """
        frame = GroundFrame.at(yaw, np.zeros(3))
        self._map = GroundMap([frame.to_ground(centre) for centre in centres])
        self.plane = self._plane_before = self._map.plane()
        self._since_landing = PLANE_BLEND_S
        self.lean: Array = np.zeros(2)

    @property
    def places(self) -> Array:
        """Places of the feet in the ground frame [m], shape (n, 3)."""
        return self._map.places

    @property
    def middle(self) -> Array:
        """Middle of the feet in the ground frame [m], shape (2,)."""
        places = self._map.places
        middle: Array = places[:, :2].sum(axis=0) / len(places)
        return middle

    def advance(self, h: float) -> None:
        """Let time pass [s]."""
        self._since_landing += h

    def locate(self, centres: Sequence[Array], standing: Sequence[int]) -> GroundFrame:
        """Return the pose of the ground frame that fits the standing feet best; see `GroundMap.locate`."""
        return self._map.locate(centres, standing)

    def blended_plane(self) -> GroundPlane:
        """Return the plane of the ground, on its way from the one before the last landing."""
        u = min(1.0, self._since_landing / PLANE_BLEND_S)
        return self._plane_before.blended(self.plane, minimum_jerk(u))

    def relocate(self, frame: GroundFrame, centres: Sequence[Array]) -> None:
        """Take all feet where they are found, before one of them leaves.

        Args:
            frame: Pose of the ground frame.
            centres: Feet relative to the base origin, world axes [m], shape (3,) each.
        """
        self._map.update(frame, centres, range(len(centres)), 1.0)

    def settle(self, frame: GroundFrame, centres: Sequence[Array], h: float) -> None:
        """Move the places of standing feet towards where they are found.

        Args:
            frame: Pose of the ground frame.
            centres: Feet relative to the base origin, world axes [m], shape (3,) each.
            h: Time since the last call [s].
        """
        self._map.update(frame, centres, range(len(centres)), min(1.0, h / SETTLING_S))
        self.plane = self._map.plane()

    def land(self, frame: GroundFrame, centres: Sequence[Array], foot: int) -> None:
        """Take the place of a foot that has landed; the plane moves to include it.

        Args:
            frame: Pose of the ground frame.
            centres: Feet relative to the base origin, world axes [m], shape (3,) each.
            foot: Index of the foot.
        """
        self._map.update(frame, centres, [foot], 1.0)
        self._plane_before, self.plane = self.blended_plane(), self._map.plane()
        self._since_landing = 0.0

    def update_lean(self, heading: float, share: float, h: float) -> None:
        """Lean with the ground as seen along a heading.

        Args:
            heading: Direction in the ground frame [rad].
            share: Of the ground's roll and pitch, 0 to 1.
            h: Time since the last call [s].
        """
        self.lean += min(1.0, h / SETTLING_S) * (share * self._roll_pitch(heading) - self.lean)

    def _roll_pitch(self, heading: float) -> Array:
        c, s = math.cos(heading), math.sin(heading)
        sx, sy = self.blended_plane().slope.tolist()
        pitch = -math.atan(c * sx + s * sy)
        return np.array([math.atan((c * sy - s * sx) * math.cos(pitch)), pitch])
