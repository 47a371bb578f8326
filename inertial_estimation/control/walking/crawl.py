"""The crawl: a statically stable walk on four or more points (Tournois et al. V-C, Focchi et al. 2016).

All feet stand while the centre of mass moves over the polygon of the feet that will carry; there it rests,
the foot that leaves gives up its load, swings, and lands. The robot could stop at any moment. Each phase
holds the data that exist only while it lasts, and returns the phase that comes next.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from inertial_estimation.control.balance import edge_distance
from inertial_estimation.control.config import CrawlConfig, WalkingConfig
from inertial_estimation.control.inverse_dynamics import Contact
from inertial_estimation.control.references import WalkCommand
from inertial_estimation.control.tasks import FootReference
from inertial_estimation.control.walking.crawl_plan import BodyMotion, CrawlPlan, rest_point
from inertial_estimation.control.walking.gait import (
    EARLY_TOUCHDOWN,
    LATE_TOUCHDOWN_S,
    Gait,
    GaitContext,
    GaitPhase,
    StepLimits,
    SupportTarget,
    SwingPath,
    Tick,
    check_walk,
)
from inertial_estimation.control.walking.ground import GroundFrame, WalkingGround
from inertial_estimation.models.whole_body_dynamics import DynamicsState
from inertial_estimation.signals import Array
from inertial_estimation.spatial.rotations import yaw_of

LOAD_S = 0.12  # in which a landed foot is loaded, a leaving one unloaded, one caught in the air put down
LEAST_SHARE = 1e-3  # of the load of a foot still on the ground: it may push, but hardly does
TOUCH_DURATION_S = 0.008  # for which the ground must be felt, longer than a peak of the noise
LIFTED_SHARE = 0.2  # of a swing, from which a force at the foot is new ground, or the robot tips over
TOUCH_LAG_M = 0.01  # of a foot behind its way down: the ground has stopped it
CATCH_M = 0.025  # error of the divergent component of motion beyond which a swing foot is put down at once
STAY_MARGIN_SHARE = 0.9  # of the margin: where it has that much, the body does not move again


@dataclass(slots=True, eq=False, kw_only=True)
class CrawlContext(GaitContext):
    """Data that outlive a phase."""

    crawl: CrawlConfig  # durations, margin
    plan: CrawlPlan  # what is left of the walk
    ground: WalkingGround  # places of the feet
    body: BodyMotion  # motion of the centre of mass
    loads: Array  # share of its full load that each foot takes, shape (n,)
    tipping: bool = False  # whether the robot is about to tip over according to the model

    @property
    def dwell_duration(self) -> float:
        """Duration of the rest: a landed foot takes its load in it, and one gives it up at its end [s]."""
        return max(self.crawl.dwell, 2.0 * LOAD_S)

    @property
    def goes_on(self) -> bool:
        """Whether another swing is to be made now."""
        return self.plan.swings_left > 0 and not self.held

    def take_command(self) -> None:
        """Plan the walk requested since the last call, if any."""
        if self.asked is not None:
            self.plan.walk(self.ground.places, self.asked)
            self.asked = None

    def share_load(self, h: float, *, unloading: int | None = None, airborne: int | None = None) -> None:
        """Move all loads towards the full one.

        Args:
            h: Time since the last call [s].
            unloading: A foot that gives up its load instead.
            airborne: A foot without load.
        """
        self.loads += h / LOAD_S
        if unloading is not None:
            self.loads[unloading] -= 2.0 * h / LOAD_S
        if airborne is not None:
            self.loads[airborne] = 0.0
        np.clip(self.loads, LEAST_SHARE, 1.0, out=self.loads)


class CrawlPhase(ABC):
    """One phase of the crawl.

    Attributes:
        phase: Its kind.
        swing: Index of the foot in the air; None: all stand.
    """

    phase: ClassVar[GaitPhase]
    swing: int | None = None

    def __init__(self, context: CrawlContext) -> None:
        """Begin; the centre of mass goes on along its path."""
        self._context = context
        self._elapsed = 0.0

    @property
    def activity(self) -> str:
        """The phase with its foot, for people."""
        return f"{self.phase.value} of {self._context.plan.foot_name}"

    def advance(self, h: float) -> None:
        """Let time pass [s]."""
        self._elapsed += h

    def after_leap(self) -> "CrawlPhase":
        """Return the phase that follows a jump of the estimated centre of mass."""
        return self

    @abstractmethod
    def next(self, frame: GroundFrame, tick: Tick) -> "CrawlPhase":
        """Return the phase of this tick."""

    def share_load(self, h: float) -> None:
        """Move the loads of the feet during a time [s]."""
        self._context.share_load(h)

    def swing_reference(self, frame: GroundFrame) -> FootReference | None:
        """Return where the foot in the air should be, by the pose of the ground frame; None: all stand."""
        return None


class Standing(CrawlPhase):
    """All feet stand, the centre of mass in their middle."""

    phase = GaitPhase.STANDING

    @property
    def activity(self) -> str:
        """The phase, for people."""
        return self.phase.value

    def next(self, frame: GroundFrame, tick: Tick) -> CrawlPhase:
        """Start walking if a walk is requested."""
        context = self._context
        context.take_command()
        return _set_off(context) if context.goes_on else self


class _BetweenSwings(CrawlPhase):
    """All feet stand, and another swing is to come."""

    def next(self, frame: GroundFrame, tick: Tick) -> CrawlPhase:
        """Stand where the walk has ended, stay on all feet while the robot tips, else go on."""
        context = self._context
        context.take_command()
        if not context.goes_on:
            return _stand(context)
        if context.tipping:
            return _Transfer(context)
        return self._go_on(frame, tick)

    @abstractmethod
    def _go_on(self, frame: GroundFrame, tick: Tick) -> CrawlPhase:
        """Return the phase of this tick of an undisturbed walk."""


class _Transfer(_BetweenSwings):
    """All feet stand, the centre of mass moves over those that will carry it."""

    phase = GaitPhase.TRANSFER

    def _go_on(self, frame: GroundFrame, tick: Tick) -> CrawlPhase:
        return _Dwell(self._context) if self._context.body.arrived else self


class _Dwell(_BetweenSwings):
    """All feet stand and the body rests; at the end the foot that leaves gives up its load."""

    phase = GaitPhase.DWELL

    def after_leap(self) -> CrawlPhase:
        """Return the transfer phase: the centre of mass is no longer at rest."""
        return _Transfer(self._context)

    def share_load(self, h: float) -> None:
        """Unload the foot that leaves at the end."""
        leaving = self._elapsed >= self._context.dwell_duration - LOAD_S
        self._context.share_load(h, unloading=self._context.plan.foot if leaving else None)

    def _go_on(self, frame: GroundFrame, tick: Tick) -> CrawlPhase:
        if self._elapsed < self._context.dwell_duration:
            return self
        self._context.ground.relocate(frame, tick.centres)
        return _lift_off(self._context)


class _Swing(CrawlPhase):
    """One foot is in the air."""

    phase = GaitPhase.SWING

    def __init__(
        self, context: CrawlContext, path: SwingPath, landing: Array, caught_for: float | None = None
    ) -> None:
        """Begin a swing.

        Args:
            context: Data that outlive it.
            path: Path of the foot in the ground frame.
            landing: Where it lands in the ground frame [m], shape (3,).
            caught_for: None: a step. Else the foot is put down where it is, since the robot tips over, and
                this is the time for which it has felt the ground [s].
        """
        super().__init__(context)
        self.swing: int = context.plan.foot
        self._path, self._landing = path, landing
        self._caught, self._touched_for = caught_for is not None, caught_for or 0.0

    def next(self, frame: GroundFrame, tick: Tick) -> CrawlPhase:
        """End the swing where the ground is felt, in the end by time; catch a robot that tips over."""
        context = self._context
        self._touched_for = self._touched_for + tick.h if self._touches(frame, tick) else 0.0
        late = self._elapsed >= self._path.duration + LATE_TOUCHDOWN_S
        if late or self._touched_for >= TOUCH_DURATION_S:
            context.ground.land(frame, tick.centres[self.swing], self.swing)
            if self._caught:
                return _Transfer(context)  # the same foot again, once the robot stands
            context.plan.count_landing()
            context.made += 1
            return _set_off(context) if context.goes_on else _stand(context)
        return self._come_down(frame, tick) if context.tipping and not self._caught else self

    def share_load(self, h: float) -> None:
        """Keep the load of the foot in the air at its least."""
        self._context.share_load(h, airborne=self.swing)

    def swing_reference(self, frame: GroundFrame) -> FootReference:
        """Return where the foot should be."""
        return self._path.reference(self._elapsed, self._landing, frame.yaw, frame.p_BG_W)

    def _touches(self, frame: GroundFrame, tick: Tick) -> bool:
        """Return whether the ground is felt.

        A force shows it, where there is a sensor; and that the foot does not follow its way down: a light leg
        hardly presses.
        """
        context, progress = self._context, self._elapsed / self._path.duration
        foot, wanted = tick.state.frames[self.swing], self.swing_reference(frame)
        force = tick.forces[self.swing] if tick.forces else None
        slow = foot.velocity[2] - wanted.velocity[2] > 0.5 * context.walking.touchdown_speed
        behind = foot.p_BF_W[2] - wanted.p_BF_W[2] > TOUCH_LAG_M
        return bool(
            (progress >= LIFTED_SHARE and force is not None and force > context.limits.touchdown_force)
            or (progress >= EARLY_TOUCHDOWN and behind)
            or (progress >= 1.0 and slow)
        )

    def _come_down(self, frame: GroundFrame, tick: Tick) -> CrawlPhase:
        """Put the foot down where it is."""
        start = frame.to_ground(tick.centres[self.swing])
        x, y, z = start.tolist()
        landing = np.array([x, y, self._context.ground.blended_plane().height(x, y)])
        speed = self._context.walking.touchdown_speed
        path = SwingPath(start, np.zeros(3), LOAD_S, z, speed)
        return _Swing(self._context, path, landing, self._touched_for)


def _stand(context: CrawlContext) -> CrawlPhase:
    """Stand on all feet, the centre of mass in their middle."""
    context.body.move_to(context.ground.middle, context.crawl.acceleration)
    return Standing(context)


def _set_off(context: CrawlContext) -> CrawlPhase:
    """Bring the centre of mass over the coming polygon, if possible where it can be over the next one too."""
    plan, body, margin = context.plan, context.body, context.crawl.margin
    places, polygons = context.ground.places[:, :2].copy(), []
    middle = places.mean(axis=0)
    for ahead in range(min(2, plan.swings_left)):
        foot = plan.foot_ahead(ahead)
        polygons.append([(x, y) for i, (x, y) in enumerate(places.tolist()) if i != foot])
        places[foot] = plan.landing(places, foot)
        middle = places.mean(axis=0) if ahead == 0 else middle
    goal = (float(body.goal[0]), float(body.goal[1]))
    if edge_distance(polygons[0], goal) >= STAY_MARGIN_SHARE * margin and body.arrived:
        return _Dwell(context)
    preferred = (float(middle[0]), float(middle[1]))
    body.move_to(rest_point(polygons, preferred, margin), context.crawl.acceleration)
    return _Transfer(context)


def _lift_off(context: CrawlContext) -> CrawlPhase:
    """Let the next foot swing to its foothold."""
    ground, walking, foot = context.ground, context.walking, context.plan.foot
    x, y = context.plan.landing(ground.places, foot).tolist()
    landing, start = np.array([x, y, ground.plane.height(x, y)]), ground.places[foot].copy()
    apex = max(float(start[2]), float(landing[2])) + walking.swing_height
    path = SwingPath(start, np.zeros(3), context.crawl.swing_duration, apex, walking.touchdown_speed)
    return _Swing(context, path, landing)


class CrawlGait(Gait):
    """One foot swings at a time, with the centre of mass at rest over the others."""

    _context: CrawlContext

    def __init__(
        self, contacts: Sequence[Contact], walking: WalkingConfig, crawl: CrawlConfig, limits: StepLimits
    ) -> None:
        """Stand.

        Args:
            contacts: The contacts, points.
            walking: Heights, touchdown.
            crawl: Durations, margin.
            limits: Of its steps.
        """
        self._n_feet = len(contacts)
        plan = CrawlPlan([contact.name for contact in contacts])
        ground = WalkingGround([np.zeros(3)] * self._n_feet, 0.0)
        body, loads = BodyMotion(ground.middle), np.ones(self._n_feet)
        self._context = CrawlContext(
            walking=walking,
            crawl=crawl,
            limits=limits,
            plan=plan,
            ground=ground,
            body=body,
            loads=loads,
        )
        self._state: CrawlPhase = Standing(self._context)

    @property
    def phase(self) -> GaitPhase:
        """The phase under way."""
        return self._state.phase

    def set_config(self, walking: WalkingConfig, crawl: CrawlConfig) -> None:
        """Take other durations and heights, from the next phase on."""
        self._context.walking, self._context.crawl = walking, crawl

    def reset(self) -> None:
        """Stand; discard the requested and completed steps and the initial positions of the feet."""
        context = self._context
        context.plan.reset()
        context.asked, context.held, context.made = None, False, 0
        self._state = Standing(self._context)

    def start(self, state: DynamicsState) -> None:
        """Stand on the feet as they are."""
        context = self._context
        context.ground = WalkingGround([frame.p_BF_W for frame in state.frames], yaw_of(state.base.R_WF))
        context.plan.stand(context.ground.places)
        context.body = BodyMotion(context.ground.middle)
        context.loads, context.tipping = np.ones(self._n_feet), False
        self._state = Standing(context)

    def command(self, command: WalkCommand) -> None:
        """Walk from now on, in swings of single feet; see `Gait.command`."""
        check_walk(command, self._context.limits.longest)
        self._context.asked = command

    def hold(self, held: bool) -> None:
        """Stand on all feet, or go on with what is left of the walk; see `Gait.hold`."""
        self._context.held = held

    def target(self, tick: Tick) -> SupportTarget:
        """Return what is wanted of the feet now; see `Gait.target`."""
        context, ground, h = self._context, self._context.ground, tick.h
        self._state.advance(h)
        context.body.advance(h)
        ground.advance(h)
        frame = ground.locate(tick.centres, [i for i in range(self._n_feet) if i != self._state.swing])
        place = frame.to_ground(tick.state.com)[:2]
        velocity = (frame.R_WG.T @ tick.state.com_velocity)[:2]
        fresh = context.body.follow(place, velocity, h, context.crawl.acceleration)
        if fresh:
            self._state = self._state.after_leap()
        place, velocity, _ = context.body.reference()
        error = tick.dcm - _horizontal(frame, place + velocity / tick.omega)
        context.tipping = math.hypot(*error.tolist()) > CATCH_M
        self._state = self._state.next(frame, tick)
        self._state.share_load(h)
        if self.phase is GaitPhase.STANDING:
            ground.settle(frame, tick.centres, h)
        return self._target(frame, tick.omega, fresh)

    def _target(self, frame: GroundFrame, omega: float, fresh: bool) -> SupportTarget:
        context, state = self._context, self._state
        place, velocity, acceleration = context.body.reference()
        plane, foot = context.ground.blended_plane(), state.swing_reference(frame)
        x, y, _ = frame.to_ground(np.zeros(3)).tolist()
        loads = (context.loads**2).tolist()  # a foot in the air is no contact
        return SupportTarget(
            state.phase,
            state.activity,
            tuple(0.0 if i == state.swing else load for i, load in enumerate(loads)),
            _horizontal(frame, place - acceleration / omega**2),
            _horizontal(frame, place + velocity / omega),
            float(frame.p_BG_W[2]) + plane.height(x, y),
            frame.yaw + context.plan.heading,
            None if state.swing is None or foot is None else (state.swing, foot),
            support_motion=(float(plane.slope @ velocity), float(plane.slope @ acceleration)),
            R_WG=frame.R_WG @ plane.axes(),
            fresh=fresh,
        )


def _horizontal(frame: GroundFrame, place: Array) -> Array:
    """Return a place of the ground relative to the base origin, horizontal [m], shape (2,)."""
    return frame.from_ground(np.array([place[0], place[1], 0.0]))[:2]
