"""The crawl: a statically stable walk on four or more points (Tournois et al. V-C, Focchi et al. 2016).

All feet stand while the centre of mass moves over the polygon of the feet that will carry the robot. It rests
there while one foot gives up its load, swings, and lands. The robot can stop at any moment.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from inertial_estimation.control.balance import edge_distance
from inertial_estimation.control.references import RETURN_SHARE, WalkCommand
from inertial_estimation.control.tasks import FootReference
from inertial_estimation.control.walking.crawl_plan import BodyMotion, CrawlPlan, rest_point
from inertial_estimation.control.walking.gait import (
    EARLY_TOUCHDOWN,
    LATE_TOUCHDOWN_S,
    LEAST_LOAD,
    LOAD_S,
    Gait,
    GaitPhase,
    Phase,
    SupportTarget,
    SwingPath,
    Tick,
)
from inertial_estimation.control.walking.ground import GroundFrame, WalkingGround
from inertial_estimation.models.whole_body_dynamics import DynamicsState
from inertial_estimation.signals import Array
from inertial_estimation.spatial.rotations import yaw_of

TOUCH_DURATION_S = 0.008  # time for which the ground must be detected, longer than a peak of the noise
# Share of a swing's duration from which on a force at the foot means that it has met the ground, also because
# the robot tips over; share of its height by which a foot lags its path down when the ground has stopped it.
LIFTED_SHARE = 0.2
CATCH_SHARE = 0.5  # share of the margin; at a larger error of the DCM the swing foot is put down at once


class _Look(NamedTuple):
    """Measurements of a tick for the phases."""

    frame: GroundFrame  # pose of the ground frame
    tick: Tick
    tipping: bool  # whether the robot is about to tip over according to the model


class CrawlGait(Gait):
    """One foot swings at a time, with the centre of mass at rest over the others.

    Attributes:
        plan: Sequence of the feet, and their footholds.
        ground: Positions of the feet, and the plane through them.
        body: Motion of the centre of mass.
        loads: Share of its full load that each foot may carry, shape (n,).
    """

    def reset(self) -> None:
        """Stand; discard the requested and completed steps and the initial positions of the feet."""
        super().reset()
        self.plan = CrawlPlan()
        self._stand_on([np.zeros(3)] * len(self.contacts), 0.0)

    @property
    def dwell_duration(self) -> float:
        """Duration of the rest [s], at least enough to load a landed foot and to unload the next one."""
        return max(self.config.crawl.dwell, 2.0 * LOAD_S)

    def start(self, state: DynamicsState) -> None:
        """Stand on the feet as they are."""
        self._stand_on([frame.p_BF_W for frame in state.frames], yaw_of(state.base.R_WF))
        self.plan.stand(self.ground.places)
        self.left = 0

    def plan_walk(self, command: WalkCommand) -> None:
        """Plan the footholds, up to the distance that every foot reaches with its steps."""
        self.plan.walk(self.ground.places, command)

    def target(self, tick: Tick) -> SupportTarget:
        """Return the present target of support and swing foot."""
        h, ground, body = tick.h, self.ground, self.body
        self._state.elapsed += h
        body.advance(h)
        ground.advance(h)
        standing = [i for i in range(len(self.contacts)) if i != self._state.swing]
        frame = ground.locate(tick.centres, standing)
        place = frame.to_ground(tick.state.com)[:2]
        velocity = (frame.R_WG.T @ tick.state.com_motion.velocity)[:2]
        fresh = body.follow(place, velocity, h, self.config.crawl.acceleration)
        if fresh and self.phase is GaitPhase.DWELL:
            self._state = _Transfer(self)  # the centre of mass is no longer at rest
        place, velocity, _ = body.reference()
        error = tick.dcm - _horizontal(frame, place + velocity / tick.omega)
        tipping = math.hypot(*error.tolist()) > CATCH_SHARE * self.config.crawl.margin
        self._state = self._state.next(_Look(frame, tick, tipping))
        self._share_load(h)
        if self.phase is GaitPhase.STANDING:
            ground.settle(frame, tick.centres, h)
        return self._target(frame, tick.omega, fresh)

    def stand(self) -> "_Phase":
        """Stand on all feet, the centre of mass in their middle."""
        self.body.move_to(self.ground.middle, self.config.crawl.acceleration)
        return _Standing(self)

    def set_off(self) -> "_Phase":
        """Move the centre of mass into the next support polygon, if possible also into the one after it."""
        plan, body, margin = self.plan, self.body, self.config.crawl.margin
        places, polygons = self.ground.places[:, :2].copy(), []
        middle = places.mean(axis=0)
        for ahead in range(min(2, self.left)):
            foot = plan.foot_ahead(ahead)
            polygons.append([(x, y) for i, (x, y) in enumerate(places.tolist()) if i != foot])
            places[foot] = plan.landing(places, foot)
            middle = places.mean(axis=0) if ahead == 0 else middle
        goal = (float(body.goal[0]), float(body.goal[1]))
        if edge_distance(polygons[0], goal) >= RETURN_SHARE * margin and body.arrived:
            return _Dwell(self)
        preferred = (float(middle[0]), float(middle[1]))
        body.move_to(rest_point(polygons, preferred, margin), self.config.crawl.acceleration)
        return _Transfer(self)

    def _stand_on(self, places: Sequence[Array], yaw: float) -> None:
        self.ground = WalkingGround(places, yaw)
        self.body, self.loads = BodyMotion(self.ground.middle), np.ones(len(places))
        self._state: _Phase = _Standing(self)

    def _share_load(self, h: float) -> None:
        """Raise all loads towards 1 over a time [s]; lower that of a foot that leaves or is in the air."""
        self.loads += h / LOAD_S
        if self._state.unloading is not None:
            self.loads[self._state.unloading] -= 2.0 * h / LOAD_S
        if self._state.swing is not None:
            self.loads[self._state.swing] = 0.0
        np.clip(self.loads, LEAST_LOAD, 1.0, out=self.loads)

    def _target(self, frame: GroundFrame, omega: float, fresh: bool) -> SupportTarget:
        state, plane = self._state, self.ground.blended_plane()
        place, velocity, acceleration = self.body.reference()
        foot = state.swing_reference(frame)
        x, y, _ = frame.to_ground(np.zeros(3)).tolist()
        loads = (self.loads**2).tolist()  # a foot in the air is no contact
        of_foot = f" of {self.contacts[self.plan.foot].name}" if state.kind is not GaitPhase.STANDING else ""
        return SupportTarget(
            state.kind,
            f"{state.kind.value}{of_foot}",
            tuple(0.0 if i == state.swing else load for i, load in enumerate(loads)),
            _horizontal(frame, place - acceleration / omega**2),
            _horizontal(frame, place + velocity / omega),
            float(frame.p_BG_W[2]) + plane.height(x, y),
            frame.yaw + self.plan.heading,
            None if state.swing is None or foot is None else (state.swing, foot),
            support_motion=(float(plane.slope @ velocity), float(plane.slope @ acceleration)),
            R_WG=frame.R_WG @ plane.axes(),
            fresh=fresh,
        )


def _horizontal(frame: GroundFrame, place: Array) -> Array:
    """Return a point of the ground frame relative to the base origin, horizontal [m], shape (2,)."""
    return frame.from_ground(np.array([place[0], place[1], 0.0]))[:2]


class _Phase(Phase, ABC):
    """One phase of the crawl; the centre of mass continues on its path in all phases."""

    swing: int | None = None  # the foot in the air; None: all stand

    def __init__(self, gait: CrawlGait) -> None:
        self._gait = gait

    @abstractmethod
    def next(self, now: _Look) -> "_Phase":
        """Return the phase of this tick."""

    @property
    def unloading(self) -> int | None:
        """The foot that gives up its load; None if no foot does."""
        return None

    def swing_reference(self, frame: GroundFrame) -> FootReference | None:
        """Return the reference of the foot in the air, from the pose of the ground frame; None: all stand."""
        return None


class _Standing(_Phase):
    """All feet stand, the centre of mass in their middle."""

    kind = GaitPhase.STANDING

    def next(self, now: _Look) -> _Phase:
        self._gait.take_command()
        return self._gait.set_off() if self._gait.goes_on else self


class _Transfer(_Phase):
    """All feet stand, the centre of mass moves over those that will carry it."""

    kind = GaitPhase.TRANSFER

    def next(self, now: _Look) -> _Phase:
        """Stand if the walk has ended, stay on all feet while the robot tips, else continue."""
        gait = self._gait
        gait.take_command()
        if not gait.goes_on:
            return gait.stand()
        return _Transfer(gait) if now.tipping else self._undisturbed(now)

    def _undisturbed(self, now: _Look) -> _Phase:
        return _Dwell(self._gait) if self._gait.body.arrived else self


class _Dwell(_Transfer):
    """All feet stand and the body rests; at the end the foot that leaves gives up its load."""

    kind = GaitPhase.DWELL

    @property
    def unloading(self) -> int | None:
        leaving = self.elapsed >= self._gait.dwell_duration - LOAD_S
        return self._gait.plan.foot if leaving else None

    def _undisturbed(self, now: _Look) -> _Phase:
        """Start the swing of the next foot to its foothold at the end of the rest."""
        gait = self._gait
        if self.elapsed < gait.dwell_duration:
            return self
        gait.ground.relocate(now.frame, now.tick.centres)
        ground, walking, foot = gait.ground, gait.config.walking, gait.plan.foot
        x, y = gait.plan.landing(ground.places, foot).tolist()
        landing, start = np.array([x, y, ground.plane.height(x, y)]), ground.places[foot].copy()
        apex = max(float(start[2]), float(landing[2])) + walking.swing_height
        duration = gait.config.crawl.swing_duration
        path = SwingPath(start, np.zeros(3), duration, apex, walking.touchdown_speed)
        return _Swing(gait, path, landing)


class _Swing(_Phase):
    """One foot is in the air."""

    kind = GaitPhase.SWING

    def __init__(
        self, gait: CrawlGait, path: SwingPath, landing: Array, caught_for: float | None = None
    ) -> None:
        """Begin a swing.

        Args:
            gait: The crawl.
            path: Path of the foot in the ground frame.
            landing: Where it lands in the ground frame [m], shape (3,).
            caught_for: None for a step. Otherwise the foot is put down where it is, since the robot tips
                over, and this is the time for which the ground has been detected [s].
        """
        super().__init__(gait)
        self.swing: int = gait.plan.foot
        self._path, self._landing = path, landing
        self._caught, self._touched_for = caught_for is not None, caught_for or 0.0

    def next(self, now: _Look) -> _Phase:
        """End the swing when the ground is detected, at the latest by time; catch a robot that tips over."""
        gait = self._gait
        self._touched_for = self._touched_for + now.tick.h if self._touches(now) else 0.0
        late = self.elapsed >= self._path.duration + LATE_TOUCHDOWN_S
        if late or self._touched_for >= TOUCH_DURATION_S:
            gait.ground.land(now.frame, now.tick.centres[self.swing], self.swing)
            if self._caught:
                return _Transfer(gait)  # the same foot again, once the robot stands
            gait.plan.next_foot()
            gait.left -= 1
            gait.steps_made += 1
            return gait.set_off() if gait.goes_on else gait.stand()
        return self._come_down(now) if now.tipping and not self._caught else self

    def swing_reference(self, frame: GroundFrame) -> FootReference:
        return self._path.reference(self.elapsed, self._landing, frame.yaw, frame.p_BG_W)

    def _touches(self, now: _Look) -> bool:
        """Return whether the ground is detected.

        It shows by a force, where there is a sensor, or by a foot that no longer follows its path down: a
        light leg hardly presses on the ground.
        """
        gait, walking = self._gait, self._gait.config.walking
        progress, forces = self.elapsed / self._path.duration, now.tick.forces
        foot, wanted = now.tick.state.frames[self.swing], self.swing_reference(now.frame)
        force = forces[self.swing] if forces else None
        slow = foot.velocity[2] - wanted.velocity[2] > 0.5 * walking.touchdown_speed
        behind = foot.p_BF_W[2] - wanted.p_BF_W[2] > LIFTED_SHARE * walking.swing_height
        return bool(
            (progress >= LIFTED_SHARE and force is not None and force > gait.touchdown_force)
            or (progress >= EARLY_TOUCHDOWN and behind)
            or (progress >= 1.0 and slow)
        )

    def _come_down(self, now: _Look) -> _Phase:
        """Put the foot down where it is."""
        start = now.frame.to_ground(now.tick.centres[self.swing])
        x, y, z = start.tolist()
        landing = np.array([x, y, self._gait.ground.blended_plane().height(x, y)])
        path = SwingPath(start, np.zeros(3), LOAD_S, z, self._gait.config.walking.touchdown_speed)
        return _Swing(self._gait, path, landing, self._touched_for)
