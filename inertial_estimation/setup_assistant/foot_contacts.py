"""Where the feet of a robot touch the ground: frames of the URDF, or new ones from the shape of the feet."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from inertial_estimation.errors import ConfigurationError, listing
from inertial_estimation.models.limbs import Limb, end_links
from inertial_estimation.models.link_shapes import LinkShapes
from inertial_estimation.models.robot_config import AddedFrames
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.setup_assistant.name_words import FOOT, count_of, is_imu
from inertial_estimation.signals import Array
from inertial_estimation.spatial.rotations import roll_pitch_of, yaw_of

FLAT = 0.005  # height above the lowest point within which points belong to the sole [m]
LEVEL = 0.1  # inclination up to which the frame of a sole counts as level [rad]
NEAR_SOLE, NEAR_POINT = 0.015, 0.05  # largest distance of a frame of the URDF from the shape's contact [m]
EDGE = 0.9  # share of half a sole from which a frame counts as one at its edge
LEAST_SOLE = 0.02  # shortest side of a sole [m]
SIMPLEX = 4  # points of a tetrahedron; a convex hull is computed of more points
FACING_DOWN, WIDER = -0.5, 2.0  # largest z of a sole's outer normal; its least area over that of a level sole
FOOT_LENGTH, FOOT_WIDTH, ANKLE_HEIGHT = 0.28, 0.1, 0.08  # of a person, shares of the length of the leg


@dataclass(frozen=True)
class FootContact:
    """The contact of one foot."""

    name: str
    link: str  # link to which the frame is fixed
    frame: str  # contact frame
    # pose of an added frame in the link, x, y, z [m], roll, pitch, yaw [rad]; empty for a frame of the URDF
    pose: tuple[float, ...]
    # rectangle of the sole in the frame: x_min, x_max, y_min, y_max [m]; empty for a point
    sole: tuple[float, ...]
    source: str  # phrase that names the source of the position
    guessed: bool = False  # whether it is a guess, because the URDF does not say where the foot ends


def added_frames(contacts: Sequence[FootContact]) -> AddedFrames:
    """Return the contact frames that are added to the URDF."""
    new = [contact for contact in contacts if contact.pose]
    return AddedFrames(
        tuple(c.frame for c in new), tuple(c.link for c in new), tuple(x for c in new for x in c.pose)
    )


def placed_contacts(
    robot: RobotModel,
    q: Array,
    legs: Sequence[Limb],
    names: Sequence[str],
    shapes: LinkShapes,
    *,
    soles: bool,
    named: bool = True,
    wanted: Sequence[str] = (),
) -> tuple[FootContact, ...]:
    """Return the contact of every foot, a sole or a point, of a robot that stands in a posture, base level.

    If `named`, a frame of the URDF near the contact is preferred; `wanted` names a frame for each leg.

    Raises:
        ConfigurationError: If a wanted frame is not fixed to the last body of its leg.
    """
    found = []
    for i, (leg, name) in enumerate(zip(legs, names, strict=True)):
        foot = _Foot(robot, q, leg, shapes)
        contact = foot.sole(name) if soles else foot.point(name)
        if wanted:
            contact = foot.in_frame(contact, wanted[i], source="as requested")
        elif named and (known := foot.known_frame(contact)):
            contact = foot.in_frame(contact, known, source=f"frame of the URDF, {contact.source}")
        found.append(contact)
    return tuple(found)


class _Foot:
    """The last body of a leg in a posture, expressed in the base."""

    def __init__(self, robot: RobotModel, q: Array, leg: Limb, shapes: LinkShapes) -> None:
        self.links = end_links(robot, leg)
        poses = dict(zip(self.links, robot.frame_poses(q, self.links), strict=True))
        self._poses = poses
        shaped = [link for link in self.links if link in shapes.points]
        self._points = [shapes.points[link] @ poses[link][0].T + poses[link][1] for link in shaped]
        self._radii = [shapes.radii[link] for link in shaped]
        self._kind = shapes.kind
        (_R, hip), (_R2, ankle) = robot.frame_poses(q, [leg.bodies[0], leg.end])
        self._length = float(np.linalg.norm(hip - ankle)) or 1.0
        self._leg = leg

    def sole(self, name: str) -> FootContact:
        """Return the rectangle around the points that the foot rests on, its frame in the middle."""
        if not self._points:
            return self._guessed_sole(name)
        points, radii = np.concatenate(self._points), np.concatenate(self._radii)[:, None]
        R = _resting(points, radii)  # orientation of the sole in the base
        bottoms = points @ R - radii * [0.0, 0.0, 1.0]
        ground = float(bottoms[:, 2].min())
        flat = bottoms[bottoms[:, 2] < ground + FLAT]
        low, high = flat.min(0), flat.max(0)
        half = 0.5 * (high - low)[:2] * _fill(flat[:, :2])
        half = np.maximum(half, 0.5 * LEAST_SOLE)
        middle = R @ np.array([*(0.5 * (low + high))[:2], ground])
        text = f"lowest points of the {self._kind} shapes"
        return self._new(name, middle, (-half[0], half[0], -half[1], half[1]), text, R)

    def point(self, name: str) -> FootContact:
        """Return the lowest point of the foot."""
        if not self._points:
            lowest = min((p for _R, p in self._poses.values()), key=lambda p: float(p[2]))
            only = len({tuple(np.round(p, 3)) for _R, p in self._poses.values()}) == 1
            if only:  # only the last joint is known: the foot extends from it by one mean link length
                lowest = lowest - [0.0, 0.0, self._length / max(len(self._leg.joints) - 1, 1)]
            text = (
                "no shape there: a guess from the length of the leg" if only else "lowest frame of the URDF"
            )
            return replace(self._new(name, lowest, (), text), guessed=only)
        bottoms = np.concatenate(self._points) - np.concatenate(self._radii)[:, None] * [0.0, 0.0, 1.0]
        lowest = bottoms[int(np.argmin(bottoms[:, 2]))]
        return self._new(name, lowest, (), f"lowest point of the {self._kind} shapes")

    def _guessed_sole(self, name: str) -> FootContact:
        ground = min(float(p[2]) for _R, p in self._poses.values())
        ankle = self._poses[self._leg.end][1]
        if ground > float(ankle[2]) - 0.25 * ANKLE_HEIGHT * self._length:
            ground = float(ankle[2]) - ANKLE_HEIGHT * self._length
        half = 0.5 * np.array([FOOT_LENGTH, FOOT_WIDTH]) * self._length
        middle = np.array([ankle[0] + 0.2 * half[0], ankle[1], ground])
        text = "no shape there: a guess from the length of the leg"
        sole = (-half[0], half[0], -half[1], half[1])
        return replace(self._new(name, middle, sole, text), guessed=True)

    def known_frame(self, contact: FootContact) -> str:
        """Return the frame of the URDF at the same place as a contact; empty if there is none.

        Without shapes, a frame that is named like a sole or foot is better than a guess.
        """
        place = self._place(contact)
        best, least = "", np.inf
        for link, (R, p) in self._poses.items():
            if is_imu(link) or (contact.sole and not contact.guessed and _at_edge(p - place, contact.sole)):
                continue
            away = float(abs(p[2] - place[2]) if contact.sole else np.linalg.norm(p - place))
            near = NEAR_SOLE if contact.sole else NEAR_POINT
            is_named = count_of([link], FOOT) > 0
            level = not contact.sole or float(np.arccos(np.clip(R[2, 2], -1.0, 1.0))) < LEVEL
            away -= 0.5 * near if is_named else 0.0
            fits = away < near or (contact.guessed and is_named and link != self._leg.end)
            if level and fits and away < least:
                best, least = link, away
        return best

    def in_frame(self, contact: FootContact, frame: str, source: str) -> FootContact:
        """Return a contact in a frame of the URDF, its sole in the axes of that frame."""
        if frame not in self._poses:
            raise ConfigurationError(
                f"'{frame}' is no contact frame of the leg that ends with '{self._leg.end}'; fixed to its "
                f"last body are {listing(self.links)}"
            )
        R, p = self._poses[frame]
        sole = contact.sole
        if sole:
            middle = R.T @ (self._place(contact) - p)
            half = np.abs(R.T @ [sole[1], sole[3], 0.0])[:2]
            low, high = middle[:2] - half, middle[:2] + half
            sole = tuple(round(float(x), 4) for x in (low[0], high[0], low[1], high[1]))
        source = source.replace(f", {contact.source}", "") if contact.guessed else source
        return FootContact(contact.name, frame, frame, (), sole, source)

    def _place(self, contact: FootContact) -> Array:
        R, p = self._poses[contact.link]
        place: Array = p + R @ np.array(contact.pose[:3])
        return place

    def _new(
        self, name: str, place: Array, sole: Sequence[float], source: str, R_BC: Array | None = None
    ) -> FootContact:
        """Return a contact with an added frame, whose axes are those of the level base by default."""
        link = self._leg.end
        R, p = self._poses[link]
        numbers = (*(R.T @ (place - p)), *_roll_pitch_yaw(R.T if R_BC is None else R.T @ R_BC))
        pose = tuple(round(float(x), 4) + 0.0 for x in numbers)
        frame = f"{name}_sole" if sole else f"{name}_point"
        return FootContact(name, link, frame, pose, tuple(round(float(x), 4) for x in sole), source)


def _resting(points: Array, radii: Array) -> Array:
    """Return the axes of a sole in the base: level, or those of a much larger side of the foot.

    A foot may be inclined while its joints are at zero. Among the faces of its convex hull that point
    downwards, it rests on the one near which (within `FLAT`) its points span the largest area.
    """
    sides = [np.array([0.0, 0.0, -1.0])]
    if len(points) > SIMPLEX and np.ptp(points, axis=0).min() > FLAT:
        normals = ConvexHull(points).equations[:, :3]
        normals = normals[normals[:, 2] < FACING_DOWN]
        sides += [*normals[np.unique(np.round(normals, 1), axis=0, return_index=True)[1]]]

    def axes(side: Array) -> Array:
        z = -side / np.linalg.norm(side)
        x = np.array([z[2], 0.0, -z[0]]) / np.hypot(z[0], z[2])
        return np.column_stack((x, np.cross(z, x), z))

    def area(R: Array) -> float:
        bottoms = points @ R - radii * [0.0, 0.0, 1.0]
        flat = bottoms[bottoms[:, 2] < bottoms[:, 2].min() + FLAT][:, :2]
        return float(np.prod(np.ptp(flat, axis=0))) * _fill(flat) ** 2

    level, *others = (axes(side) for side in sides)
    widest = max(others, key=area, default=level)
    return widest if area(widest) > WIDER * area(level) else level


def _at_edge(away: Array, sole: Sequence[float]) -> bool:
    """Return whether a frame is at the edge of a sole or beyond, so that the robot does not stand over it."""
    return bool((np.abs(away[:2]) > EDGE * np.array([sole[1], sole[3]])).any())


def _fill(points: Array) -> float:
    """Return the factor by which the sides of the points' bounding box shrink to the area of their hull."""
    box = float(np.prod(np.ptp(points, axis=0)))
    try:
        return float(np.sqrt(ConvexHull(points).volume / box)) if len(points) > 2 and box > 0.0 else 1.0
    except QhullError:  # on a line
        return 1.0


def _roll_pitch_yaw(R: Array) -> tuple[float, float, float]:
    """Return the fixed-axis angles of a URDF's <origin>, R = Rz(yaw) Ry(pitch) Rx(roll)."""
    roll, pitch = roll_pitch_of(R)
    if abs(R[2, 0]) > 1.0 - 1e-9:
        return 0.0, pitch, float(np.arctan2(-R[0, 1], R[1, 1]))
    return roll, pitch, yaw_of(R)
