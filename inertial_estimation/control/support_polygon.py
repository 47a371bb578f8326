"""Support polygon: convex hull of the points in contact, and the nearest point inside it."""

import math
from collections.abc import Sequence

import numpy as np

from inertial_estimation.compilation import MutableTable, Table, compiled, inlined, numbers, zeros
from inertial_estimation.signals import Array

Point = tuple[float, float]


def convex_hull(points: Sequence[Point]) -> list[Point]:
    """Return the corners of the convex hull, counter-clockwise (Andrew's monotone chain).

    Args:
        points: Points in the plane; at least one.
    """
    hull = zeros(2 * len(points), 2)
    count = hull_corners(numbers(np.array(points, dtype=float)), hull)
    return [(float(corner[0]), float(corner[1])) for corner in hull[:count]]


def nearest_inside(hull: Sequence[Point], point: Point) -> Point:
    """Return the point of a convex polygon nearest to a point; the point itself if it is inside.

    Args:
        hull: Corners, counter-clockwise; a single one or two are a point or a segment.
        point: The point.
    """
    return nearest_of(numbers(np.array(hull, dtype=float)), len(hull), *point)


def nearest_in_hull(points: Array, point: Point) -> Point:
    """Return the point of the convex hull of points nearest to a point; the point itself if it is inside.

    Args:
        points: Points in the plane, at least one, shape (k, 2).
        point: The point.
    """
    return nearest_in_hull_of(numbers(points.copy()), *point, zeros(2 * len(points), 2))


@compiled
def nearest_in_hull_of(points: MutableTable, x: float, y: float, hull: MutableTable) -> Point:
    """Return the point of the convex hull of points nearest to a point; the point itself if it is inside.

    Args:
        points: Points in the plane, at least one, shape (k, 2); sorted.
        x: First coordinate of the point.
        y: Second coordinate.
        hull: Room for corners, shape (2 k, 2).
    """
    return _nearest(hull, _corners(points, hull), x, y)


@compiled
def hull_corners(points: MutableTable, hull: MutableTable) -> int:
    """Write the corners of the convex hull, counter-clockwise; return their number.

    Args:
        points: Points in the plane, at least one, shape (k, 2); sorted.
        hull: Corners, in the first of its rows, shape (2 k, 2); written.
    """
    return _corners(points, hull)


@compiled
def nearest_of(hull: Table, count: int, x: float, y: float) -> Point:
    """Return the point of a convex polygon nearest to a point; the point itself if it is inside.

    Args:
        hull: Corners, counter-clockwise, in the first of its rows, shape (k, 2).
        count: Number of corners.
        x: First coordinate of the point.
        y: Second coordinate.
    """
    return _nearest(hull, count, x, y)


@inlined
def _nearest(hull: Table, count: int, x: float, y: float) -> Point:
    outside = count < 3
    nearest_x, nearest_y, least = hull[0][0], hull[0][1], math.inf
    for i in range(count):
        j = (i + 1) % count
        ax, ay = hull[i][0], hull[i][1]
        ux, uy, px, py = hull[j][0] - ax, hull[j][1] - ay, x - ax, y - ay
        if ux * py - uy * px < 0.0:
            outside = True
        length = ux * ux + uy * uy
        t = min(1.0, max(0.0, (px * ux + py * uy) / length)) if length > 0.0 else 0.0
        qx, qy = ax + t * ux, ay + t * uy
        distance = (x - qx) ** 2 + (y - qy) ** 2
        if distance < least:
            nearest_x, nearest_y, least = qx, qy, distance
    return (nearest_x, nearest_y) if outside else (x, y)


@inlined
def _corners(points: MutableTable, hull: MutableTable) -> int:
    count = _sorted_distinct(points)
    if count <= 2:
        for i in range(count):
            hull[i][0], hull[i][1] = points[i][0], points[i][1]
        return count
    lower = _chain(points, 0, count, 1, hull, 0)
    return _chain(points, count - 1, -1, -1, hull, lower - 1) - 1  # each ends where the other begins


@inlined
def _sorted_distinct(points: MutableTable) -> int:
    """Sort points by their coordinates, each of them once; return their number."""
    count = 0
    for i in range(len(points)):
        x, y, k = points[i][0], points[i][1], count
        while k > 0 and (points[k - 1][0] > x or (points[k - 1][0] == x and points[k - 1][1] > y)):
            k -= 1
        if k > 0 and points[k - 1][0] == x and points[k - 1][1] == y:
            continue
        for j in range(count, k, -1):
            points[j][0], points[j][1] = points[j - 1][0], points[j - 1][1]
        points[k][0], points[k][1] = x, y
        count += 1
    return count


@inlined
def _chain(points: MutableTable, start: int, stop: int, step: int, hull: MutableTable, first: int) -> int:
    """Write the lower or upper half of a hull from a row on; return the row behind it."""
    k, i = first, start
    while i != stop:
        x, y = points[i][0], points[i][1]
        while k - first >= 2:
            ax, ay, bx, by = hull[k - 2][0], hull[k - 2][1], hull[k - 1][0], hull[k - 1][1]
            if (bx - ax) * (y - ay) - (by - ay) * (x - ax) > 0.0:
                break
            k -= 1
        hull[k][0], hull[k][1] = x, y
        k, i = k + 1, i + step
    return k
