"""Whether a robot is at rest: speeds and accelerations near zero, for a while (T V)."""

from collections.abc import Sequence

import numpy as np

from inertial_estimation.estimators.payload.durations import has_lasted
from inertial_estimation.estimators.payload.payload_config import RestConfig
from inertial_estimation.estimators.payload.payload_inputs import MeanState

LEAVING_FACTOR = 1.5  # of a limit: what ends a rest, so that noise near the limit does not


class RestDetector:
    """Judges means over a window. A rest begins below the limits and ends at one and a half times them.

    A bias of the gyroscope only has to stay below the limit of the rate, one of the accelerometer plays
    no part: its change is judged.

    Attributes:
        config: Its limits.
    """

    def __init__(self, config: RestConfig, joint_names: Sequence[str]) -> None:
        self.config = config
        self._names = tuple(joint_names)
        self.reset()

    def reset(self) -> None:
        """Discard all readings."""
        self._still_for = 0.0
        self._culprit = ""
        self._value = 0.0

    @property
    def why_not(self) -> str:
        """Reason why the robot is not at rest; empty if it is."""
        units = {"the base turns": "rad/s", "the base accelerates": "m/s^2", "the base moves": "m/s"}
        if not self._culprit:
            return "" if self._rested else f"still for {self._still_for:.2f} s only"
        return f"{self._culprit} with {self._value:.3g} {units.get(self._culprit, 'rad/s')}"

    def update(self, state: MeanState, dt: float) -> bool:
        """Take the means of a step.

        Args:
            state: Means over the window.
            dt: Time since the last step [s].

        Returns:
            Whether the robot is at rest.
        """
        self._culprit = self._find_culprit(state, LEAVING_FACTOR if self._rested else 1.0)
        self._still_for = 0.0 if self._culprit else self._still_for + dt
        return not self._culprit and self._rested

    @property
    def _rested(self) -> bool:
        return self._still_for > 0.0 and has_lasted(self._still_for, self.config.duration)

    def _find_culprit(self, state: MeanState, scale: float) -> str:
        limits = self.config
        speeds = np.abs(state.v)
        fastest = int(speeds.argmax()) if len(speeds) else 0
        if len(speeds) and speeds[fastest] > scale * limits.joint_speed:
            self._value = float(speeds[fastest])
            return f"joint {self._names[fastest]} moves"
        for culprit, value, limit in (
            ("the base moves", state.base_speed, limits.base_speed),
            ("the base turns", state.angular_rate, limits.angular_rate),
            ("the base accelerates", state.acceleration, limits.acceleration),
        ):
            if value > scale * limit:
                self._value = value
                return culprit
        return ""
