"""The interface of a gait: which feet stand, which one swings, where the centre of mass goes."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from inertial_estimation.control.references import WalkCommand
from inertial_estimation.control.support_target import GaitPhase, SupportTarget
from inertial_estimation.control.walking.walking_config import CrawlConfig, WalkingConfig
from inertial_estimation.errors import ConfigurationError
from inertial_estimation.models.whole_body_dynamics import DynamicsState
from inertial_estimation.signals import Array


class Gait(ABC):
    """Determines the support feet, the swing foot and the motion of the centre of mass.

    Everything is relative to the feet as measured: where the base is in the world plays no part.
    """

    @property
    @abstractmethod
    def phase(self) -> GaitPhase:
        """The phase under way."""

    @property
    @abstractmethod
    def steps_made(self) -> int:
        """Swings landed since the last reset."""

    @property
    @abstractmethod
    def held(self) -> bool:
        """Whether the robot is requested to stand, even during an unfinished walk."""

    @abstractmethod
    def reset(self) -> None:
        """Stand; discard the requested and completed steps and the initial positions of the feet."""

    @abstractmethod
    def set_config(self, walking: WalkingConfig, crawl: CrawlConfig) -> None:
        """Take other durations and heights, from the next phase on."""

    @abstractmethod
    def start(self, state: DynamicsState) -> None:
        """Stand on the feet as they are.

        Args:
            state: Dynamics now.
        """

    @abstractmethod
    def command(self, command: WalkCommand) -> None:
        """Walk from now on; while walking, the command replaces what is left.

        Args:
            command: Number and length of the steps.

        Raises:
            ConfigurationError: If the robot cannot walk, or the steps are too long.
        """

    @abstractmethod
    def hold(self, held: bool) -> None:
        """Stand on all feet, or go on with what is left of the walk.

        Args:
            held: True: the swing under way ends, then the robot stands; False: it goes on.
        """

    @abstractmethod
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
            centres: Centres of the contacts relative to the base origin, world axes [m], shape (3,) each.
            omega: Frequency of the pendulum [1/s].
            dcm: Divergent component of motion, measured [m], shape (2,).
            h: Time since the last call [s].
            forces: Measured normal force of each contact [N]; None where there is none.
        """


def check_walk(command: WalkCommand, walking: WalkingConfig) -> None:
    """Check length and number of the steps of a command.

    Raises:
        ConfigurationError: If they are longer than `walking.longest_step`, or more than `walking.most_steps`.
    """
    if abs(command.length) > walking.longest_step:
        raise ConfigurationError(
            f"steps of {command.length:g} m, expected at most walking.longest_step, "
            f"{walking.longest_step:g} m"
        )
    if command.steps > walking.most_steps:
        raise ConfigurationError(
            f"{command.steps:.4g} steps, expected at most walking.most_steps, {walking.most_steps}"
        )
