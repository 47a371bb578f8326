"""Schedule of the sensors of a simulated robot: rate of measurement and delays of arrival."""

from collections import deque
from collections.abc import Callable
from typing import Any

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.signals import Array
from inertial_estimation.simulation.ground_truth import SensorReadings
from inertial_estimation.simulation.noisy_sensors import NoisySensors
from inertial_estimation.simulation.simulation_config import SimulationConfig, period_in_steps, step_ns

Measure = Callable[[int, Array], Any]


class SensorSuite:
    """Measures at the step to which a reading refers, and delivers it after its delay.

    Readings arrive every `period` steps, all of one stamp together. One delayed by d steps was measured d
    steps before; before the beginning the robot was at rest.

    Attributes:
        period: Steps from one reading to the next.
    """

    def __init__(self, sensors: NoisySensors, config: SimulationConfig) -> None:
        """Set rate and delays.

        Args:
            sensors: The sensors.
            config: Rate and delays.

        Raises:
            ConfigurationError: If period or delays are not a whole number of steps.
        """
        self.period = period_in_steps(config)
        self._start_ns, self._step_ns = config.start_ns, step_ns(config)
        self._measure: dict[str, Measure] = {  # the order determines that of the noise samples
            "imu": lambda stamp_ns, _: sensors.imu(stamp_ns),
            "joint": lambda stamp_ns, _: sensors.joints(stamp_ns),
            "wrench": sensors.wrenches,
        }
        self._delays = {kind: _delay_in_steps(kind, config) for kind in self._measure}
        self._due = {-delay % self.period for delay in self._delays.values()}
        self._waiting: dict[str, deque[Any]] = {kind: deque() for kind in self._measure}

    def begin(self, forces_W: Array) -> None:
        """Measure the robot at rest, for readings that arrive before the first delayed measurement.

        Args:
            forces_W: Forces of the ground on the contact points [N], shape (n, 3).
        """
        for kind, delay in self._delays.items():
            for arrival in range(self.period, delay + 1, self.period):
                self._put(kind, arrival, forces_W)

    def due(self, step: int) -> bool:
        """Return whether any sensor measures at a step, counted from the beginning."""
        return step % self.period in self._due

    def measure(self, step: int, forces_W: Array) -> None:
        """Measure the current state with the sensors that are due.

        Args:
            step: Steps since the beginning.
            forces_W: Forces of the ground on the contact points [N], shape (n, 3).
        """
        for kind, delay in self._delays.items():
            if (step + delay) % self.period == 0:
                self._put(kind, step + delay, forces_W)

    def arrived(self, step: int) -> SensorReadings | None:
        """Return the readings that arrive at a step; None between two stamps."""
        if step % self.period:
            return None
        imu, joints, wrenches = (queue.popleft() for queue in self._waiting.values())
        return SensorReadings(self._stamp(step), imu, joints, wrenches)

    def _put(self, kind: str, arrival: int, forces_W: Array) -> None:
        self._waiting[kind].append(self._measure[kind](self._stamp(arrival), forces_W))

    def _stamp(self, step: int) -> int:
        return self._start_ns + step * self._step_ns


def _delay_in_steps(kind: str, config: SimulationConfig) -> int:
    delay: float = getattr(config.sensors.noise, f"{kind}_delay_s")
    steps = round(delay / config.step)
    if abs(steps * config.step - delay) > 1e-9:
        raise ConfigurationError(
            f"sensors.{kind}_delay_s is {delay:g} s, expected a multiple of the step, {config.step:g} s"
        )
    return steps
