"""The gait: standing, transfer of the weight, swing, and what each wants of the feet."""

import math
from collections.abc import Sequence

import numpy as np

from inertial_estimation.control.contact_forces import Contact
from inertial_estimation.control.references import WalkCommand
from inertial_estimation.control.support_polygon import Point
from inertial_estimation.control.support_target import SupportTarget
from inertial_estimation.control.walking.dcm_reference import PressureSegment, dcm_of_plan
from inertial_estimation.control.walking.feet import heading, mean_angle
from inertial_estimation.control.walking.footsteps import Footsteps, between, first_swing
from inertial_estimation.control.walking.step_adjustment import StepAdjustment, uncorrected_error
from inertial_estimation.control.walking.swing import SwingPath
from inertial_estimation.control.walking.walking_config import CrawlConfig, WalkingConfig
from inertial_estimation.errors import ConfigurationError
from inertial_estimation.models.whole_body_dynamics import DynamicsState
from inertial_estimation.signals import Array
from inertial_estimation.spatial.rotations import yaw_of

__all__ = ["Gait"]

STANDING, TRANSFER, SWING = "standing", "transfer", "swing"


class Gait:
    """Decides which feet stand and where the centre of pressure goes.

    Everything is relative to the feet as measured: where the base is in the world plays no part.

    Attributes:
        phase: "standing", "transfer" (both feet stand, the weight moves) or "swing".
        steps_made: Steps landed since the start.
        held: Whether it is asked to stand, whatever is left of the walk.
    """

    def __init__(self, contacts: Sequence[Contact], config: WalkingConfig, margin: float) -> None:
        """Stand.

        Args:
            contacts: The contacts.
            config: Durations and heights.
            margin: Distance the centre of pressure keeps from the edges of a sole [m].
        """
        self._reach = [_reach(contact, margin) for contact in contacts]
        self._adjustment = StepAdjustment()
        self._contacts = tuple(contacts)
        self._config = config
        self._steps = Footsteps(config)
        self.reset()

    def reset(self) -> None:
        """Stand, forget the steps asked for and those made."""
        self._home: list[Array] = []
        self._begin(STANDING, None, None, 0.0)
        self._asked: WalkCommand | None = None
        self._steps.left = 0
        self.steps_made = 0
        self.held, self._kept = False, 0
        self._steps.closing = True

    def set_config(self, config: WalkingConfig, _: CrawlConfig | None = None) -> None:
        """Take new durations and heights, from the next phase on."""
        self._config = config
        self._steps.set_config(config)

    def start(self, state: DynamicsState) -> None:
        """Stand on the feet as they are.

        Args:
            state: Dynamics now.
        """
        yaw = yaw_of(state.base.R_WF)
        R_HW = np.array([[math.cos(yaw), math.sin(yaw)], [-math.sin(yaw), math.cos(yaw)]])
        self._home = [R_HW @ motion.p_BF_W[:2] for motion in state.frames]
        self._begin(STANDING, None, None, 0.0)
        self._steps.left = self._kept = 0

    def command(self, command: WalkCommand) -> None:
        """Take steps to walk from now on; while walking they replace what is left.

        Raises:
            ConfigurationError: If the robot has not two feet with soles, or the steps are too long.
        """
        if len(self._contacts) != 2 or not all(contact.is_sole for contact in self._contacts):
            raise ConfigurationError(
                f"cannot walk on {len(self._contacts)} contacts, expected two with soles (stance.soles), or "
                "four or more points"
            )
        if abs(command.length) > self._config.longest_step:
            raise ConfigurationError(
                f"steps of {command.length:g} m, expected at most walking.longest_step, "
                f"{self._config.longest_step:g} m"
            )
        if self.phase == STANDING or self._to is None or self.held:
            self._asked, self._kept = command, 0
            return
        under_way = 1 if self.phase == SWING else 0
        self._steps.left = command.steps + under_way
        self._steps.length = command.length

    def hold(self, held: bool) -> None:
        """Stand on both feet, or go on with what is left of the walk.

        Args:
            held: True: the step under way ends, then it stands; False: it goes on.
        """
        if held == self.held:
            return
        self.held = held
        if held:
            under_way = min(self._steps.left, 1 if self.phase == SWING else 0)
            self._kept, self._steps.left = self._steps.left - under_way, under_way
            self._steps.closing = self._kept == 0
        else:
            kept, self._kept, self._steps.closing = self._kept, 0, True
            if self.phase != STANDING and self._to is not None:
                self._steps.left += kept
            elif kept and self._asked is None:
                self._asked = WalkCommand(kept, self._steps.length)

    def target(
        self,
        state: DynamicsState,
        centres: Sequence[Array],
        omega: float,
        dcm: Array,
        h: float,
        forces: Sequence[float | None] = (),
    ) -> SupportTarget:
        """Return what is wanted of the feet now.

        Args:
            state: Dynamics now.
            centres: Centres of the soles relative to the base origin, world axes [m], shape (3,) each.
            omega: Frequency of the pendulum [1/s].
            dcm: Divergent component of motion, measured [m], shape (2,).
            h: Time since the last call [s].
            forces: Measured normal force of each contact [N]; None where there is none.
        """
        self._elapsed += h
        self._move_on(state, centres, forces)
        if self.phase == SWING:
            return self._swing_target(state, centres, omega, dcm, h)
        if self.phase == TRANSFER:
            return self._transfer_target(state, centres, omega)
        middle: Array = sum(centres) / len(centres)  # type: ignore[assignment]
        yaw = heading(self._contacts, state.frames, self._home)
        full = (1.0,) * len(centres)
        return SupportTarget(STANDING, full, middle[:2], middle[:2], float(middle[2]), yaw)

    def _begin(self, phase: str, source: int | None, to: int | None, duration: float) -> None:
        """Enter a phase; a transfer goes from one foot to another, None being the middle of both."""
        self.phase = phase
        self._from, self._to = source, to
        self._elapsed, self._duration = 0.0, duration

    def _move_on(
        self, state: DynamicsState, centres: Sequence[Array], forces: Sequence[float | None]
    ) -> None:
        if self.phase == STANDING and self._asked is not None and not self.held:
            self._set_out(state, centres, self._asked)
            self._asked = None
        elif self.phase == TRANSFER and self._elapsed >= self._duration:
            if self._to is None:
                self._begin(STANDING, None, None, 0.0)
            elif self._steps.left == 0:
                self._begin(TRANSFER, self._to, None, self._config.start_duration)
            else:
                self._lift_off(state, self._to)
        elif self.phase == SWING and self._landed(forces):
            self._touch_down()

    def _set_out(self, state: DynamicsState, centres: Sequence[Array], command: WalkCommand) -> None:
        if command.steps == 0:
            return
        yaw = heading(self._contacts, state.frames, self._home)
        apart = (centres[0] - centres[1])[:2]
        aside = float(apart @ np.array([-math.sin(yaw), math.cos(yaw)]))
        self._steps.width = self._config.width or abs(aside)
        self._steps.length, self._steps.left = command.length, command.steps
        swing = first_swing(centres, yaw)
        self._begin(TRANSFER, None, 1 - swing, self._config.start_duration)

    def _lift_off(self, state: DynamicsState, stance: int) -> None:
        self._path = SwingPath.lift_off(state.frames[1 - stance], state.frames[stance], self._config)
        self._adjustment.reset()
        self._begin(SWING, stance, stance, self._config.swing_duration)

    def _landed(self, forces: Sequence[float | None]) -> bool:
        """Say whether the swing is over: by the force at the foot, without one by time."""
        assert self._to is not None
        progress = self._elapsed / self._duration
        force = forces[1 - self._to] if forces else None
        if force is None:
            return progress >= 1.0
        if progress >= self._config.early_touchdown and force > self._config.touchdown_force:
            return True
        return self._elapsed >= self._duration + self._config.late_touchdown

    def _touch_down(self) -> None:
        assert self._to is not None
        spare = max(0.0, self._duration - self._elapsed)
        stance, swing = self._to, 1 - self._to
        self._steps.left -= 1
        self.steps_made += 1
        if self._steps.left > 0:
            self._begin(TRANSFER, stance, swing, self._config.transfer_duration + spare)
        else:
            self._begin(TRANSFER, stance, None, self._config.start_duration + spare)

    def _transfer_target(self, state: DynamicsState, centres: Sequence[Array], omega: float) -> SupportTarget:
        s = min(1.0, self._elapsed / self._duration)
        middle = np.mean(centres, axis=0)
        source = middle if self._from is None else centres[self._from]
        goal = middle if self._to is None else centres[self._to]
        start, end = _point(source), _point(goal)
        now = between(start, end, s)
        plan = [PressureSegment(now, end, self._duration - self._elapsed)]
        if self._to is not None and self._steps.left > 0:
            yaw = yaw_of(state.frames[self._to].R_WF)
            plan += self._steps.pressure_plan(end, yaw, 1 - self._to, self._config.swing_duration)
        blend = s * s * (3.0 - 2.0 * s)
        height = float(source[2] + blend * (goal[2] - source[2]))
        yaws = [self._yaw(state, foot) for foot in (self._from, self._to)]
        return SupportTarget(
            f"transfer to {'both' if self._to is None else self._contacts[self._to].name}",
            self._capacities(s),
            np.array(now),
            np.array(dcm_of_plan(plan, omega)),
            height,
            mean_angle(yaws, [1.0 - blend, blend]),
        )

    def _capacities(self, s: float) -> tuple[float, ...]:
        """A foot that has just landed takes its weight over; one about to leave gives it up."""
        capacity = [1.0, 1.0]
        ramp = self._config.load_ramp
        if self._from is not None:
            capacity[1 - self._from] = min(1.0, max(0.05, s / ramp))
        if self._to is not None:
            capacity[1 - self._to] = min(capacity[1 - self._to], max(0.05, (1.0 - s) / ramp))
        return tuple(capacity)

    def _swing_target(
        self, state: DynamicsState, centres: Sequence[Array], omega: float, dcm: Array, h: float
    ) -> SupportTarget:
        assert self._to is not None
        stance, swing = self._to, 1 - self._to
        foot = state.frames[stance]
        yaw = yaw_of(foot.R_WF)
        point = _point(centres[stance])
        remaining = max(0.0, self._duration - self._elapsed)
        landing = self._steps.landing(swing, self._steps.left)
        reference = dcm_of_plan(self._steps.pressure_plan(point, yaw, swing, remaining), omega)
        shift = self._adjusted(dcm - reference, yaw, landing, omega, remaining, h)
        if shift.any():
            plan = self._steps.pressure_plan(point, yaw, swing, remaining, _point(shift))
            reference = dcm_of_plan(plan, omega)
            landing[:2] += shift
        capacity = [0.0, 0.0]
        capacity[stance] = 1.0
        return SupportTarget(
            f"swing of {self._contacts[swing].name}",
            tuple(capacity),
            np.array(point),
            np.array(reference),
            float(centres[stance][2]),
            yaw,
            swing,
            self._path.reference(self._elapsed, landing, foot),
        )

    def _adjusted(
        self, error: Array, yaw: float, landing: Array, omega: float, remaining: float, h: float
    ) -> Array:
        """Shift of the landing in the heading frame, for an error of the DCM in world axes."""
        assert self._to is not None
        c, s = math.cos(yaw), math.sin(yaw)
        error_H = np.array([[c, s], [-s, c]]) @ error
        left_over = uncorrected_error(error_H, self._reach[self._to], omega, remaining)
        self._adjustment.update(self._config, left_over, landing, remaining, h)
        return self._adjustment.shift

    def _yaw(self, state: DynamicsState, foot: int | None) -> float:
        if foot is None:
            return heading(self._contacts, state.frames, self._home)
        return yaw_of(state.frames[foot].R_WF)


def _reach(contact: Contact, margin: float) -> Array:
    """How far the centre of pressure can move from the centre of a sole along its axes [m], shape (2,)."""
    half_sides = 0.5 * np.ptp(contact.points_C[:, :2], axis=0)
    reach: Array = np.maximum(half_sides - margin, 0.0)
    return reach


def _point(centre: Array) -> Point:
    return float(centre[0]), float(centre[1])
