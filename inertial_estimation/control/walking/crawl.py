"""The crawl: a statically stable walk on four or more points (Tournois et al. V-C, Focchi et al. 2016).

All feet stand while the centre of mass moves over the polygon of the feet that will carry; there it rests,
the foot that leaves gives up its load, swings, and lands. The robot could stop at any moment.
"""

import math
from collections.abc import Sequence

import numpy as np

from inertial_estimation.control.contact_constraints import Contact
from inertial_estimation.control.references import WalkCommand
from inertial_estimation.control.support_target import GaitPhase, SupportTarget
from inertial_estimation.control.walking.body_motion import BodyMotion
from inertial_estimation.control.walking.crawl_context import CrawlContext, CrawlTick
from inertial_estimation.control.walking.crawl_phases import CrawlPhase, Standing
from inertial_estimation.control.walking.crawl_plan import CrawlPlan
from inertial_estimation.control.walking.foot_loads import FootLoads
from inertial_estimation.control.walking.gait import Gait, check_walk
from inertial_estimation.control.walking.ground_map import GroundFrame
from inertial_estimation.control.walking.walking_config import CrawlConfig, WalkingConfig
from inertial_estimation.control.walking.walking_ground import WalkingGround
from inertial_estimation.models.whole_body_dynamics import DynamicsState
from inertial_estimation.signals import Array
from inertial_estimation.spatial.rotations import yaw_of


class CrawlGait(Gait):
    """One foot swings at a time, with the centre of mass at rest over the others."""

    def __init__(self, contacts: Sequence[Contact], walking: WalkingConfig, crawl: CrawlConfig) -> None:
        """Stand.

        Args:
            contacts: The contacts, points.
            walking: Heights, touchdown.
            crawl: Durations, sequence, margin.

        Raises:
            ~inertial_estimation.errors.ConfigurationError: If `crawl.sequence` is not one of all the feet.
        """
        n_feet = len(contacts)
        plan = CrawlPlan([contact.name for contact in contacts], crawl.sequence)
        ground = WalkingGround([np.zeros(3)] * n_feet, 0.0)
        self._n_feet = n_feet
        self._context = CrawlContext(
            walking, crawl, plan, ground, BodyMotion(ground.middle), FootLoads(n_feet)
        )
        self._state: CrawlPhase = Standing(self._context)

    @property
    def phase(self) -> GaitPhase:
        """The phase under way."""
        return self._state.phase

    @property
    def steps_made(self) -> int:
        """Swings landed since the last reset."""
        return self._context.plan.steps_made

    @property
    def held(self) -> bool:
        """Whether the robot is requested to stand, even during an unfinished walk."""
        return self._context.plan.held

    def set_config(self, walking: WalkingConfig, crawl: CrawlConfig) -> None:
        """Take other durations and heights, from the next phase on."""
        self._context.walking, self._context.crawl = walking, crawl

    def reset(self) -> None:
        """Stand; discard the requested and completed steps and the initial positions of the feet."""
        self._context.plan.reset()
        self._state = Standing(self._context)

    def start(self, state: DynamicsState) -> None:
        """Stand on the feet as they are.

        Args:
            state: Dynamics now.
        """
        context = self._context
        ground = WalkingGround([motion.p_BF_W for motion in state.frames], yaw_of(state.base.R_WF))
        context.plan.stand(ground.places)
        context.ground, context.body = ground, BodyMotion(ground.middle)
        context.loads, context.tipping = FootLoads(self._n_feet), False
        self._state = Standing(context)

    def command(self, command: WalkCommand) -> None:
        """Walk from now on, in swings of single feet; see `Gait.command`."""
        check_walk(command, self._context.walking)
        self._context.plan.command(command)

    def hold(self, held: bool) -> None:
        """Stand on all feet, or go on with what is left of the walk; see `Gait.hold`."""
        self._context.plan.held = held

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
        context, ground = self._context, self._context.ground
        self._state.advance(h)
        ground.advance(h)
        frame = ground.locate(centres, [i for i in range(self._n_feet) if i != self._state.swing])
        place, velocity = frame.to_ground(state.com)[:2], (frame.R_WF.T @ state.com_velocity)[:2]
        fresh = context.body.follow(place, velocity, h, context.crawl)
        if fresh:
            self._state = self._state.after_leap()
        context.tipping = self._tips(frame, omega, dcm)
        self._state = self._state.next(CrawlTick(frame, centres, state.frames, forces, h))
        self._state.share_load(h)
        ground.update_lean(context.plan.heading, context.walking.follow_slope, h)
        if self.phase is GaitPhase.STANDING:
            ground.settle(frame, centres, h)
        return self._target(frame, omega, fresh)

    def _tips(self, frame: GroundFrame, omega: float, dcm: Array) -> bool:
        """Whether the robot is about to tip over according to the model."""
        place, velocity, _ = self._context.body.reference()
        error = dcm - _horizontal(frame, place + velocity / omega)
        return 0.0 < self._context.crawl.catch < math.hypot(*error.tolist())

    def _target(self, frame: GroundFrame, omega: float, fresh: bool) -> SupportTarget:
        context, state = self._context, self._state
        place, velocity, acceleration = context.body.reference()
        plane = context.ground.blended_plane()
        roll, pitch = context.ground.lean.tolist()
        x, y, _ = frame.to_ground(np.zeros(3)).tolist()
        return SupportTarget(
            state.phase,
            state.activity,
            context.loads.capacity(state.swing),
            _horizontal(frame, place - acceleration / omega**2),
            _horizontal(frame, place + velocity / omega),
            float(frame.p_BF_W[2]) + plane.height(x, y),
            frame.yaw + context.plan.heading,
            state.swing,
            state.swing_reference(frame),
            support_motion=(float(plane.slope @ velocity), float(plane.slope @ acceleration)),
            tilt=(roll, pitch),
            R_WG=frame.R_WF @ plane.axes(),
            fresh=fresh,
        )


def _horizontal(frame: GroundFrame, place: Array) -> Array:
    """Return a place of the ground relative to the base origin, horizontal [m], shape (2,)."""
    return np.array(frame.from_ground(np.array([place[0], place[1], 0.0]))[:2])
