"""A walk on two soles: standing, transfer of the weight, swing."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from inertial_estimation.control.balance import PressureSegment, dcm_of_plan
from inertial_estimation.control.references import WalkCommand
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
from inertial_estimation.control.walking.ground import turn_between
from inertial_estimation.errors import ConfigurationError
from inertial_estimation.models.whole_body_dynamics import DynamicsState
from inertial_estimation.signals import Array
from inertial_estimation.spatial.rotations import exp_so3, log_so3, yaw_of

HORIZON_STEPS = 3  # steps planned ahead; the effect of later ones, e^{-omega T}, is below 1 %
START_S = 1.0  # duration of the transfer before the first step, and of that after the last one


def mean_angle(angles: Sequence[float], weights: Sequence[float]) -> float:
    """Return the weighted mean of angles on the circle [rad]."""
    return math.atan2(np.sin(angles) @ weights, np.cos(angles) @ weights)


class BipedGait(Gait):
    """Steps with two soles, the left one first; on any other contacts it stands and refuses to walk.

    Attributes:
        home: Positions of the feet at the start, in axes of the heading [m], shape (n, 2).
        turns: Yaw from the base to each contact frame, rounded to quarter turns [rad].
        length: Distance of a step forward [m].
        width: Distance of the first foot to the left of the second one, across the heading [m].
    """

    def reset(self) -> None:
        """Stand; discard the requested and completed steps and the initial positions of the feet."""
        super().reset()
        self.home, self.length, self.width, self.turns = np.zeros((0, 2)), 0.0, 0.0, list[float]()
        self._state: _Phase = _Standing(self)

    def start(self, state: DynamicsState) -> None:
        """Stand on the feet as they are."""
        yaw = yaw_of(state.base.R_WF)
        R_WH = np.array([[math.cos(yaw), -math.sin(yaw)], [math.sin(yaw), math.cos(yaw)]])
        self.home = np.array([frame.p_BF_W[:2] for frame in state.frames]) @ R_WH
        quarters = [round((yaw_of(frame.R_WF) - yaw) / (0.5 * math.pi)) for frame in state.frames]
        self.turns = [0.5 * math.pi * quarter for quarter in quarters]
        self.left, self._state = 0, _Standing(self)

    def command(self, command: WalkCommand) -> None:
        """Walk from now on; see `Gait.command`."""
        if len(self.contacts) != 2 or not all(contact.is_sole for contact in self.contacts):
            raise ConfigurationError(
                f"cannot walk on {len(self.contacts)} contacts, expected two with soles (stance.soles), or "
                "four or more points"
            )
        super().command(command)

    def plan_walk(self, command: WalkCommand) -> None:
        """Take the length of the steps."""
        self.length = command.length

    def target(self, tick: Tick) -> SupportTarget:
        """Return the present target of support and swing foot."""
        if self._state.stepping:
            self.take_command(under_way=int(self.phase is GaitPhase.SWING))
        self._state.elapsed += tick.h
        self._state = self._state.next(tick)
        return self._state.target(tick)

    def heading(self, state: DynamicsState) -> float:
        """Return the heading of all feet on the ground [rad].

        Soles have headings of their own, whose mean is returned. Points have none: the heading is the angle
        by which they are turned as a whole from their home positions, fitted in least squares.
        """
        if self.contacts[0].is_sole:
            count = len(state.frames)
            return mean_angle([self.heading_of(state, foot) for foot in range(count)], [1.0] * count)
        now = np.array([frame.p_BF_W[:2] for frame in state.frames])
        return turn_between(self.home - self.home.mean(axis=0), now - now.mean(axis=0))

    def heading_of(self, state: DynamicsState, foot: int) -> float:
        """Return the heading of one sole [rad]: its yaw less the quarter turns `turns` of its frame."""
        return yaw_of(state.frames[foot].R_WF) - self.turns[foot]

    def landing(self, swing: int, left: int) -> Array:
        """Return where a foot lands, in the heading frame of the foot that stands [m], shape (3,).

        Args:
            swing: The foot in the air: 0 left, 1 right.
            left: Steps left, this one included; the last one closes the feet.
        """
        return np.array([self.length if left > 1 else 0.0, self.width if swing == 0 else -self.width, 0.0])

    def pressure_plan(self, stance: Array, yaw: float, swing: int, remaining: float) -> list[PressureSegment]:
        """Return the centre of pressure from the swing under way on.

        Args:
            stance: Centre of the standing sole [m], shape (2,).
            yaw: Its heading [rad].
            swing: The foot in the air, or about to be.
            remaining: Time left of its swing [s].
        """
        walking, c, s = self.config.walking, math.cos(yaw), math.sin(yaw)
        segments: list[PressureSegment] = []
        for left in range(self.left, self.left - HORIZON_STEPS, -1):
            segments.append(PressureSegment(stance, stance, remaining))
            x, y, _ = self.landing(swing, left).tolist()
            landing = stance + np.array([c * x - s * y, s * x + c * y])
            if left <= 1 or self.held:
                segments.append(PressureSegment(stance, stance + 0.5 * (landing - stance), START_S))
                break
            segments.append(PressureSegment(stance, landing, walking.transfer_duration))
            stance, swing, remaining = landing, 1 - swing, walking.swing_duration
        return segments


class _Phase(Phase, ABC):
    """One phase of the walk, of a planned duration [s]."""

    stepping = False  # whether a step is under way or about to begin

    def __init__(self, gait: BipedGait, duration: float = 0.0) -> None:
        self._gait, self._duration = gait, duration

    @abstractmethod
    def next(self, tick: Tick) -> "_Phase":
        """Return the phase of this tick."""

    @abstractmethod
    def target(self, tick: Tick) -> SupportTarget:
        """Return the present target of support and swing foot."""


class _Standing(_Phase):
    """All feet stand, no step is requested."""

    kind = GaitPhase.STANDING

    def next(self, tick: Tick) -> _Phase:
        """Begin a requested walk with the rear foot, or with the left one if neither is behind."""
        gait = self._gait
        gait.take_command()
        if not gait.goes_on:
            return self
        yaw, apart = gait.heading(tick.state), (tick.centres[0] - tick.centres[1])[:2]
        c, s = math.cos(yaw), math.sin(yaw)
        gait.width = float(apart @ (-s, c))
        ahead = apart @ (c, s) > gait.contacts[0].margin
        return _Transfer(gait, None, 0 if ahead else 1, START_S)

    def target(self, tick: Tick) -> SupportTarget:
        middle, full = np.mean(tick.centres, axis=0), (1.0,) * len(tick.centres)
        yaw, height = self._gait.heading(tick.state), float(middle[2])
        return SupportTarget(self.kind, self.kind.value, full, middle[:2], middle[:2], height, yaw)


class _Transfer(_Phase):
    """Both feet stand while the weight moves from one to the other; None stands for the middle of both."""

    kind = GaitPhase.TRANSFER

    def __init__(self, gait: BipedGait, source: int | None, to: int | None, duration: float) -> None:
        super().__init__(gait, duration)
        self._from, self._to, self.stepping = source, to, to is not None

    def next(self, tick: Tick) -> _Phase:
        if self.elapsed < self._duration:
            return self
        if self._to is None:
            return _Standing(self._gait)
        if not self._gait.goes_on:
            return _Transfer(self._gait, self._to, None, START_S)
        return _Swing(self._gait, self._to, tick.state)

    def target(self, tick: Tick) -> SupportTarget:
        """Return the centre of pressure on its way, and the DCM of the planned steps."""
        gait, centres = self._gait, tick.centres
        s = min(1.0, self.elapsed / self._duration)
        middle = np.mean(centres, axis=0)
        source = middle if self._from is None else centres[self._from]
        goal = middle if self._to is None else centres[self._to]
        now = source[:2] + s * (goal - source)[:2]
        plan = [PressureSegment(now, goal[:2], self._duration - self.elapsed)]
        if self._to is not None and gait.goes_on:
            yaw, swing_s = gait.heading_of(tick.state, self._to), gait.config.walking.swing_duration
            plan += gait.pressure_plan(goal[:2], yaw, 1 - self._to, swing_s)
        blend = s * s * (3.0 - 2.0 * s)
        yaws = [
            gait.heading(tick.state) if foot is None else gait.heading_of(tick.state, foot)
            for foot in (self._from, self._to)
        ]
        return SupportTarget(
            self.kind,
            f"transfer to {'both' if self._to is None else gait.contacts[self._to].name}",
            self._capacities(),
            now,
            dcm_of_plan(plan, tick.omega),
            float(source[2] + blend * (goal[2] - source[2])),
            mean_angle(yaws, [1.0 - blend, blend]),
        )

    def _capacities(self) -> tuple[float, ...]:
        """Return capacities that grow for a foot that has just landed and shrink for one about to leave."""
        capacity = [1.0, 1.0]
        for stands, time_s in ((self._from, self.elapsed), (self._to, self._duration - self.elapsed)):
            if stands is not None:
                capacity[1 - stands] = min(capacity[1 - stands], max(LEAST_LOAD, time_s / LOAD_S))
        return tuple(capacity)


class _Swing(_Phase):
    """One foot stands, the other is in the air, on a path in the heading frame of the one that stands."""

    kind = GaitPhase.SWING
    stepping = True

    def __init__(self, gait: BipedGait, stance: int, state: DynamicsState) -> None:
        walking = gait.config.walking
        super().__init__(gait, walking.swing_duration)
        self._stance, self._foot = stance, 1 - stance
        foot, ground = state.frames[1 - stance], state.frames[stance]
        R_HW = exp_so3(np.array([0.0, 0.0, -gait.heading_of(state, stance)]))
        self._axes = exp_so3(np.array([0.0, 0.0, gait.turns[1 - stance]]))  # of the foot, when it lands
        start, turn = R_HW @ (foot.p_BF_W - ground.p_BF_W), log_so3(R_HW @ foot.R_WF @ self._axes.T)
        apex = max(float(start[2]), 0.0) + walking.swing_height
        self._path = SwingPath(start, turn, walking.swing_duration, apex, walking.touchdown_speed)

    def next(self, tick: Tick) -> _Phase:
        """Transfer the weight once the foot has landed."""
        gait = self._gait
        if not self._landed(tick.forces):
            return self
        spare = max(0.0, self._duration - self.elapsed)
        gait.left -= 1
        gait.steps_made += 1
        if gait.goes_on:
            transfer_s = gait.config.walking.transfer_duration
            return _Transfer(gait, self._stance, self._foot, transfer_s + spare)
        return _Transfer(gait, self._stance, None, START_S + spare)

    def target(self, tick: Tick) -> SupportTarget:
        gait, stance = self._gait, tick.state.frames[self._stance]
        yaw, centre = gait.heading_of(tick.state, self._stance), tick.centres[self._stance]
        landing = gait.landing(self._foot, gait.left)
        remaining = max(0.0, self._duration - self.elapsed)
        plan = gait.pressure_plan(centre[:2], yaw, self._foot, remaining)
        foot = self._path.reference(self.elapsed, landing, yaw, stance.p_BF_W)
        return SupportTarget(
            self.kind,
            f"swing of {gait.contacts[self._foot].name}",
            tuple(float(i == self._stance) for i in range(2)),
            centre[:2],
            dcm_of_plan(plan, tick.omega),
            float(centre[2]),
            yaw,
            (self._foot, foot._replace(R_WF=foot.R_WF @ self._axes)),
        )

    def _landed(self, forces: Sequence[float | None]) -> bool:
        """Return whether the swing is over, by the force at the foot or, without a force, by time."""
        force, progress = forces[self._foot] if forces else None, self.elapsed / self._duration
        if force is None:
            return progress >= 1.0
        landed = progress >= EARLY_TOUCHDOWN and force > self._gait.touchdown_force
        return landed or self.elapsed >= self._duration + LATE_TOUCHDOWN_S
