"""Support polygon: convex hull of the points in contact, and the nearest point inside it."""

import math
from collections.abc import Iterable, Sequence

from inertial_estimation.signals import Array

Point = tuple[float, float]


def convex_hull(points: Iterable[Point]) -> list[Point]:
    """Return the corners of the convex hull, counter-clockwise (Andrew's monotone chain).

    Args:
        points: Points in the plane; at least one.
    """
    distinct = sorted({(float(x), float(y)) for x, y in points})
    if len(distinct) <= 2:
        return distinct
    return [*_chain(distinct)[:-1], *_chain(reversed(distinct))[:-1]]  # each ends where the other begins


def _chain(points: Iterable[Point]) -> list[Point]:
    """Return the half of a hull on the right of sorted points."""
    hull: list[Point] = []
    for x, y in points:
        while len(hull) >= 2:
            (ax, ay), (bx, by) = hull[-2:]
            if (bx - ax) * (y - ay) - (by - ay) * (x - ax) > 0.0:
                break
            hull.pop()
        hull.append((x, y))
    return hull


def nearest_inside(hull: Sequence[Point], point: Point) -> Point:
    """Return the point of a convex polygon nearest to a point; the point itself if it is inside.

    Args:
        hull: Corners, counter-clockwise; a single one or two are a point or a segment.
        point: The point.
    """
    (x, y), outside, nearest, least = point, len(hull) < 3, hull[0], math.inf
    for (ax, ay), (bx, by) in zip(hull, (*hull[1:], hull[0]), strict=True):
        ux, uy, px, py = bx - ax, by - ay, x - ax, y - ay
        outside = outside or ux * py - uy * px < 0.0
        length = ux * ux + uy * uy
        t = min(1.0, max(0.0, (px * ux + py * uy) / length)) if length > 0.0 else 0.0
        q = ax + t * ux, ay + t * uy
        distance = (x - q[0]) ** 2 + (y - q[1]) ** 2
        if distance < least:
            nearest, least = q, distance
    return nearest if outside else point


def nearest_in_hull(points: Array, point: Point) -> Point:
    """Return the point of the convex hull of points nearest to a point; the point itself if it is inside.

    Args:
        points: Points in the plane, at least one, shape (k, 2).
        point: The point.
    """
    return nearest_inside(convex_hull(points.tolist()), point)
