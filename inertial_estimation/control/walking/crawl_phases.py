"""Phases of the crawl: standing, transfer, dwell, swing.

Each phase holds the data that exist only while it lasts, and returns the phase that comes next.

The feet that stand span a polygon (a triangle for a quadruped). A robot at rest does not tip over while its
centre of mass is above it; a margin off every edge is left for what is not known.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from inertial_estimation.control.support_polygon import Point, convex_hull, nearest_inside
from inertial_estimation.control.support_target import GaitPhase
from inertial_estimation.control.tasks import FootReference
from inertial_estimation.control.walking.crawl_context import CrawlContext, CrawlTick
from inertial_estimation.control.walking.ground_map import GroundFrame
from inertial_estimation.control.walking.swing import SwingPath
from inertial_estimation.signals import Array

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


TOUCH_DURATION_S = 0.008  # for which the ground must be felt, longer than a peak of the noise
LIFTED_SHARE = 0.2  # of a swing, from which a force at the foot is new ground, or the robot tips over
TOUCH_LAG_M = 0.01  # of a foot behind its way down: the ground has stopped it
CATCH_DURATION_S = 0.1  # in which a foot is put down that was caught in the air
STAY_MARGIN_SHARE = 0.9  # of the margin: where it has that much, the body does not move again


class CrawlPhase(ABC):
    """One phase of the crawl.

    Attributes:
        phase: Its name.
        elapsed: Time since it began [s].
    """

    phase: ClassVar[GaitPhase]

    def __init__(self, context: CrawlContext) -> None:
        """Begin; the centre of mass goes on along its path."""
        self._context = context
        self.elapsed = 0.0
        context.body.begin_phase()

    @property
    def activity(self) -> str:
        """The phase with its foot, for people."""
        return f"{self.phase.value} of {self._context.plan.foot_name}"

    @property
    def swing(self) -> int | None:
        """Index of the foot in the air; None: all stand."""
        return None

    def advance(self, h: float) -> None:
        """Let time pass [s]."""
        self.elapsed += h
        self._context.body.advance(h)

    def after_leap(self) -> "CrawlPhase":
        """Return the phase that follows a jump of the estimated centre of mass."""
        return self

    @abstractmethod
    def next(self, tick: CrawlTick) -> "CrawlPhase":
        """Return the phase of this tick.

        Args:
            tick: Measurements of this tick.
        """

    def share_load(self, h: float) -> None:
        """Move the loads of the feet.

        Args:
            h: Time since the last call [s].
        """
        self._context.loads.update(h / self._context.crawl.load_duration)

    def swing_reference(self, frame: GroundFrame) -> FootReference | None:
        """Return where the foot in the air should be; None: all stand.

        Args:
            frame: Pose of the ground frame.
        """
        return None


class Standing(CrawlPhase):
    """All feet stand, the centre of mass in their middle."""

    phase = GaitPhase.STANDING

    @property
    def activity(self) -> str:
        """The phase, for people."""
        return self.phase.value

    def next(self, tick: CrawlTick) -> CrawlPhase:
        """Start walking if a walk is requested."""
        context = self._context
        context.plan.take_command(context.ground.places)
        return _set_off(context) if context.plan.walking else self


class _BetweenSwings(CrawlPhase):
    """All feet stand, and another swing is to come."""

    def next(self, tick: CrawlTick) -> CrawlPhase:
        """Stand where the walk has ended, stay on all feet while the robot tips, else go on."""
        context = self._context
        context.plan.take_command(context.ground.places)
        if not context.plan.walking:
            return _stand(context)
        if context.tipping:
            return _Transfer(context)
        return self._go_on(tick)

    @abstractmethod
    def _go_on(self, tick: CrawlTick) -> CrawlPhase:
        """Return the phase of this tick of an undisturbed walk."""


class _Transfer(_BetweenSwings):
    """All feet stand, the centre of mass moves over those that will carry it."""

    phase = GaitPhase.TRANSFER

    def _go_on(self, tick: CrawlTick) -> CrawlPhase:
        return _Dwell(self._context) if self._context.body.arrived else self


class _Dwell(_BetweenSwings):
    """All feet stand and the body rests; at the end the foot that leaves gives up its load."""

    phase = GaitPhase.DWELL

    def after_leap(self) -> CrawlPhase:
        """Return the transfer phase: the centre of mass is no longer at rest."""
        return _Transfer(self._context)

    def share_load(self, h: float) -> None:
        """Unload the foot that leaves at the end."""
        context = self._context
        leaving = self.elapsed >= context.dwell_duration - context.crawl.load_duration
        foot = context.plan.foot if leaving else None
        context.loads.update(h / context.crawl.load_duration, unloading=foot)

    def _go_on(self, tick: CrawlTick) -> CrawlPhase:
        context = self._context
        if self.elapsed < context.dwell_duration:
            return self
        context.ground.relocate(tick.frame, tick.centres)
        return _lift_off(context)


class _Swing(CrawlPhase):
    """One foot is in the air."""

    phase = GaitPhase.SWING

    def __init__(
        self, context: CrawlContext, path: SwingPath, landing: Array, *, caught: bool, touched_for: float
    ) -> None:
        """Begin a swing.

        Args:
            context: Data that outlive it.
            path: Path of the foot in the ground frame.
            landing: Where it lands in the ground frame [m], shape (3,).
            caught: Whether the foot is put down where it is, since the robot tips over.
            touched_for: Time for which the ground has been felt [s].
        """
        super().__init__(context)
        self._path, self._landing = path, landing
        self._caught, self._touched_for = caught, touched_for

    @property
    def swing(self) -> int | None:
        """Index of the foot in the air."""
        return self._context.plan.foot

    def next(self, tick: CrawlTick) -> CrawlPhase:
        """End the swing where the ground is felt, in the end by time; catch a robot that tips over."""
        self._feel(tick)
        late = self.elapsed >= self._path.duration + self._context.walking.late_touchdown
        if late or self._touched_for >= TOUCH_DURATION_S:
            return self._touch_down(tick)
        if self._context.tipping and not self._caught:
            return self._come_down(tick)
        return self

    def _feel(self, tick: CrawlTick) -> None:
        """Take note of how long the ground has been felt.

        A force shows it, where there is a sensor; and that the foot does not follow its way down: a light leg
        hardly presses.
        """
        walking, i = self._context.walking, self._context.plan.foot
        progress = self.elapsed / self._path.duration
        force, foot = tick.forces[i] if tick.forces else None, tick.feet[i]
        wanted = self._path.reference(self.elapsed, self._landing, tick.frame)
        slow = foot.velocity[2] - wanted.velocity[2] > 0.5 * walking.touchdown_speed
        behind = foot.p_BF_W[2] - wanted.p_BF_W[2] > TOUCH_LAG_M
        touched = bool(
            (progress >= LIFTED_SHARE and force is not None and force > walking.touchdown_force)
            or (progress >= walking.early_touchdown and behind)
            or (progress >= 1.0 and slow)
        )
        self._touched_for = self._touched_for + tick.h if touched else 0.0

    def share_load(self, h: float) -> None:
        """Keep the load of the foot in the air at its least."""
        context = self._context
        context.loads.update(h / context.crawl.load_duration, airborne=context.plan.foot)

    def swing_reference(self, frame: GroundFrame) -> FootReference | None:
        """Return where the foot should be."""
        return self._path.reference(self.elapsed, self._landing, frame)

    def _come_down(self, tick: CrawlTick) -> CrawlPhase:
        """Put the foot down where it is."""
        context = self._context
        start = tick.frame.to_ground(tick.centres[context.plan.foot])
        x, y, z = start.tolist()
        landing = np.array([x, y, context.ground.blended_plane().height(x, y)])
        path = SwingPath(start, np.zeros(3), CATCH_DURATION_S, z, context.walking.touchdown_speed)
        return _Swing(context, path, landing, caught=True, touched_for=self._touched_for)

    def _touch_down(self, tick: CrawlTick) -> CrawlPhase:
        context = self._context
        context.ground.land(tick.frame, tick.centres, context.plan.foot)
        if self._caught:
            return _Transfer(context)  # the same foot again, once the robot stands
        context.plan.count_landing()
        return _set_off(context) if context.plan.walking else _stand(context)


def _stand(context: CrawlContext) -> CrawlPhase:
    """Stand on all feet, the centre of mass in their middle."""
    context.body.move_to(context.ground.middle, context.crawl)
    return Standing(context)


def _set_off(context: CrawlContext) -> CrawlPhase:
    """Bring the centre of mass over the coming polygon, if possible where it can be over the next one too."""
    plan, body, margin = context.plan, context.body, context.crawl.margin
    places = context.ground.places[:, :2].copy()
    polygons = []
    for ahead in range(min(2, plan.swings_left)):
        foot = plan.foot_ahead(ahead)
        polygons.append([(x, y) for i, (x, y) in enumerate(places.tolist()) if i != foot])
        places[foot] = plan.landing(places, foot)
        if ahead == 0:
            middle = places.mean(axis=0)
    goal = (float(body.goal[0]), float(body.goal[1]))
    if edge_distance(polygons[0], goal) >= STAY_MARGIN_SHARE * margin and body.arrived:
        return _Dwell(context)
    preferred = (float(middle[0]), float(middle[1]))
    body.move_to(rest_point(polygons, preferred, margin), context.crawl)
    return _Transfer(context)


def _lift_off(context: CrawlContext) -> CrawlPhase:
    """Let the next foot swing to its foothold."""
    ground, walking, foot = context.ground, context.walking, context.plan.foot
    x, y = context.plan.landing(ground.places, foot).tolist()
    landing = np.array([x, y, ground.plane.height(x, y)])
    start = ground.places[foot].copy()
    apex = max(float(start[2]), float(landing[2])) + walking.swing_height
    path = SwingPath(start, np.zeros(3), context.crawl.swing_duration, apex, walking.touchdown_speed)
    return _Swing(context, path, landing, caught=False, touched_for=0.0)
