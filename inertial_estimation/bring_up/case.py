"""The recording under examination: its streams, mended as far as is known, and the signals made of them."""

from functools import cached_property

from inertial_estimation.bring_up.streams import RobotStreams
from inertial_estimation.bring_up.uniform_signals import UniformSignals, uniform_signals
from inertial_estimation.data_checks.data_table import CheckedRobot
from inertial_estimation.models.robot_config import RobotConfig, RobotSetup


class Case:
    """One recording of one robot.

    Attributes:
        streams: The inputs.
        setup: The robot.
        config: Its parameters.
        robot: What the checks of windows need of it.
    """

    def __init__(self, streams: RobotStreams, setup: RobotSetup, config: RobotConfig) -> None:
        self.streams = streams
        self.setup = setup
        self.config = config
        self.robot = CheckedRobot.of(setup)

    @cached_property
    def signals(self) -> UniformSignals:
        """The streams at common times, with predictions."""
        return uniform_signals(self.streams, self.setup)

    def mended(self, streams: RobotStreams) -> "Case":
        """Return the case with other streams."""
        return Case(streams, self.setup, self.config)
