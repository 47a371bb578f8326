"""Sensor readings of a simulated robot: true values with bias, noise and losses."""

import numpy as np
from numpy.random import default_rng

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.models.joint_corrections import JointCorrections
from inertial_estimation.signals import Array, ImuSample, JointReading, WrenchSample
from inertial_estimation.simulation.sensor_noise_config import SensorNoise
from inertial_estimation.simulation.simulation_config import SensorConfig
from inertial_estimation.simulation.true_readings import TrueReadings


class NoisySensors:
    """Reads the current state; the random generator advances equally for any standard deviations."""

    def __init__(self, true: TrueReadings, config: SensorConfig, corrections: JointCorrections) -> None:
        """Seed the noise.

        Args:
            true: Source of the true readings.
            config: Noise and seed.
            corrections: Offsets and gains that a reader has to correct: the readings are without.

        Raises:
            ConfigurationError: If a bias does not have three values.
        """
        noise = config.noise
        self._true, self._corrections, self._dropped = true, corrections, noise.dropped
        self._with_wrenches = config.wrenches
        self._rng = default_rng(config.seed)
        self._imu_bias = np.array([_bias(noise, "specific_force_bias"), _bias(noise, "angular_rate_bias")])
        self._imu_sigma = np.array([[noise.specific_force], [noise.angular_rate]])
        self._joint_sigma = np.array([[noise.position], [noise.velocity], [noise.effort]])
        self._wrench_sigma = np.repeat([noise.force, noise.torque], 3)

    def imu(self, stamp_ns: int) -> ImuSample | None:
        """Return a reading of the IMU with a stamp [ns]; None if it is lost or there is no IMU."""
        if not self._true.has_imu:
            return None
        error = self._imu_bias + self._imu_sigma * self._rng.standard_normal((2, 3))
        f, w = self._true.imu()
        return ImuSample(stamp_ns, f + error[0], w + error[1]) if self._arrives() else None

    def joints(self, stamp_ns: int) -> JointReading | None:
        """Return a reading of the joints with a stamp [ns]; None if it is lost."""
        names = self._true.joint_names
        error = self._joint_sigma * self._rng.standard_normal((3, len(names)))
        q, v, tau = self._true.joints()
        q, tau = q - self._corrections.offset, tau / self._corrections.gain
        if not self._arrives():
            return None
        return JointReading(stamp_ns, names, q + error[0], v + error[1], tau + error[2])

    def wrenches(self, stamp_ns: int, forces_W: Array) -> dict[str, WrenchSample]:
        """Return readings of force sensors with a stamp, those that are not lost, by contact.

        Args:
            stamp_ns: Stamp [ns].
            forces_W: Forces of the ground on the contact points [N], shape (n, 3).
        """
        found = {}
        for name, wrench in self._true.wrenches(forces_W).items():
            error = self._wrench_sigma * self._rng.standard_normal(6)
            if self._arrives() and self._with_wrenches:
                found[name] = WrenchSample(stamp_ns, wrench + error)
        return found

    def _arrives(self) -> bool:
        return self._rng.random() >= self._dropped


def _bias(noise: SensorNoise, name: str) -> tuple[float, ...]:
    bias: tuple[float, ...] = getattr(noise, name)
    if len(bias) != 3:
        raise ConfigurationError(f"sensors.{name} has {len(bias)} values, expected three")
    return bias
