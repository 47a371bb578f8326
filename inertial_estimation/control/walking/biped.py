"""A walk on two soles: standing, transfer of the weight, swing.

Each phase holds the data that exist only while it lasts, and returns the phase that comes next.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

import numpy as np

from inertial_estimation.control.balance import Point, PressureSegment, dcm_of_plan
from inertial_estimation.control.config import CrawlConfig, WalkingConfig
from inertial_estimation.control.inverse_dynamics import Contact
from inertial_estimation.control.references import WalkCommand
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
from inertial_estimation.control.walking.ground import turn_between
from inertial_estimation.errors import ConfigurationError
from inertial_estimation.models.whole_body_dynamics import DynamicsState
from inertial_estimation.signals import Array
from inertial_estimation.spatial.rotations import exp_so3, log_so3, yaw_of

HORIZON_STEPS = 3  # planned ahead; further ones have no effect: e^{-omega T} of them is below 1 %
START_S = 1.0  # duration of the transfer before the first step, and of that after the last one
LEVEL_M = 0.02  # by which a foot counts as ahead of the other
LEAST_CAPACITY = 0.05  # of a foot on the ground in a transfer
LOAD_RAMP = 0.3  # share of a transfer in which a landed foot is loaded and one about to leave is unloaded


@dataclass(slots=True, eq=False, kw_only=True)
class BipedContext(GaitContext):
    """Data that outlive a phase."""

    contacts: tuple[Contact, ...]  # the contacts; the left one has the index 0
    # places of the feet at the start, in axes of the heading [m], shape (n, 2)
    home: Array = field(default_factory=lambda: np.zeros((0, 2)))
    kept: int = 0  # steps that remain for after the hold
    length: float = 0.0  # distance of a step forward [m]
    width: float = 0.2  # distance between the feet [m]
    left: int = 0  # steps still to be made, the one under way included
    closing: bool = True  # whether the last one closes the feet

    def heading(self, state: DynamicsState) -> float:
        """Return the heading of all feet on the ground [rad].

        Soles have a heading of their own: their mean. Points have none; together they are turned as a whole
        against their home places, by the angle that fits best in least squares.
        """
        if self.contacts[0].is_sole:
            return mean_angle([yaw_of(frame.R_WF) for frame in state.frames], [1.0] * len(state.frames))
        now = np.array([frame.p_BF_W[:2] for frame in state.frames])
        return turn_between(self.home - self.home.mean(axis=0), now - now.mean(axis=0))

    def landing(self, swing: int, left: int) -> Array:
        """Return where a foot lands, in the heading frame of the foot that stands [m], shape (3,).

        Args:
            swing: The foot in the air: 0 left, 1 right.
            left: Steps left, this one included; the last one closes the feet, if `closing`.
        """
        side = self.width if swing == 0 else -self.width
        return np.array([0.0 if left <= 1 and self.closing else self.length, side, 0.0])

    def pressure_plan(self, stance: Point, yaw: float, swing: int, remaining: float) -> list[PressureSegment]:
        """Return the centre of pressure from the swing under way on.

        Args:
            stance: Centre of the standing sole [m].
            yaw: Its heading [rad].
            swing: The foot in the air, or about to be.
            remaining: Time left of its swing [s].
        """
        walking, c, s = self.walking, math.cos(yaw), math.sin(yaw)
        segments: list[PressureSegment] = []
        for left in range(self.left, self.left - HORIZON_STEPS, -1):
            segments.append(PressureSegment(stance, stance, remaining))
            x, y, _ = self.landing(swing, left).tolist()
            landing = (stance[0] + c * x - s * y, stance[1] + s * x + c * y)
            if left <= 1:
                segments.append(PressureSegment(stance, between(stance, landing), START_S))
                break
            segments.append(PressureSegment(stance, landing, walking.transfer_duration))
            stance, swing, remaining = landing, 1 - swing, walking.swing_duration
        return segments


def between(a: Point, b: Point, s: float = 0.5) -> Point:
    """Return the point a + s (b - a)."""
    return a[0] + s * (b[0] - a[0]), a[1] + s * (b[1] - a[1])


def mean_angle(angles: Sequence[float], weights: Sequence[float]) -> float:
    """Return the weighted mean of angles on the circle [rad]."""
    x = sum(w * math.cos(a) for a, w in zip(angles, weights, strict=True))
    y = sum(w * math.sin(a) for a, w in zip(angles, weights, strict=True))
    return math.atan2(y, x)


class BipedPhase(ABC):
    """One phase of the walk.

    Attributes:
        phase: Its kind.
        stepping: Whether a step is under way or about to begin.
    """

    phase: ClassVar[GaitPhase]
    stepping = False

    def __init__(self, context: BipedContext, duration: float = 0.0) -> None:
        """Begin a phase of a planned duration [s]."""
        self._context, self._elapsed, self._duration = context, 0.0, duration

    def advance(self, h: float) -> None:
        """Let time pass [s]."""
        self._elapsed += h

    @abstractmethod
    def next(self, tick: Tick) -> "BipedPhase":
        """Return the phase of this tick."""

    @abstractmethod
    def target(self, tick: Tick) -> SupportTarget:
        """Return what is wanted of the feet now."""


class Standing(BipedPhase):
    """All feet stand, no step is to come."""

    phase = GaitPhase.STANDING

    def next(self, tick: Tick) -> BipedPhase:
        """Begin the requested walk: with the foot behind, the left one if they are level."""
        context, centres = self._context, tick.centres
        if context.asked is None or context.held:
            return self
        command, context.asked = context.asked, None
        if not command.steps:
            return self
        yaw, apart = context.heading(tick.state), (centres[0] - centres[1])[:2]
        c, s = math.cos(yaw), math.sin(yaw)
        context.width = abs(float(apart @ (-s, c)))
        context.length, context.left = command.length, command.steps
        stance = 0 if apart @ (c, s) > LEVEL_M else 1
        return _Transfer(context, None, stance, START_S)

    def target(self, tick: Tick) -> SupportTarget:
        """Return a support in the middle of the feet."""
        middle, full = np.mean(tick.centres, axis=0), (1.0,) * len(tick.centres)
        yaw = self._context.heading(tick.state)
        return SupportTarget(
            self.phase, self.phase.value, full, middle[:2], middle[:2], float(middle[2]), yaw
        )


class _Transfer(BipedPhase):
    """Both feet stand, the weight moves from one place to another."""

    phase = GaitPhase.TRANSFER

    def __init__(self, context: BipedContext, source: int | None, to: int | None, duration: float) -> None:
        """Begin to move the weight from a foot to a foot within a duration [s]; None: the middle of both."""
        super().__init__(context, duration)
        self._from, self._to, self.stepping = source, to, to is not None

    def next(self, tick: Tick) -> BipedPhase:
        """Stand, or let the other foot swing, at the end."""
        context = self._context
        if self._elapsed < self._duration:
            return self
        if self._to is None:
            return Standing(context)
        if context.left == 0:
            return _Transfer(context, self._to, None, START_S)
        return _Swing(context, self._to, tick.state)

    def target(self, tick: Tick) -> SupportTarget:
        """Return the centre of pressure on its way, and the DCM of the steps to come."""
        context, centres = self._context, tick.centres
        s = min(1.0, self._elapsed / self._duration)
        middle = np.mean(centres, axis=0)
        source = middle if self._from is None else centres[self._from]
        goal = middle if self._to is None else centres[self._to]
        now = between(_point(source), _point(goal), s)
        blend = s * s * (3.0 - 2.0 * s)
        yaws = [self._yaw(tick.state, foot) for foot in (self._from, self._to)]
        return SupportTarget(
            self.phase,
            f"transfer to {'both' if self._to is None else context.contacts[self._to].name}",
            self._capacities(s),
            np.array(now),
            np.array(dcm_of_plan(self._pressure_plan(tick.state, now, _point(goal)), tick.omega)),
            float(source[2] + blend * (goal[2] - source[2])),
            mean_angle(yaws, [1.0 - blend, blend]),
        )

    def _pressure_plan(self, state: DynamicsState, now: Point, end: Point) -> list[PressureSegment]:
        plan, context = [PressureSegment(now, end, self._duration - self._elapsed)], self._context
        if self._to is not None and context.left > 0:
            yaw = yaw_of(state.frames[self._to].R_WF)
            plan += context.pressure_plan(end, yaw, 1 - self._to, context.walking.swing_duration)
        return plan

    def _capacities(self, s: float) -> tuple[float, ...]:
        """A foot that has just landed takes its weight over; one about to leave gives it up."""
        capacity = [1.0, 1.0]
        if self._from is not None:
            capacity[1 - self._from] = min(1.0, max(LEAST_CAPACITY, s / LOAD_RAMP))
        if self._to is not None:
            capacity[1 - self._to] = min(capacity[1 - self._to], max(LEAST_CAPACITY, (1.0 - s) / LOAD_RAMP))
        return tuple(capacity)

    def _yaw(self, state: DynamicsState, foot: int | None) -> float:
        return self._context.heading(state) if foot is None else yaw_of(state.frames[foot].R_WF)


class _Swing(BipedPhase):
    """One foot stands, the other is in the air."""

    phase = GaitPhase.SWING
    stepping = True

    def __init__(self, context: BipedContext, stance: int, state: DynamicsState) -> None:
        """Lift the foot that does not stand; its path is given in the heading frame of the one that does."""
        walking = context.walking
        super().__init__(context, walking.swing_duration)
        self._stance, self._foot = stance, 1 - stance
        foot, ground = state.frames[1 - stance], state.frames[stance]
        R_HW = exp_so3(np.array([0.0, 0.0, -yaw_of(ground.R_WF)]))
        start, turn = R_HW @ (foot.p_BF_W - ground.p_BF_W), log_so3(R_HW @ foot.R_WF)
        apex = max(float(start[2]), 0.0) + walking.swing_height
        self._path = SwingPath(start, turn, walking.swing_duration, apex, walking.touchdown_speed)

    def next(self, tick: Tick) -> BipedPhase:
        """Transfer the weight once the foot has landed."""
        context, walking = self._context, self._context.walking
        if not self._landed(tick.forces):
            return self
        spare = max(0.0, self._duration - self._elapsed)
        context.left -= 1
        context.made += 1
        if context.left > 0:
            return _Transfer(context, self._stance, self._foot, walking.transfer_duration + spare)
        return _Transfer(context, self._stance, None, START_S + spare)

    def target(self, tick: Tick) -> SupportTarget:
        """Return a support on the standing foot, and the way of the other."""
        context, stance = self._context, tick.state.frames[self._stance]
        yaw, centre = yaw_of(stance.R_WF), tick.centres[self._stance]
        remaining = max(0.0, self._duration - self._elapsed)
        landing = context.landing(self._foot, context.left)
        plan = context.pressure_plan(_point(centre), yaw, self._foot, remaining)
        foot = self._path.reference(self._elapsed, landing, yaw, stance.p_BF_W)
        return SupportTarget(
            self.phase,
            f"swing of {context.contacts[self._foot].name}",
            tuple(float(i == self._stance) for i in range(2)),
            centre[:2],
            np.array(dcm_of_plan(plan, tick.omega)),
            float(centre[2]),
            yaw,
            (self._foot, foot),
        )

    def _landed(self, forces: Sequence[float | None]) -> bool:
        """Whether the swing is over: by the force at the foot, without one by time."""
        force, progress = forces[self._foot] if forces else None, self._elapsed / self._duration
        if force is None:
            return progress >= 1.0
        if progress >= EARLY_TOUCHDOWN and force > self._context.limits.touchdown_force:
            return True
        return self._elapsed >= self._duration + LATE_TOUCHDOWN_S


def _point(centre: Array) -> Point:
    return float(centre[0]), float(centre[1])


class BipedGait(Gait):
    """Steps with two soles; on any other contacts it stands and refuses to walk."""

    _context: BipedContext

    def __init__(self, contacts: Sequence[Contact], walking: WalkingConfig, limits: StepLimits) -> None:
        """Stand.

        Args:
            contacts: The contacts.
            walking: Durations and heights.
            limits: Of its steps.
        """
        self._new = partial(BipedContext, contacts=tuple(contacts), limits=limits)
        self._context = self._new(walking=walking)
        self._state: BipedPhase = Standing(self._context)

    @property
    def phase(self) -> GaitPhase:
        """The phase under way."""
        return self._state.phase

    def reset(self) -> None:
        """Stand; discard the requested and completed steps and the initial positions of the feet."""
        self._context = self._new(walking=self._context.walking)
        self._state = Standing(self._context)

    def set_config(self, walking: WalkingConfig, crawl: CrawlConfig) -> None:
        """Take other durations and heights, from the next phase on."""
        self._context.walking = walking

    def start(self, state: DynamicsState) -> None:
        """Stand on the feet as they are."""
        yaw = yaw_of(state.base.R_WF)
        R_WH = np.array([[math.cos(yaw), -math.sin(yaw)], [math.sin(yaw), math.cos(yaw)]])
        self._context.home = np.array([frame.p_BF_W[:2] for frame in state.frames]) @ R_WH
        self._context.left = self._context.kept = 0
        self._state = Standing(self._context)

    def command(self, command: WalkCommand) -> None:
        """Walk from now on; see `Gait.command`."""
        context, contacts = self._context, self._context.contacts
        if len(contacts) != 2 or not all(contact.is_sole for contact in contacts):
            raise ConfigurationError(
                f"cannot walk on {len(contacts)} contacts, expected two with soles (stance.soles), or "
                "four or more points"
            )
        check_walk(command, context.limits.longest)
        if not self._state.stepping or context.held:
            context.asked, context.kept = command, 0
            return
        context.left = command.steps + self._steps_under_way
        context.length = command.length

    def hold(self, held: bool) -> None:
        """Stand on both feet, or go on with what is left of the walk; see `Gait.hold`."""
        context = self._context
        if held == context.held:
            return
        context.held = held
        if held:
            under_way = min(context.left, self._steps_under_way)
            context.kept, context.left = context.left - under_way, under_way
            context.closing = context.kept == 0
            return
        kept, context.kept, context.closing = context.kept, 0, True
        if self._state.stepping:
            context.left += kept
        elif kept and context.asked is None:
            context.asked = WalkCommand(kept, context.length)

    def target(self, tick: Tick) -> SupportTarget:
        """Return what is wanted of the feet now; see `Gait.target`."""
        self._state.advance(tick.h)
        self._state = self._state.next(tick)
        return self._state.target(tick)

    @property
    def _steps_under_way(self) -> int:
        return 1 if self.phase is GaitPhase.SWING else 0
