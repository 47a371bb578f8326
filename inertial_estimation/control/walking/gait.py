"""Gaits: which feet stand, which one swings and how, where the centre of mass goes."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from enum import Enum
from typing import ClassVar, NamedTuple

import numpy as np

from inertial_estimation.control.config import ControllerConfig
from inertial_estimation.control.inverse_dynamics import Contact
from inertial_estimation.control.references import WalkCommand
from inertial_estimation.control.tasks import FootReference
from inertial_estimation.errors import ConfigurationError
from inertial_estimation.models.contacts import FOOT_SHARE
from inertial_estimation.models.joint_trajectory import minimum_jerk
from inertial_estimation.models.whole_body_dynamics import DynamicsState
from inertial_estimation.signals import Array
from inertial_estimation.spatial.rotations import exp_so3

STEP_SHARE = 0.5  # longest step, of the height of the base in the home posture
EARLY_TOUCHDOWN = 0.6  # share of a swing after which the ground under the foot ends it
LOAD_S = 0.12  # time in which a landed foot is loaded, and one about to leave is unloaded
LEAST_LOAD = 1e-3  # smallest share of its full load that a foot on the ground may carry
LATE_TOUCHDOWN_S = 0.15  # time after the planned touchdown for which a foot without contact moves on down


class GaitPhase(Enum):
    """Phase of a gait."""

    STANDING = "standing"  # all feet stand, no step is requested
    TRANSFER = "transfer"  # all feet stand while the weight moves over those that will carry it
    DWELL = "dwell"  # all feet stand and the body rests before a foot leaves; a crawl only
    SWING = "swing"  # one foot is in the air


class Tick(NamedTuple):
    """Measurements of one tick; positions relative to the base origin, world axes."""

    state: DynamicsState
    centres: Sequence[Array]  # centres of the contacts [m], shape (3,) each
    omega: float  # frequency of the pendulum [1/s]
    dcm: Array  # divergent component of motion [m], shape (2,)
    h: float  # time since the last tick [s]
    forces: Sequence[float | None]  # normal force of each contact [N]; None where none is known


class SupportTarget(NamedTuple):
    """Support, centre of pressure and swing foot; positions relative to the base origin, world axes."""

    phase: GaitPhase
    activity: str  # phase and foot in words: "standing", "transfer to left_foot" ...
    capacity: tuple[float, ...]  # share of its full force that each contact may carry, 0 (in the air) to 1
    zmp: Array  # centre of pressure of the reference [m], shape (2,)
    dcm: Array  # divergent component of motion of the reference [m], shape (2,)
    support_height: float  # height of the ground under the base [m]: of the soles that carry
    yaw: float  # heading of the feet [rad]
    swing: tuple[int, FootReference] | None = None  # foot in the air, and its reference; None: all stand
    support_motion: tuple[float, float] = (0.0, 0.0)  # rate [m/s], acceleration [m/s^2] of `support_height`
    R_WG: Array | None = None  # axes of a point's friction pyramid, z normal to the ground; None: the world's
    fresh: bool = False  # whether the reference restarts from the measured state: the integral is reset


class Phase:
    """One phase of a gait.

    Attributes:
        kind: Kind of the phase.
        elapsed: Time since the phase began [s].
    """

    kind: ClassVar[GaitPhase]
    elapsed = 0.0


class Gait(ABC):
    """Determines the support feet, the swing foot and the motion of the centre of mass.

    Everything is relative to the measured feet: the position of the base in the world is not used. Each phase
    holds the data that exist only while it lasts, and returns the next phase.

    Attributes:
        contacts: The contacts.
        config: The parameters in force; durations and heights take effect with the next phase.
        longest: Longest step that is accepted [m].
        touchdown_force: Normal force on a swing foot from which on it has landed [N].
        held: Whether the robot is requested to stand on all feet once the swing under way has ended, even
            during an unfinished walk; when the request ends, it continues with the rest.
        left: Number of steps left, the one under way included.
        steps_made: Swings landed since the last reset.
    """

    _state: Phase

    def __init__(
        self, contacts: Sequence[Contact], config: ControllerConfig, height: float, weight: float
    ) -> None:
        """Stand; the robot has its base at a height [m] in its home posture, and a weight [N]."""
        self.contacts, self.config = tuple(contacts), config
        self.longest, self.touchdown_force = STEP_SHARE * height, FOOT_SHARE * weight
        self.reset()

    @property
    def phase(self) -> GaitPhase:
        """The phase under way."""
        return self._state.kind

    @property
    def goes_on(self) -> bool:
        """Whether another step follows."""
        return self.left > 0 and not self.held

    def reset(self) -> None:
        """Stand; discard the requested and completed steps and the initial positions of the feet."""
        self._requested: WalkCommand | None = None  # command that has not begun
        self.held, self.left, self.steps_made = False, 0, 0

    @abstractmethod
    def start(self, state: DynamicsState) -> None:
        """Stand on the feet as they are."""

    def command(self, command: WalkCommand) -> None:
        """Walk from now on; a command during a walk replaces the rest of it.

        Raises:
            ConfigurationError: If the robot cannot walk, or the steps are too long.
        """
        if abs(command.length) > self.longest:
            raise ConfigurationError(
                f"steps of {command.length:g} m, expected at most {self.longest:.2g} m, {STEP_SHARE:g} of "
                "the height of the base"
            )
        self._requested = command

    def take_command(self, under_way: int = 0) -> None:
        """Plan the walk requested since the last call, if any, in addition to the steps under way."""
        if self._requested is not None:
            self.left = self._requested.steps + under_way
            self.plan_walk(self._requested)
            self._requested = None

    @abstractmethod
    def plan_walk(self, command: WalkCommand) -> None:
        """Take the length of the steps."""

    @abstractmethod
    def target(self, tick: Tick) -> SupportTarget:
        """Return the present target of support and swing foot."""


ARRIVED_SHARE = 0.9  # share of the duration in which the horizontal motion ends, before the touchdown


class SwingPath(NamedTuple):
    """Minimum-jerk path of a foot from where it left the ground to where it lands, in a level frame."""

    start: Array  # position at lift-off [m], shape (3,)
    turn: Array  # orientation at lift-off as a rotation vector; it lands flat [rad], shape (3,)
    duration: float  # time until the planned touchdown [s]
    apex: float  # height of the highest point [m]
    touchdown_speed: float  # downward speed at touchdown, kept until the foot meets the ground [m/s]

    def reference(self, t: float, landing: Array, yaw: float, origin: Array) -> FootReference:
        """Return the reference of the foot.

        Args:
            t: Time since lift-off [s]; after the duration the foot moves on down.
            landing: Where it lands, in the frame of the path [m], shape (3,).
            yaw: Heading of this frame [rad].
            origin: Its origin relative to the base origin, world axes [m], shape (3,).
        """
        s, rate, curvature = _blend(t, ARRIVED_SHARE * self.duration)
        path = landing - self.start
        position, velocity, acceleration = self.start + s * path, rate * path, curvature * path
        position[2], velocity[2], acceleration[2] = self._vertical(t, float(landing[2]))
        R_WH = exp_so3(np.array([0.0, 0.0, yaw]))
        R_WF = R_WH @ exp_so3((1.0 - s) * self.turn)
        return FootReference(R_WF, origin + R_WH @ position, R_WH @ velocity, R_WH @ acceleration)

    def _vertical(self, t: float, ground: float) -> tuple[float, float, float]:
        rise, start = 0.5 * self.duration, float(self.start[2])
        fall, v = self.duration - rise, self.touchdown_speed
        if t < rise:
            s, rate, curvature = _blend(t, rise)
            height = self.apex - start
            return start + s * height, rate * height, curvature * height
        if t > self.duration:
            return ground - v * (t - self.duration), -v, 0.0
        s, rate, curvature = _blend(t - rise, fall)
        # Ends at speed -v without acceleration: plus v T u^3 (4 - 7 u + 3 u^2), zero at both ends.
        drop, u = ground - self.apex, (t - rise) / fall
        extra = v * fall * u**3 * (4.0 - 7.0 * u + 3.0 * u * u)
        extra_rate = v * u * u * (12.0 - 28.0 * u + 15.0 * u * u)
        extra_curvature = v / fall * u * (24.0 - 84.0 * u + 60.0 * u * u)
        return self.apex + s * drop + extra, rate * drop + extra_rate, curvature * drop + extra_curvature


def _blend(t: float, duration: float) -> tuple[float, float, float]:
    """Return the minimum-jerk blend with its first two derivatives in time."""
    s, rate, curvature = minimum_jerk(min(1.0, max(0.0, t / duration)))
    return s, rate / duration, curvature / duration**2
