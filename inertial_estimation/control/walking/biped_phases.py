"""Phases of a walk on two soles: standing, transfer of the weight, swing.

Each phase holds the data that exist only while it lasts, and returns the phase that comes next.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from inertial_estimation.control.contact_constraints import Contact
from inertial_estimation.control.references import WalkCommand
from inertial_estimation.control.smooth_reference import SmoothReference
from inertial_estimation.control.support_polygon import Point
from inertial_estimation.control.support_target import GaitPhase, SupportTarget
from inertial_estimation.control.walking.dcm_reference import PressureSegment, dcm_of_plan
from inertial_estimation.control.walking.feet import heading, mean_angle
from inertial_estimation.control.walking.footsteps import Footsteps, between, first_swing
from inertial_estimation.control.walking.swing import SwingPath
from inertial_estimation.control.walking.walking_config import WalkingConfig
from inertial_estimation.models.whole_body_dynamics import DynamicsState
from inertial_estimation.signals import Array
from inertial_estimation.spatial.rotations import yaw_of

SHIFT_RATE = 1.5  # how fast the place of landing moves [m/s]
SHIFT_ACCELERATION = 20.0  # [m/s^2]
LAST_CHANGE = 0.08  # before the touchdown the place is kept [s]


def uncorrected_error(error: Array, reach: Array, omega: float, remaining: float) -> Array:
    """Return the error of the DCM at touchdown that the centre of pressure cannot take away.

    The error grows as e' = omega (e - d), d the shift of the centre of pressure. With d at the edge of the
    sole all the time, |e(T)| = e^{omega T} |e| - (e^{omega T} - 1) reach; what is below zero is correctable.

    Args:
        error: Error now [m], shape (2,).
        reach: How far the centre of pressure can be moved along each axis [m], shape (2,).
        omega: Frequency of the pendulum [1/s].
        remaining: Time until touchdown [s].

    Returns:
        Error left [m], shape (2,).
    """
    growth = math.exp(omega * remaining)
    return np.copysign(np.maximum(growth * np.abs(error) - (growth - 1.0) * reach, 0.0), error)


class StepAdjustment:
    """Moves the place of landing of one step, smoothly, in the heading frame of the standing foot.

    Attributes:
        shift: Shift of the landing [m], shape (2,).
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Begin a new step."""
        self._reference = SmoothReference(np.zeros(2), SHIFT_RATE, SHIFT_ACCELERATION)
        self._target = (0.0, 0.0)

    @property
    def shift(self) -> Array:
        """Shift of the landing [m], shape (2,)."""
        return self._reference.position

    def update(
        self, config: WalkingConfig, left_over: Array, landing: Array, remaining: float, h: float
    ) -> None:
        """Follow what the sole cannot correct.

        Args:
            config: How far a step may be moved, and how near the feet may come.
            left_over: Error of the DCM at touchdown that will be left, heading frame [m], shape (2,).
            landing: Planned place of landing [m], shape (3,).
            remaining: Time until touchdown [s].
            h: Time since the last call [s].
        """
        if remaining > LAST_CHANGE:
            limit = config.step_adjustment
            x, y = np.clip(left_over, -limit, limit).tolist()
            side = math.copysign(1.0, float(landing[1]))
            nearest = side * min(config.least_width, abs(float(landing[1])))
            y = side * max(side * (float(landing[1]) + y), side * nearest) - float(landing[1])
            if (x, y) != self._target:
                self._target = (x, y)
                self._reference.set_target(np.array([x, y]))
        self._reference.step(h)


LEAST_CAPACITY = 0.05  # of a foot on the ground in a transfer


@dataclass(slots=True, eq=False)
class BipedContext:
    """Data that outlive a phase.

    Attributes:
        contacts: The contacts.
        reach: How far the centre of pressure can move from the centre of each sole [m], shape (2,) each.
        walking: Durations and heights.
        steps: Steps still to be made.
        home: Places of the feet at the start, in axes of the heading [m], shape (2,) each.
        asked: Requested walk that starts from standing.
        held: Whether the robot is requested to stand, even during an unfinished walk.
        kept: Steps that remain for after the hold.
        steps_made: Steps landed since the last reset.
    """

    contacts: tuple[Contact, ...]
    reach: list[Array]
    walking: WalkingConfig
    steps: Footsteps
    home: list[Array] = field(default_factory=list)
    asked: WalkCommand | None = None
    held: bool = False
    kept: int = 0
    steps_made: int = 0

    def heading(self, state: DynamicsState) -> float:
        """Return the heading of both feet [rad]."""
        return heading(self.contacts, state.frames, self.home)


@dataclass(frozen=True, slots=True, eq=False)
class BipedTick:
    """Measurements of one tick; positions relative to the base origin, world axes.

    Attributes:
        state: Dynamics now.
        centres: Centres of the soles [m], shape (3,) each.
        omega: Frequency of the pendulum [1/s].
        dcm: Divergent component of motion [m], shape (2,).
        h: Time since the last tick [s].
        forces: Normal force of each contact [N]; None where there is none.
    """

    state: DynamicsState
    centres: Sequence[Array]
    omega: float
    dcm: Array
    h: float
    forces: Sequence[float | None]


class BipedPhase(ABC):
    """One phase of the walk.

    Attributes:
        phase: Its name.
        stepping: Whether a step is under way or about to begin.
    """

    phase: ClassVar[GaitPhase]

    def __init__(self, context: BipedContext, duration: float = 0.0) -> None:
        """Begin.

        Args:
            context: Data that outlive the phase.
            duration: Planned duration [s].
        """
        self._context = context
        self._elapsed, self._duration = 0.0, duration

    @property
    def stepping(self) -> bool:
        """Whether a step is under way or about to begin."""
        return False

    def advance(self, h: float) -> None:
        """Let time pass [s]."""
        self._elapsed += h

    @abstractmethod
    def next(self, tick: BipedTick) -> "BipedPhase":
        """Return the phase of this tick."""

    @abstractmethod
    def target(self, tick: BipedTick) -> SupportTarget:
        """Return what is wanted of the feet now."""


class Standing(BipedPhase):
    """All feet stand, no step is to come."""

    phase = GaitPhase.STANDING

    def next(self, tick: BipedTick) -> BipedPhase:
        """Begin the requested walk."""
        context = self._context
        if context.asked is None or context.held:
            return self
        command, context.asked = context.asked, None
        return self._set_out(tick, command) if command.steps else self

    def target(self, tick: BipedTick) -> SupportTarget:
        """Return a support in the middle of the feet."""
        count = len(tick.centres)
        x, y, z = (sum(part) / count for part in zip(*(c.tolist() for c in tick.centres), strict=True))
        middle, full = np.array([x, y]), (1.0,) * count
        return SupportTarget(
            self.phase,
            self.phase.value,
            full,
            middle,
            middle,
            z,
            self._context.heading(tick.state),
        )

    def _set_out(self, tick: BipedTick, command: WalkCommand) -> BipedPhase:
        context, centres = self._context, tick.centres
        yaw = context.heading(tick.state)
        apart = (centres[0] - centres[1])[:2]
        aside = float(apart @ np.array([-math.sin(yaw), math.cos(yaw)]))
        context.steps.width = context.walking.width or abs(aside)
        context.steps.length, context.steps.left = command.length, command.steps
        stance = 1 - first_swing(centres, yaw)
        return _Transfer(context, None, stance, context.walking.start_duration)


class _Transfer(BipedPhase):
    """Both feet stand, the weight moves from one place to another."""

    phase = GaitPhase.TRANSFER

    def __init__(self, context: BipedContext, source: int | None, to: int | None, duration: float) -> None:
        """Begin.

        Args:
            context: Data that outlive the phase.
            source: Foot the weight comes from; None: the middle of both.
            to: Foot the weight moves to; None: the middle of both.
            duration: Planned duration [s].
        """
        super().__init__(context, duration)
        self._from, self._to = source, to

    @property
    def stepping(self) -> bool:
        """Whether a step is about to begin."""
        return self._to is not None

    def next(self, tick: BipedTick) -> BipedPhase:
        """Stand, or let the other foot swing, at the end."""
        context = self._context
        if self._elapsed < self._duration:
            return self
        if self._to is None:
            return Standing(context)
        if context.steps.left == 0:
            return _Transfer(context, self._to, None, context.walking.start_duration)
        return _Swing(context, self._to, tick.state)

    def target(self, tick: BipedTick) -> SupportTarget:
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
        plan = [PressureSegment(now, end, self._duration - self._elapsed)]
        steps, walking = self._context.steps, self._context.walking
        if self._to is not None and steps.left > 0:
            yaw = yaw_of(state.frames[self._to].R_WF)
            plan += steps.pressure_plan(end, yaw, 1 - self._to, walking.swing_duration)
        return plan

    def _capacities(self, s: float) -> tuple[float, ...]:
        """A foot that has just landed takes its weight over; one about to leave gives it up."""
        capacity = [1.0, 1.0]
        ramp = self._context.walking.load_ramp
        if self._from is not None:
            capacity[1 - self._from] = min(1.0, max(LEAST_CAPACITY, s / ramp))
        if self._to is not None:
            capacity[1 - self._to] = min(capacity[1 - self._to], max(LEAST_CAPACITY, (1.0 - s) / ramp))
        return tuple(capacity)

    def _yaw(self, state: DynamicsState, foot: int | None) -> float:
        return self._context.heading(state) if foot is None else yaw_of(state.frames[foot].R_WF)


class _Swing(BipedPhase):
    """One foot stands, the other is in the air."""

    phase = GaitPhase.SWING

    def __init__(self, context: BipedContext, stance: int, state: DynamicsState) -> None:
        """Lift the foot.

        Args:
            context: Data that outlive the phase.
            stance: The foot that stands.
            state: Dynamics now.
        """
        super().__init__(context, context.walking.swing_duration)
        self._stance, self._foot = stance, 1 - stance
        self._path = SwingPath.lift_off(state.frames[self._foot], state.frames[stance], context.walking)
        self._adjustment = StepAdjustment()

    @property
    def stepping(self) -> bool:
        """Whether a step is under way."""
        return True

    def next(self, tick: BipedTick) -> BipedPhase:
        """Transfer the weight once the foot has landed."""
        return self._touch_down() if self._landed(tick.forces) else self

    def target(self, tick: BipedTick) -> SupportTarget:
        """Return a support on the standing foot, and the way of the other."""
        context, stance = self._context, self._stance
        foot = tick.state.frames[stance]
        yaw, point = yaw_of(foot.R_WF), _point(tick.centres[stance])
        remaining = max(0.0, self._duration - self._elapsed)
        landing = context.steps.landing(self._foot, context.steps.left)
        plan = context.steps.pressure_plan(point, yaw, self._foot, remaining)
        reference = dcm_of_plan(plan, tick.omega)
        shift = self._landing_shift(tick, tick.dcm - reference, yaw, landing, remaining)
        if shift.any():
            plan = context.steps.pressure_plan(point, yaw, self._foot, remaining, _point(shift))
            reference = dcm_of_plan(plan, tick.omega)
            landing[:2] += shift
        capacity = [0.0, 0.0]
        capacity[stance] = 1.0
        return SupportTarget(
            self.phase,
            f"swing of {context.contacts[self._foot].name}",
            tuple(capacity),
            np.array(point),
            np.array(reference),
            float(tick.centres[stance][2]),
            yaw,
            self._foot,
            self._path.reference(self._elapsed, landing, foot),
        )

    def _landed(self, forces: Sequence[float | None]) -> bool:
        """Whether the swing is over: by the force at the foot, without one by time."""
        walking, force = self._context.walking, forces[self._foot] if forces else None
        progress = self._elapsed / self._duration
        if force is None:
            return progress >= 1.0
        if progress >= walking.early_touchdown and force > walking.touchdown_force:
            return True
        return self._elapsed >= self._duration + walking.late_touchdown

    def _touch_down(self) -> BipedPhase:
        context, walking = self._context, self._context.walking
        spare = max(0.0, self._duration - self._elapsed)
        context.steps.left -= 1
        context.steps_made += 1
        if context.steps.left > 0:
            return _Transfer(context, self._stance, self._foot, walking.transfer_duration + spare)
        return _Transfer(context, self._stance, None, walking.start_duration + spare)

    def _landing_shift(
        self, tick: BipedTick, error: Array, yaw: float, landing: Array, remaining: float
    ) -> Array:
        """Return the shift of the landing in the heading frame, for an error of the DCM in world axes."""
        context = self._context
        c, s = math.cos(yaw), math.sin(yaw)
        error_H = np.array([[c, s], [-s, c]]) @ error
        left_over = uncorrected_error(error_H, context.reach[self._stance], tick.omega, remaining)
        self._adjustment.update(context.walking, left_over, landing, remaining, tick.h)
        return self._adjustment.shift


def _point(centre: Array) -> Point:
    return float(centre[0]), float(centre[1])
