"""What an observer was given in a recording, kept once and observed many times with other gains.

Alignment, kinematics, contact velocities, checks and gyro bias are those of the run that kept them. They
depend on the gains through the tilt by which forces are weighted and through the bias that is learnt in
motion, both weakly: a run with other gains is a good forecast of the pipeline's, not the same.
"""

from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.errors import ConfigurationError, listing
from inertial_estimation.estimators.tilt.correction_rate import DENSITY_SEEN, white_density
from inertial_estimation.estimators.tilt.kalman_batch import MeasuredNoise, observe_with_covariance
from inertial_estimation.estimators.tilt.kept_steps import (
    BIAS,
    FORCE,
    INFORMATION,
    NOISE,
    POSE,
    RATE,
    STATES,
    VELOCITY,
    H,
    KeptObserverSteps,
)
from inertial_estimation.estimators.tilt.observer_batch import (
    AdaptiveRates,
    ObservedStates,
    ObserverReadings,
    observe,
)
from inertial_estimation.estimators.tilt.tilt_config import TiltPipelineConfig
from inertial_estimation.parameters import parameter_values
from inertial_estimation.signals import Array, frozen_array

# Sections of parameters that may differ, by observer, and those among them that may not.
FREE_SECTIONS = {"two_stage": ("two_stage", "gravity", "adaptation"), "kalman": ("kalman", "gravity")}
FIXED = ("adaptation.memory", "kalman.accelerometer_offset")


class ObservedStretch:
    """Steps without a break: nothing but the observer has changed its state.

    Attributes:
        stamps_ns: Stamps of the K steps [ns], shape (K,).
        readings: What the observer takes.
        R_BI: Orientation of the IMU in the base after each step, shape (K, 3, 3).
    """

    def __init__(self, stamps_ns: NDArray[np.int64], rows: Array) -> None:
        """Take consecutive rows of `KeptObserverSteps`."""
        self.stamps_ns = stamps_ns
        self.readings = ObserverReadings(
            rows[:, H],
            *(rows[:, first : first + 3] for first in (RATE, FORCE, VELOCITY)),
        )
        self.R_BI = frozen_array("R_BI", rows[:, POSE:STATES].reshape(-1, 3, 3))
        density = np.ascontiguousarray(rows[:, NOISE + DENSITY_SEEN])
        self._density, self._rate_state = density, tuple(rows[0, NOISE:INFORMATION].tolist())
        self._noise = MeasuredNoise(white_density(density), rows[:, BIAS], rows[:, INFORMATION])
        self._start = rows[0, STATES : (STATES + rows.shape[1]) // 2]

    def observed(self, config: TiltPipelineConfig) -> ObservedStates:
        """Return the states with other gains."""
        if config.observer == "kalman":
            return observe_with_covariance(
                self.readings, self._noise, config.kalman, config.gravity, self._start
            )
        rates, noise = None, self._noise
        if config.adaptation.enabled:
            rates = AdaptiveRates(config.adaptation, self._density, noise.bias_variance, self._rate_state)
        start = tuple(self._start.reshape(3, 3))
        return observe(self.readings, config.two_stage, config.gravity, start, rates)


class RecordedObserver:
    """An observer over a recording, with gains of one's choice.

    Attributes:
        stretches: The steps, divided where something else has changed the observer's state: a start, or a
            correction after readings that contradict one another.
    """

    def __init__(self, kept: KeptObserverSteps, config: TiltPipelineConfig) -> None:
        """Take the steps that a pipeline has kept.

        Args:
            kept: The steps.
            config: The pipeline's parameters.

        Raises:
            ConfigurationError: If it has kept none.
        """
        stamps, rows = kept.rows()
        if not len(stamps):
            raise ConfigurationError(
                "the pipeline has kept no steps of the observer, expected a recording with all inputs"
            )
        self._config = config
        after = (STATES + rows.shape[1]) // 2
        changed = (rows[1:, STATES:after] != rows[:-1, after:]).any(axis=1)
        bounds = [0, *(np.flatnonzero(changed) + 1).tolist(), len(rows)]
        pairs = pairwise(bounds)
        self.stretches = tuple(ObservedStretch(stamps[a:b], rows[a:b]) for a, b in pairs)

    def tilts(self, config: TiltPipelineConfig) -> tuple[NDArray[np.int64], Array]:
        """Observe the recording with other gains.

        Args:
            config: The parameters; those of `FREE_SECTIONS` may differ from the pipeline's, but not those
                of `FIXED`.

        Returns:
            Stamps [ns], shape (K,), and verticals in the base frame, shape (K, 3).

        Raises:
            ConfigurationError: If other parameters differ.
        """
        fixed = self.dependent(config)
        if fixed:
            raise ConfigurationError(
                f"the kept steps depend on {listing(fixed)}, expected the values of the pipeline that kept "
                f"them; {listing(FREE_SECTIONS[self._config.observer])} may differ"
            )
        tilts = [
            np.einsum("kij,kj->ki", stretch.R_BI, stretch.observed(config).x2) for stretch in self.stretches
        ]
        return np.concatenate([stretch.stamps_ns for stretch in self.stretches]), np.concatenate(tilts)

    def dependent(self, config: TiltPipelineConfig) -> list[str]:
        """Return which parameters differ on which the kept steps depend; empty if none does."""
        own, free = self._config, FREE_SECTIONS[self._config.observer]
        same = replace(config, **{name: getattr(own, name) for name in free})
        differing = [name for name in vars(own) if getattr(same, name) != getattr(own, name)]
        values, others = parameter_values(own), parameter_values(config)
        fixed = [name for name in FIXED if name.partition(".")[0] in free and values[name] != others[name]]
        return [*differing, *fixed]
