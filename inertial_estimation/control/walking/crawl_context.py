"""Data of a crawl that outlive its phases, and the measurements of a tick."""

from collections.abc import Sequence
from dataclasses import dataclass

from inertial_estimation.control.walking.body_motion import BodyMotion
from inertial_estimation.control.walking.crawl_plan import CrawlPlan
from inertial_estimation.control.walking.foot_loads import FootLoads
from inertial_estimation.control.walking.ground_map import GroundFrame
from inertial_estimation.control.walking.walking_config import CrawlConfig, WalkingConfig
from inertial_estimation.control.walking.walking_ground import WalkingGround
from inertial_estimation.models.whole_body_dynamics import FrameMotion
from inertial_estimation.signals import Array


@dataclass(frozen=True, slots=True, eq=False)
class CrawlTick:
    """Measurements of one tick; positions relative to the base origin, world axes.

    Attributes:
        frame: Pose of the ground frame.
        centres: Feet [m], shape (3,) each.
        feet: Motion of the feet.
        forces: Force of each contact [N]; None where there is none.
        h: Time since the last tick [s].
    """

    frame: GroundFrame
    centres: Sequence[Array]
    feet: Sequence[FrameMotion]
    forces: Sequence[float | None]
    h: float


@dataclass(slots=True, eq=False)
class CrawlContext:
    """Data that outlive a phase.

    Attributes:
        walking: Heights, touchdown.
        crawl: Durations, sequence, margin.
        plan: What is left of the walk.
        ground: Places of the feet.
        body: Motion of the centre of mass.
        loads: Share of its load that each foot takes.
        tipping: Whether the robot is about to tip over according to the model.
    """

    walking: WalkingConfig
    crawl: CrawlConfig
    plan: CrawlPlan
    ground: WalkingGround
    body: BodyMotion
    loads: FootLoads
    tipping: bool = False

    @property
    def dwell_duration(self) -> float:
        """Duration of the rest: a landed foot takes its load in it, and one gives it up at its end [s]."""
        return max(self.crawl.dwell, 2.0 * self.crawl.load_duration)
