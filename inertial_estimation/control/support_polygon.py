"""Support polygon: convex hull of the points in contact, and the nearest point inside it."""

from collections.abc import Sequence

__all__ = ["Point", "convex_hull", "nearest_inside"]

Point = tuple[float, float]


def convex_hull(points: Sequence[Point]) -> list[Point]:
    """Return the corners of the convex hull, counter-clockwise (Andrew's monotone chain).

    Args:
        points: Points in the plane; at least one.
    """
    ordered = sorted(set(points))
    if len(ordered) <= 2:
        return ordered
    lower, upper = _half_hull(ordered), _half_hull(ordered[::-1])
    return lower[:-1] + upper[:-1]


def nearest_inside(hull: Sequence[Point], point: Point) -> Point:
    """Return the point of a convex polygon nearest to a point; the point itself if it is inside.

    Args:
        hull: Corners, counter-clockwise; a single one or two are a point or a segment.
        point: The point.
    """
    x, y = point
    n = len(hull)
    outside = n < 3
    best, best_distance = hull[0], float("inf")
    for i in range(n):
        (ax, ay), (bx, by) = hull[i], hull[(i + 1) % n]
        ux, uy, px, py = bx - ax, by - ay, x - ax, y - ay
        if ux * py - uy * px < 0.0:
            outside = True
        length = ux * ux + uy * uy
        t = min(1.0, max(0.0, (px * ux + py * uy) / length)) if length > 0.0 else 0.0
        qx, qy = ax + t * ux, ay + t * uy
        distance = (x - qx) ** 2 + (y - qy) ** 2
        if distance < best_distance:
            best, best_distance = (qx, qy), distance
    return best if outside else point


def _half_hull(points: Sequence[Point]) -> list[Point]:
    hull: list[Point] = []
    for point in points:
        while len(hull) >= 2 and _turn(hull[-2], hull[-1], point) <= 0.0:
            hull.pop()
        hull.append(point)
    return hull


def _turn(a: Point, b: Point, c: Point) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
