"""Observation of the trunk: at rest its mass and centre of mass, in motion its mass alone."""

from inertial_estimation.estimators.payload.durations import has_lasted
from inertial_estimation.estimators.payload.identification_context import TrunkObservation
from inertial_estimation.estimators.payload.payload_config import TrunkPayloadConfig
from inertial_estimation.estimators.payload.payload_inputs import MeanState
from inertial_estimation.estimators.payload.rest_detector import RestDetector
from inertial_estimation.estimators.payload.trunk_measurer import TrunkMeasurer

OBSERVATION_SHARE = 0.25  # of the window, from one observation to the next: overlapping windows share data
LONGEST_PERIOD_S = 0.02  # from one observation to the next


class TrunkObserver:
    """Detects rest in every step, and measures the trunk a few times per window.

    Attributes:
        measurer: Measures the trunk.
        at_rest: Whether the robot is at rest.
        why_not: Why the trunk is not measured; empty if it is.
    """

    def __init__(self, rest: RestDetector, measurer: TrunkMeasurer) -> None:
        """Begin without a window of readings.

        Args:
            rest: Detects rest.
            measurer: Measures the trunk.
        """
        self.measurer = measurer
        self._rest = rest
        self._since_observation = 0.0
        self.at_rest = False
        self.why_not = ""
        self.lose_window()

    def reset(self) -> None:
        """Forget rest, measurements and their counts."""
        self.lose_window()
        self.measurer.reset()

    def lose_window(self) -> None:
        """Restart the detection of rest with an empty window of readings."""
        self._rest.reset()
        self.at_rest = False
        self.why_not = "an input is missing, or its window is not full"
        self._since_observation = 0.0

    def set_config(self, config: TrunkPayloadConfig) -> None:
        """Take other limits."""
        self.measurer.config = config
        self._rest.config = config.rest

    def update(
        self, stamp_ns: int, state: MeanState, dt: float, *, arrived: bool, doubtful: bool
    ) -> TrunkObservation | None:
        """Take the means of a step.

        Args:
            stamp_ns: Stamp of the step [ns].
            state: Means over the window.
            dt: Time since the last step [s].
            arrived: Whether the published trunk has reached its target.
            doubtful: Whether a sensor has shown a fault within the last seconds.

        Returns:
            An observation, in the steps in which one is due.
        """
        self.at_rest = self._rest.update(state, dt)
        self._since_observation += dt
        period = min(OBSERVATION_SHARE * self.measurer.config.rest.window, LONGEST_PERIOD_S)
        if not has_lasted(self._since_observation, period):
            return None
        elapsed, self._since_observation = self._since_observation, 0.0
        reading = self.measurer.read(state) if self.at_rest else None
        self.why_not = "" if reading else self._rest.why_not or self.measurer.trouble
        moving_mass = None if self.at_rest else self.measurer.weigh(state)
        return TrunkObservation(
            stamp_ns, elapsed, self.at_rest, reading, self.why_not, arrived, doubtful, moving_mass
        )
