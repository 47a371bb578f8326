"""Where the centre of mass may rest while a foot is in the air.

The feet that stand span a polygon (a triangle for a quadruped). A robot at rest does not tip over while its
centre of mass is above it; a margin off every edge is left for what is not known.
"""

import math
from collections.abc import Sequence

from inertial_estimation.control.support_polygon import Point, convex_hull, nearest_inside

MARGIN_SHARES = (
    1.0,
    0.8,
    0.6,
    0.4,
    0.2,
    0.05,
)  # of the margin asked for, where the polygon is too narrow for it


def edge_distance(feet: Sequence[Point], point: Point) -> float:
    """Return how far a point lies within the polygon of the feet; negative outside [m].

    Args:
        feet: Places of the feet that stand; at least three not in one line.
        point: The point.
    """
    return min(nx * point[0] + ny * point[1] - d for nx, ny, d in _edges(feet))


def region_within(polygons: Sequence[Sequence[Point]], margin: float) -> list[Point]:
    """Return the corners of the region inside all polygons, at least a margin from every edge.

    Args:
        polygons: Each the places of feet that stand.
        margin: Distance from the edges [m].

    Returns:
        Corners, counter-clockwise; empty if there is no such point.
    """
    region = convex_hull(polygons[0])
    for feet in polygons:
        for nx, ny, d in _edges(feet):
            region = _cut(region, nx, ny, d + margin)
    return region if len(region) >= 3 else []


def rest_point(polygons: Sequence[Sequence[Point]], preferred: Point, margin: float) -> Point:
    """Return where the centre of mass should rest, as near as possible to a preferred place.

    Inside all polygons if there is such a place, else inside the first ones: those of the swings to come
    first. A polygon too narrow for the margin gets the largest share of it that leaves a place.

    Args:
        polygons: Feet that stand in the coming swing, and in the swings after it.
        preferred: The place to be near to.
        margin: Distance from the edges [m].
    """
    for count in range(len(polygons), 0, -1):
        region = region_within(polygons[:count], margin)
        if region:
            return nearest_inside(region, preferred)
    for share in MARGIN_SHARES:
        region = region_within(polygons[:1], share * margin)
        if region:
            return nearest_inside(region, preferred)
    feet = polygons[0]
    return sum(x for x, _ in feet) / len(feet), sum(y for _, y in feet) / len(feet)


def _edges(feet: Sequence[Point]) -> list[tuple[float, float, float]]:
    """Half planes n p >= d of the convex hull, n of length one."""
    hull = convex_hull(feet)
    edges = []
    for (ax, ay), (bx, by) in zip(hull, [*hull[1:], hull[0]], strict=True):
        length = math.hypot(bx - ax, by - ay)
        if length > 0.0:
            nx, ny = (ay - by) / length, (bx - ax) / length
            edges.append((nx, ny, nx * ax + ny * ay))
    return edges


def _cut(polygon: Sequence[Point], nx: float, ny: float, d: float) -> list[Point]:
    """Cut a convex polygon by the half plane n p >= d (Sutherland and Hodgman)."""
    kept: list[Point] = []
    for i, (bx, by) in enumerate(polygon):
        ax, ay = polygon[i - 1]
        before, now = nx * ax + ny * ay - d, nx * bx + ny * by - d
        if (before < 0.0) != (now < 0.0):
            s = before / (before - now)
            kept.append((ax + s * (bx - ax), ay + s * (by - ay)))
        if now >= 0.0:
            kept.append((bx, by))
    return kept
