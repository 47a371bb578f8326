"""Balance by the divergent component of motion, and the polygons and loads of the feet.

xi = c + c'/omega obeys xi' = omega (xi - p), p the centre of pressure (Englsberger et al. 2013). For the
error e = xi - xi_ref to decay as e' = -k e the centre of pressure must be

    p = p_ref + (1 + k/omega) e + (k_i/omega) int e dt

and the centre of mass then accelerates with c'' = omega^2 (c - p) (Benallegue et al. V-B).
"""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls

from inertial_estimation.control.config import BalanceConfig
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra

INTEGRAL_GAIN = 1.0  # k_i on the error of the DCM [1/s^2]
INTEGRAL_LIMIT = 0.04  # largest shift of the centre of pressure by the integral (anti-windup) [m]
Point = tuple[float, float]


def pendulum_frequency(height: float) -> float:
    """Return omega = sqrt(g / height) of the linear inverted pendulum [1/s]."""
    return math.sqrt(STANDARD_GRAVITY / height)


class DcmFeedback:
    """Finds the centre of pressure that brings the divergent component of motion (DCM) to its reference."""

    def __init__(self, integral: float = INTEGRAL_GAIN) -> None:
        """Begin with an integral of zero, which grows by a gain k_i [1/s^2]."""
        self._gain = integral
        self.reset()

    def reset(self) -> None:
        """Forget the integral."""
        self._integral = np.zeros(2)  # shift of the centre of pressure, world axes [m]
        self._saturated = False  # whether the last centre of pressure was moved back into the support polygon

    def centre_of_pressure(
        self, config: BalanceConfig, error: Array, p_ref: Array, support: Array, omega: float, h: float
    ) -> Array:
        """Return the centre of pressure to apply.

        Args:
            config: Gains.
            error: xi - xi_ref [m], shape (2,).
            p_ref: Centre of pressure of the reference [m], shape (2,).
            support: Corners of the loaded soles, moved inwards by the margin [m], shape (k, 2), k >= 1.
            omega: Frequency of the pendulum [1/s].
            h: Time since the last call [s].

        Returns:
            Centre of pressure inside the support polygon [m], shape (2,).
        """
        if not self._saturated:
            self._integral = self._integral + h * self._gain / omega * error
            length = math.hypot(*self._integral.tolist())
            self._integral *= min(1.0, INTEGRAL_LIMIT / max(length, INTEGRAL_LIMIT))
        x, y = (p_ref + (1.0 + config.gain / omega) * error + self._integral).tolist()
        reached = nearest_inside(convex_hull(support.tolist()), (x, y))
        self._saturated = reached != (x, y)
        return np.array(reached)


class PressureSegment(NamedTuple):
    """The centre of pressure moves in a straight line."""

    start: Array  # [m], shape (2,)
    end: Array  # [m], shape (2,)
    duration: float  # [s]


def dcm_of_plan(segments: Sequence[PressureSegment], omega: float) -> Array:
    """Return the DCM at the beginning of a plan that ends at rest [m], shape (2,).

    While p moves linearly from p0 to p1 within T, xi(t) = p(t) + p'/omega + (xi(0) - p0 - p'/omega)
    e^{omega t}. It is unstable forwards and stable backwards: the plan ends at rest, xi(end) = p(end), and
    the recursion runs back to now.

    Args:
        segments: The plan, from now on; at least one.
        omega: Frequency of the pendulum [1/s].
    """
    xi = segments[-1].end
    for start, end, duration in reversed(segments):
        if duration > 0.0:
            shift = (end - start) / (omega * duration)
            xi = start + shift + math.exp(-omega * duration) * (xi - end - shift)
    return xi


def load_shares(centres: Sequence[Array], capacity: Sequence[float], pressure: Array) -> Array:
    """Return the share of the weight each contact should carry for a centre of pressure, shape (m,).

    The shares s have the least norm with sum s = 1, sum s p = pressure: s = 1/n - z, z of least norm with
    C'z = mean of the arms p - pressure, C the arms less their mean (so that sum z = 0). For contacts in a
    line, the pressure is projected on the line. No share exceeds the capacity of its contact.

    Args:
        centres: Centre of each contact [m], shape (2,) or (3,).
        capacity: Largest share of each contact, 0 (in the air) to 1.
        pressure: Centre of pressure [m], shape (2,).
    """
    shares, limits = np.zeros(len(capacity)), np.array(capacity)
    standing = np.flatnonzero(limits > 0.0).tolist()
    if not standing:
        return shares
    arms = np.array([centres[i][:2] - pressure for i in standing])
    mean = arms.mean(axis=0)
    shares[standing] = 1.0 / len(standing) - linear_algebra.pinv((arms - mean).T, 1e-6) @ mean
    shares = np.minimum(np.clip(shares, 0.0, 1.0), limits)
    total = float(shares.sum())
    normalised: Array = shares / total if total > 0.0 else shares
    return normalised


def convex_hull(points: Iterable[Sequence[float]]) -> list[Point]:
    """Return the corners of the convex hull of points in the plane, counter-clockwise (Andrew's chains)."""
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
        hull: Corners, counter-clockwise; one or two corners are a point or a segment.
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


def _edges(hull: Sequence[Point]) -> list[tuple[float, float, float]]:
    """Half planes n p >= d of a convex polygon, n of length one."""
    edges = []
    for (ax, ay), (bx, by) in zip(hull, [*hull[1:], hull[0]], strict=True):
        length = math.hypot(bx - ax, by - ay)
        if length > 0.0:
            nx, ny = (ay - by) / length, (bx - ax) / length
            edges.append((nx, ny, nx * ax + ny * ay))
    return edges


def edge_distance(feet: Sequence[Point], point: Point) -> float:
    """Return the distance of a point from the edges of the polygon of the feet [m]; negative outside.

    Args:
        feet: Positions of the standing feet [m]; at least three that are not in one line.
        point: The point.
    """
    return min(nx * point[0] + ny * point[1] - d for nx, ny, d in _edges(convex_hull(feet)))


def nearest_within(polygons: Sequence[Sequence[Point]], margin: float, point: Point) -> Point | None:
    """Return the point inside all polygons, a margin from every edge, that is nearest to a point.

    The least distance x to the half planes G x >= h follows from the residual r = E u - e of the non-negative
    least squares of E = [G'; h'] and the last unit vector e: x = -r_xy / r_z (Lawson and Hanson, 23.27).

    Args:
        polygons: Positions of the standing feet of each polygon [m].
        margin: Distance from the edges [m].
        point: The point, which is returned unchanged if it is inside.

    Returns:
        The nearest point; None if there is none inside.
    """
    edges = np.array([edge for feet in polygons for edge in _edges(convex_hull(feet))])
    G, h = edges[:, :2], edges[:, 2] + margin - edges[:, :2] @ point
    if (h <= 0.0).all():
        return point
    E, last = np.vstack((G.T, h)), np.array([0.0, 0.0, 1.0])
    residual = E @ nnls(E, last)[0] - last
    if np.allclose(residual, 0.0):
        return None
    x, y = (point - residual[:2] / residual[2]).tolist()
    return x, y
