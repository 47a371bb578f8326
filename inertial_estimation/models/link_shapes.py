"""Shapes of links from the URDF: their outlines, triangles of meshes, and distances between links.

For distances a mesh is replaced by its convex hull, which contains it: postures without collision of the
hulls have none of the meshes either, and a distance takes microseconds. As in MoveIt's setup assistant, pairs
of neighbours (one joint apart) and pairs that touch in nearly every posture are left out.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
from numpy.random import Generator
from numpy.typing import NDArray

from inertial_estimation.errors import ModelError, one_line
from inertial_estimation.models.joint_limits import joint_limits
from inertial_estimation.models.robot_model import RobotModel, with_marked_links
from inertial_estimation.models.urdf import with_shapes
from inertial_estimation.signals import Array

KINDS = {"collision": pin.GeometryType.COLLISION, "visual": pin.GeometryType.VISUAL}
RIM = 24  # points that stand for the rim of a cylinder or cone
POSTURES_SAMPLED = 200  # random postures that determine which pairs always touch
ALWAYS_TOUCHING_SHARE = 0.95  # of the sampled postures, from which a pair counts as always touching


@dataclass(frozen=True, eq=False)
class LinkShapes:
    """Balls whose convex hull holds the shapes of links; of meshes and boxes the corners, of radius zero."""

    # centres in the frame of each link [m], shape (n, 3), by link; only of links with a shape
    points: dict[str, Array]
    radii: dict[str, Array]  # their radii [m], shape (n,), by link
    kind: str  # which shapes of the URDF they are of: collision, visual, or empty where there are none
    note: str  # why shapes could not be read, one line; empty where they could


def link_shapes(urdf: str, links: Collection[str], folders: Sequence[str | Path]) -> LinkShapes:
    """Read the shapes of some links: those for collisions, or else the visual ones.

    Args:
        urdf: XML text that `check_urdf` accepts.
        links: Links of interest; meshes of others are not read.
        folders: Folders in which meshes are searched.
    """
    notes = []
    for kind, geometry_type in KINDS.items():
        text = with_shapes(urdf, links, kind)
        try:
            model = pin.buildModelFromXML(text)
            geometry = pin.buildGeomFromUrdfString(
                model, text, geometry_type, None, [str(f) for f in folders]
            )
        except (ValueError, RuntimeError) as error:
            reason = str(error).rpartition("message:")[2]  # before it, places in the reader's source
            notes.append(f"{kind} shapes cannot be read: {one_line(reason, limit=160)}")
            continue
        points, radii = _outlines(model, geometry)
        if points:
            return LinkShapes(points, radii, kind, "")
    return LinkShapes({}, {}, "", "; ".join(notes) or "the URDF has no shapes of these links")


def _outlines(model: pin.Model, geometry: pin.GeometryModel) -> tuple[dict[str, Array], dict[str, Array]]:
    points: dict[str, list[Array]] = {}
    radii: dict[str, list[Array]] = {}
    for shape in geometry.geometryObjects:
        centres, radius = _balls(shape.geometry)
        frame = model.frames[shape.parentFrame]
        T = frame.placement.actInv(shape.placement)
        points.setdefault(frame.name, []).append(centres @ T.rotation.T + T.translation)
        radii.setdefault(frame.name, []).append(np.full(len(centres), radius))
    joined = ({link: np.concatenate(parts) for link, parts in of.items()} for of in (points, radii))
    return next(joined), next(joined)


def _balls(shape: Any) -> tuple[Array, float]:
    """Return centres, shape (n, 3), and radius of balls whose hull is a shape or, of any other, its box."""
    kind = type(shape).__name__
    if kind == "Sphere":
        return np.zeros((1, 3)), float(shape.radius)
    if kind == "Capsule":
        return shape.halfLength * np.array([[0.0, 0.0, -1.0], [0.0, 0.0, 1.0]]), float(shape.radius)
    if kind == "Cylinder":
        angle = np.linspace(0.0, 2.0 * np.pi, RIM, endpoint=False)
        rim = shape.radius * np.column_stack((np.cos(angle), np.sin(angle)))
        ends = [np.column_stack((rim, np.full(RIM, z))) for z in (-shape.halfLength, shape.halfLength)]
        return np.concatenate(ends), 0.0
    corners = getattr(shape, "vertices", None) or getattr(shape, "points", None)
    if corners is not None:
        return np.array(corners(), dtype=np.float64).reshape(-1, 3), 0.0
    shape.computeLocalAABB()
    low, high = np.array(shape.aabb_local.min_), np.array(shape.aabb_local.max_)
    return low + (high - low) * np.array(np.meshgrid(*3 * [[0.0, 1.0]])).reshape(3, -1).T, 0.0


def read_triangles(path: Path) -> Array:
    """Return the corners of all triangles of a mesh, shape (n, 3, 3): triangle, corner, coordinate.

    Raises:
        ModelError: If it cannot be read.
    """
    try:
        import coal  # comes with Pinocchio, where it is built with collision checks

        mesh = coal.MeshLoader().load(str(path), np.ones(3))
    except (ImportError, RuntimeError, ValueError) as error:
        raise ModelError(f"cannot read the mesh '{path}': {one_line(error)}") from error
    corners: NDArray[np.int64] = np.array(
        [tuple(mesh.tri_indices(k)[i] for i in range(3)) for k in range(mesh.num_tris)], dtype=np.int64
    )
    triangles: Array = np.asarray(mesh.vertices(), dtype=np.float64)[corners.reshape(-1, 3)]
    return triangles


class SelfCollision:
    """Clearance between the links of a robot with a fixed base.

    Attributes:
        pairs: Names of the links of each pair that is checked.
        note: Why collisions are not, or only partly, checked; empty where they are.
        always_touching: Pairs that were left out because they touch in nearly every posture.
    """

    def __init__(
        self,
        robot: RobotModel,
        geometry: pin.GeometryModel | None,
        note: str = "",
        always_touching: tuple[tuple[str, str], ...] = (),
    ) -> None:
        self._robot = robot
        self._data = robot.model.createData()
        self._geometry = geometry
        self._geometry_data: Any = geometry.createData() if geometry else None
        self._margin = 0.0
        self.note = note
        self.pairs = _names_of_pairs(robot, geometry) if geometry else ()
        self.always_touching = always_touching

    @classmethod
    def from_urdf(
        cls,
        robot: RobotModel,
        urdf: str,
        mesh_folders: Sequence[str | Path],
        rng: Generator,
        margin: float = 0.0,
    ) -> "SelfCollision":
        """Read the collision geometry; without any, nothing is checked, and `note` reports it.

        Args:
            robot: The robot, its base fixed; joints it lacks are locked at zero.
            urdf: The text it was built from.
            mesh_folders: Folders in which ``package://`` meshes are searched.
            rng: Source of the random postures that determine which pairs always touch.
            margin: Distance below which links count as touching in the random postures [m].
        """
        full = pin.buildModelFromXML(urdf)
        folders = [str(folder) for folder in mesh_folders]
        try:
            geometry = pin.buildGeomFromUrdfString(full, urdf, pin.GeometryType.COLLISION, None, folders)
        except (ValueError, RuntimeError) as error:
            reason = " ".join(str(error).split())
            return cls(robot, None, f"collisions were not checked, a mesh cannot be read: {reason}")
        locked = [j for j in range(1, full.njoints) if full.names[j] not in robot.joint_names]
        if locked:
            _model, geometry = pin.buildReducedModel(
                with_marked_links(full), geometry, locked, pin.neutral(full)
            )
        geometry.addAllCollisionPairs()
        _keep(geometry, [not _neighbours(robot, geometry, pair) for pair in geometry.collisionPairs])
        if not len(geometry.collisionPairs):
            return cls(robot, None, "collisions were not checked: no geometry of the URDF could collide")
        for shape in geometry.geometryObjects:
            if hasattr(shape.geometry, "buildConvexHull"):
                shape.geometry.buildConvexHull(True, "Qt")
                shape.geometry = shape.geometry.convex
        limits = joint_limits(robot)
        postures = rng.uniform(limits.lower, limits.upper, size=(POSTURES_SAMPLED, robot.n_joints))
        always = _share_touching(robot, geometry, postures, margin) >= ALWAYS_TOUCHING_SHARE
        names = _names_of_pairs(robot, geometry)
        _keep(geometry, (~always).tolist())
        left_out = dict.fromkeys(names[i] for i in np.flatnonzero(always))
        return cls(robot, geometry, always_touching=tuple(left_out))

    @property
    def checks(self) -> bool:
        """Whether there is anything to check."""
        return bool(self.pairs)

    def clearance(self, q: Array) -> float:
        """Return the smallest distance of two links [m], negative inside, infinite if none is checked.

        Args:
            q: Joint positions [rad], shape (n_joints,).
        """
        return self.closest(q)[0]

    def closer_than(self, q: Array, distance: float) -> bool:
        """Return whether any two links are closer than a distance [m]; faster than computing the distance."""
        if not self.pairs:
            return False
        data = self._geometry_data
        if distance != self._margin:
            for request in data.collisionRequests:
                request.security_margin = distance
            self._margin = distance
        configuration = self._robot.configuration(q)
        return bool(
            pin.computeCollisions(self._robot.model, self._data, self._geometry, data, configuration, True)
        )

    def closest(self, q: Array) -> tuple[float, tuple[str, str]]:
        """Return `clearance` and the names of the two links; empty ones where nothing is checked."""
        if not self.pairs:
            return np.inf, ("", "")
        data = self._geometry_data
        configuration = self._robot.configuration(q)
        index = pin.computeDistances(self._robot.model, self._data, self._geometry, data, configuration)
        return float(data.distanceResults[index].min_distance), self.pairs[index]


def _share_touching(robot: RobotModel, geometry: pin.GeometryModel, postures: Array, margin: float) -> Array:
    """Return for each pair the share of postures in which it is closer than a margin [m]."""
    data, shapes = robot.model.createData(), geometry.createData()
    for request in shapes.collisionRequests:
        request.security_margin = margin
    touching = np.zeros(len(geometry.collisionPairs))
    for q in postures:
        pin.computeCollisions(robot.model, data, geometry, shapes, robot.configuration(q), False)
        touching += [result.isCollision() for result in shapes.collisionResults]
    return touching / len(postures)


def _names_of_pairs(robot: RobotModel, geometry: pin.GeometryModel) -> tuple[tuple[str, str], ...]:
    shapes, frames = geometry.geometryObjects, robot.model.frames

    def link(index: int) -> str:
        frame = shapes[index].parentFrame
        return str(frames[frame].name) if frame < len(frames) else str(shapes[index].name)

    return tuple((link(pair.first), link(pair.second)) for pair in geometry.collisionPairs)


def _neighbours(robot: RobotModel, geometry: pin.GeometryModel, pair: pin.CollisionPair) -> bool:
    first, second = (int(geometry.geometryObjects[i].parentJoint) for i in (pair.first, pair.second))
    parents = robot.model.parents
    return first == second or parents[first] == second or parents[second] == first


def _keep(geometry: pin.GeometryModel, kept: Sequence[bool]) -> None:
    """Remove the pairs that are not in `kept`."""
    pairs = [(p.first, p.second) for p, k in zip(geometry.collisionPairs, kept, strict=True) if not k]
    for first, second in pairs:
        geometry.removeCollisionPair(pin.CollisionPair(first, second))
