"""Outlines of links: points of the shapes in their URDF, to find where a foot touches the ground."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pinocchio as pin

from inertial_estimation.errors import one_line
from inertial_estimation.models.urdf import check_urdf
from inertial_estimation.signals import Array

KINDS = {"collision": pin.GeometryType.COLLISION, "visual": pin.GeometryType.VISUAL}
RIM = 24  # points that stand for the rim of a cylinder or cone


@dataclass(frozen=True, eq=False)
class LinkShapes:
    """Balls whose convex hull holds the shapes of links; of meshes and boxes the corners, with radius zero.

    Attributes:
        points: Centres in the frame of each link [m], shape (n, 3), by link; only of links with a shape.
        radii: Their radii [m], shape (n,), by link.
        kind: Which shapes of the URDF they are of: collision, visual, or empty where there are none.
        note: Why shapes could not be read, one line; empty where they could.
    """

    points: dict[str, Array]
    radii: dict[str, Array]
    kind: str
    note: str


def link_shapes(urdf: str, links: Collection[str], folders: Sequence[str | Path]) -> LinkShapes:
    """Read the shapes of some links: those for collisions, or else the visual ones.

    Args:
        urdf: XML text that `check_urdf` accepts.
        links: Links of interest; meshes of others are not read.
        folders: Folders in which meshes are searched.
    """
    notes = []
    for kind, geometry_type in KINDS.items():
        text = _with_shapes_of(urdf, links, kind)
        try:
            model = pin.buildModelFromXML(text)
            geometry = pin.buildGeomFromUrdfString(
                model, text, geometry_type, None, [str(f) for f in folders]
            )
        except (ValueError, RuntimeError) as error:
            notes.append(f"{kind} shapes cannot be read: {one_line(error, limit=160)}")
            continue
        points, radii = _outlines(model, geometry)
        if points:
            return LinkShapes(points, radii, kind, "")
    return LinkShapes({}, {}, "", "; ".join(notes) or "the URDF has no shapes of these links")


def _with_shapes_of(urdf: str, links: Collection[str], kind: str) -> str:
    """Return a URDF in which only some links have shapes, and only of one kind."""
    root = check_urdf(urdf)
    for link in root.findall("link"):
        for tag in KINDS:
            for shape in link.findall(tag) if tag != kind or link.get("name") not in links else ():
                link.remove(shape)
    return ElementTree.tostring(root, encoding="unicode")


def _outlines(model: pin.Model, geometry: pin.GeometryModel) -> tuple[dict[str, Array], dict[str, Array]]:
    points: dict[str, list[Array]] = {}
    radii: dict[str, list[Array]] = {}
    for shape in geometry.geometryObjects:
        outline = OUTLINES.get(type(shape.geometry).__name__, _corners)
        centres, sizes = outline(shape.geometry)
        frame = model.frames[shape.parentFrame]
        T = frame.placement.actInv(shape.placement)
        points.setdefault(frame.name, []).append(centres @ T.rotation.T + T.translation)
        radii.setdefault(frame.name, []).append(sizes)
    return (
        {link: np.concatenate(parts) for link, parts in points.items()},
        {link: np.concatenate(parts) for link, parts in radii.items()},
    )


def _corners(shape: Any) -> tuple[Array, Array]:
    """Corners of a mesh or, of any other shape, of the box around it."""
    if hasattr(shape, "vertices"):
        corners = np.array(shape.vertices(), dtype=np.float64).reshape(-1, 3)
    elif hasattr(shape, "points"):
        corners = np.array(shape.points(), dtype=np.float64).reshape(-1, 3)
    else:
        shape.computeLocalAABB()
        low, high = np.array(shape.aabb_local.min_), np.array(shape.aabb_local.max_)
        corners = low + (high - low) * np.array(np.meshgrid(*3 * [[0.0, 1.0]])).reshape(3, -1).T
    return corners, np.zeros(len(corners))


def _sphere(shape: Any) -> tuple[Array, Array]:
    return np.zeros((1, 3)), np.array([float(shape.radius)])


def _capsule(shape: Any) -> tuple[Array, Array]:
    ends = np.array([[0.0, 0.0, -shape.halfLength], [0.0, 0.0, shape.halfLength]])
    return ends, np.full(2, float(shape.radius))


def _cylinder(shape: Any) -> tuple[Array, Array]:
    angle = np.linspace(0.0, 2.0 * np.pi, RIM, endpoint=False)
    rim = shape.radius * np.column_stack((np.cos(angle), np.sin(angle)))
    ends = [np.column_stack((rim, np.full(RIM, z))) for z in (-shape.halfLength, shape.halfLength)]
    return np.concatenate(ends), np.zeros(2 * RIM)


OUTLINES: dict[str, Callable[[Any], tuple[Array, Array]]] = {
    "Sphere": _sphere,
    "Capsule": _capsule,
    "Cylinder": _cylinder,
}
