"""The sensors of a simulated robot: the true readings with noise, bias, delay and losses."""

from collections import deque
from typing import Any

import numpy as np
from numpy.random import default_rng

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.models.joint_corrections import JointCorrections
from inertial_estimation.signals import Array, ImuSample, JointReading, WrenchSample
from inertial_estimation.simulation.ground_truth import SensorReadings
from inertial_estimation.simulation.simulation_config import SimulationConfig, period_in_steps, step_ns
from inertial_estimation.simulation.true_readings import TrueReadings

__all__ = ["SensorSuite"]

KINDS = ("imu", "joint", "wrench")


class SensorSuite:
    """Measures at the steps at which a reading has to be true, and hands out what arrives.

    Readings arrive every `period` steps, all of one stamp together. One delayed by d steps was measured d
    steps before; before the beginning the robot was at rest. The generator advances by the same amount
    whatever the sigmas.

    Attributes:
        period: Steps from one reading to the next.
    """

    def __init__(self, true: TrueReadings, config: SimulationConfig, corrections: JointCorrections) -> None:
        """Seed the noise.

        Args:
            true: Source of the true readings.
            config: Rate, noise and seed.
            corrections: What the joints' readings need: they are sent without.

        Raises:
            ConfigurationError: If period or delays are no whole number of steps, or a bias is no vector.
        """
        noise = config.sensors.noise
        self._true, self._dropped = true, noise.dropped
        self._rng = default_rng(config.sensors.seed)
        self._start_ns, self._step_ns = config.start_ns, step_ns(config)
        self.period = period_in_steps(config)
        self._delays = {kind: _delay_in_steps(kind, config) for kind in KINDS}
        self._due = {-delay % self.period for delay in self._delays.values()}
        self._waiting: dict[str, deque[Any]] = {kind: deque() for kind in KINDS}
        self._imu_bias = np.array([_bias(noise, "specific_force_bias"), _bias(noise, "angular_rate_bias")])
        self._imu_sigma = np.array([[noise.specific_force], [noise.angular_rate]])
        self._corrections = corrections
        self._joint_sigma = np.array([[noise.position], [noise.velocity], [noise.effort]])
        self._wrench_sigma = np.repeat([noise.force, noise.torque], 3)

    def begin(self, forces_W: Array) -> None:
        """Measure the robot at rest, for what arrives before the first measurement that is delayed.

        Args:
            forces_W: Forces of the ground on the contact points [N], shape (n, 3).
        """
        for kind, delay in self._delays.items():
            for arrival in range(self.period, delay + 1, self.period):
                self._put(kind, arrival, forces_W)

    def due(self, step: int) -> bool:
        """Whether any sensor measures at a step, counted from the beginning."""
        return step % self.period in self._due

    def measure(self, step: int, forces_W: Array) -> None:
        """Measure the present instant with the sensors that are due.

        Args:
            step: Steps since the beginning.
            forces_W: Forces of the ground on the contact points [N], shape (n, 3).
        """
        for kind, delay in self._delays.items():
            if (step + delay) % self.period == 0:
                self._put(kind, step + delay, forces_W)

    def arrived(self, step: int) -> SensorReadings | None:
        """Return what arrives at a step; None between two stamps."""
        if step % self.period:
            return None
        imu, joints, wrenches = (self._waiting[kind].popleft() for kind in KINDS)
        return SensorReadings(self._stamp(step), imu, joints, wrenches)

    def _put(self, kind: str, arrival: int, forces_W: Array) -> None:
        stamp = self._stamp(arrival)
        if kind == "imu":
            reading: Any = self._imu(stamp)
        elif kind == "joint":
            reading = self._joints(stamp)
        else:
            reading = self._wrenches(stamp, forces_W)
        self._waiting[kind].append(reading)

    def _stamp(self, step: int) -> int:
        return self._start_ns + step * self._step_ns

    def _kept(self) -> bool:
        return self._rng.random() >= self._dropped

    def _imu(self, stamp_ns: int) -> ImuSample | None:
        if not self._true.has_imu:
            return None
        error = self._imu_bias + self._imu_sigma * self._rng.standard_normal((2, 3))
        f, w = self._true.imu()
        return ImuSample(stamp_ns, f + error[0], w + error[1]) if self._kept() else None

    def _joints(self, stamp_ns: int) -> JointReading | None:
        names = self._true.joint_names
        error = self._joint_sigma * self._rng.standard_normal((3, len(names)))
        q, v, tau = self._true.joints()
        q, tau = q - self._corrections.offset, tau / self._corrections.gain
        if not self._kept():
            return None
        return JointReading(stamp_ns, names, q + error[0], v + error[1], tau + error[2])

    def _wrenches(self, stamp_ns: int, forces_W: Array) -> dict[str, WrenchSample]:
        found = {}
        for name, wrench in self._true.wrenches(forces_W).items():
            error = self._wrench_sigma * self._rng.standard_normal(6)
            if self._kept():
                found[name] = WrenchSample(stamp_ns, wrench + error)
        return found


def _delay_in_steps(kind: str, config: SimulationConfig) -> int:
    delay: float = getattr(config.sensors.noise, f"{kind}_delay_s")
    steps = round(delay / config.step)
    if abs(steps * config.step - delay) > 1e-9:
        raise ConfigurationError(
            f"sensors.{kind}_delay_s is {delay:g} s, expected a multiple of the step, {config.step:g} s"
        )
    return steps


def _bias(noise: Any, name: str) -> tuple[float, ...]:
    bias: tuple[float, ...] = getattr(noise, name)
    if len(bias) != 3:
        raise ConfigurationError(f"sensors.{name} has {len(bias)} values, expected three")
    return bias
