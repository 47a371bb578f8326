"""The kinds of gait, and which one suits a robot's contacts."""

import math
from collections.abc import Callable, Sequence
from enum import Enum

import numpy as np

from inertial_estimation.control.contact_constraints import Contact
from inertial_estimation.control.controller_config import ControllerConfig
from inertial_estimation.control.references import WalkCommand
from inertial_estimation.control.support_target import GaitPhase, SupportTarget
from inertial_estimation.control.walking.biped_phases import BipedContext, BipedPhase, BipedTick, Standing
from inertial_estimation.control.walking.crawl import CrawlGait
from inertial_estimation.control.walking.footsteps import Footsteps
from inertial_estimation.control.walking.gait import Gait, check_walk
from inertial_estimation.control.walking.walking_config import CrawlConfig, WalkingConfig
from inertial_estimation.errors import ConfigurationError
from inertial_estimation.models.whole_body_dynamics import DynamicsState
from inertial_estimation.signals import Array
from inertial_estimation.spatial.rotations import yaw_of


class BipedGait(Gait):
    """Steps with two soles; on any other contacts it stands and refuses to walk."""

    def __init__(self, contacts: Sequence[Contact], walking: WalkingConfig, margin: float) -> None:
        """Stand.

        Args:
            contacts: The contacts.
            walking: Durations and heights.
            margin: Distance the centre of pressure keeps from the edges of a sole [m].
        """
        reach = [_reach(contact, margin) for contact in contacts]
        self._context = BipedContext(tuple(contacts), reach, walking, Footsteps(walking))
        self._state: BipedPhase = Standing(self._context)

    @property
    def phase(self) -> GaitPhase:
        """The phase under way."""
        return self._state.phase

    @property
    def steps_made(self) -> int:
        """Steps landed since the last reset."""
        return self._context.steps_made

    @property
    def held(self) -> bool:
        """Whether the robot is requested to stand, even during an unfinished walk."""
        return self._context.held

    def reset(self) -> None:
        """Stand; discard the requested and completed steps and the initial positions of the feet."""
        context = self._context
        context.home, context.asked = [], None
        context.steps.left = context.steps_made = context.kept = 0
        context.held, context.steps.closing = False, True
        self._state = Standing(context)

    def set_config(self, walking: WalkingConfig, crawl: CrawlConfig) -> None:
        """Take other durations and heights, from the next phase on."""
        self._context.walking = walking
        self._context.steps.set_config(walking)

    def start(self, state: DynamicsState) -> None:
        """Stand on the feet as they are.

        Args:
            state: Dynamics now.
        """
        yaw = yaw_of(state.base.R_WF)
        R_HW = np.array([[math.cos(yaw), math.sin(yaw)], [-math.sin(yaw), math.cos(yaw)]])
        self._context.home = [R_HW @ motion.p_BF_W[:2] for motion in state.frames]
        self._context.steps.left = self._context.kept = 0
        self._state = Standing(self._context)

    def command(self, command: WalkCommand) -> None:
        """Walk from now on; see `Gait.command`."""
        context, contacts = self._context, self._context.contacts
        if len(contacts) != 2 or not all(contact.is_sole for contact in contacts):
            raise ConfigurationError(
                f"cannot walk on {len(contacts)} contacts, expected two with soles (stance.soles), or "
                "four or more points"
            )
        check_walk(command, context.walking)
        if not self._state.stepping or context.held:
            context.asked, context.kept = command, 0
            return
        context.steps.left = command.steps + self._steps_under_way
        context.steps.length = command.length

    def hold(self, held: bool) -> None:
        """Stand on both feet, or go on with what is left of the walk; see `Gait.hold`."""
        context, steps = self._context, self._context.steps
        if held == context.held:
            return
        context.held = held
        if held:
            under_way = min(steps.left, self._steps_under_way)
            context.kept, steps.left = steps.left - under_way, under_way
            steps.closing = context.kept == 0
            return
        kept, context.kept, steps.closing = context.kept, 0, True
        if self._state.stepping:
            steps.left += kept
        elif kept and context.asked is None:
            context.asked = WalkCommand(kept, steps.length)

    def target(
        self,
        state: DynamicsState,
        centres: Sequence[Array],
        omega: float,
        dcm: Array,
        h: float,
        forces: Sequence[float | None] = (),
    ) -> SupportTarget:
        """Return what is wanted of the feet now; see `Gait.target`."""
        tick = BipedTick(state, centres, omega, dcm, h, forces)
        self._state.advance(h)
        self._state = self._state.next(tick)
        return self._state.target(tick)

    @property
    def _steps_under_way(self) -> int:
        return 1 if self.phase is GaitPhase.SWING else 0


def _reach(contact: Contact, margin: float) -> Array:
    """How far the centre of pressure can move from the centre of a sole along its axes [m], shape (2,)."""
    half_sides = 0.5 * np.ptp(contact.points_C[:, :2], axis=0)
    reach: Array = np.maximum(half_sides - margin, 0.0)
    return reach


LEGS_TO_CRAWL = 4  # three are left to stand on


class GaitKind(Enum):
    """A way to walk.

    Attributes:
        BIPED: Steps with two soles; other contacts than those stand.
        CRAWL: Single feet of four or more points, one after the other.
    """

    BIPED = "biped"
    CRAWL = "crawl"


GAITS: dict[GaitKind, Callable[[Sequence[Contact], ControllerConfig], Gait]] = {
    GaitKind.BIPED: lambda contacts, config: BipedGait(contacts, config.walking, config.balance.margin),
    GaitKind.CRAWL: lambda contacts, config: CrawlGait(contacts, config.walking, config.crawl),
}


def gait_kind(contacts: Sequence[Contact]) -> GaitKind:
    """Return the gait that suits contacts.

    Args:
        contacts: The contacts.
    """
    on_points = not any(contact.is_sole for contact in contacts)
    return GaitKind.CRAWL if on_points and len(contacts) >= LEGS_TO_CRAWL else GaitKind.BIPED


def make_gait(contacts: Sequence[Contact], config: ControllerConfig) -> Gait:
    """Make the gait that suits a robot's contacts.

    Args:
        contacts: The contacts.
        config: Parameters of the controller.
    """
    return GAITS[gait_kind(contacts)](contacts, config)
