"""What the two-stage observer was given in a recording, kept once and observed many times with other gains.

Alignment, kinematics, contact velocities, checks and gyro bias are those of the run that kept them. They
depend on the gains through the tilt by which forces are weighted and through the bias that is learnt in
motion, both weakly: a run with other gains is a good forecast of the pipeline's, not the same.
"""

from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.errors import ConfigurationError, listing
from inertial_estimation.estimators.tilt.correction_rate import DENSITY_SEEN
from inertial_estimation.estimators.tilt.kept_steps import (
    AFTER,
    BEFORE,
    BIAS,
    FORCE,
    NOISE,
    POSE,
    RATE,
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
from inertial_estimation.signals import Array, frozen_array

__all__ = ["FREE_SECTIONS", "ObservedStretch", "RecordedObserver"]

FREE_SECTIONS = ("two_stage", "gravity", "adaptation")


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
        self.R_BI = frozen_array("R_BI", rows[:, POSE:].reshape(-1, 3, 3))
        self._density = np.ascontiguousarray(rows[:, NOISE + DENSITY_SEEN])
        self._bias_variance = np.ascontiguousarray(rows[:, BIAS])
        self._noise = tuple(rows[0, NOISE:POSE].tolist())
        self._start = tuple(rows[0, BEFORE + 3 * i : BEFORE + 3 * i + 3] for i in range(3))

    def observed(self, config: TiltPipelineConfig) -> ObservedStates:
        """Return the states with other gains."""
        rates = None
        if config.adaptation.enabled:
            rates = AdaptiveRates(config.adaptation, self._density, self._bias_variance, self._noise)
        return observe(self.readings, config.two_stage, config.gravity, self._start, rates)


class RecordedObserver:
    """The two-stage observer over a recording, with gains of one's choice.

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
        changed = (rows[1:, BEFORE:AFTER] != rows[:-1, AFTER:NOISE]).any(axis=1)
        bounds = [0, *(np.flatnonzero(changed) + 1).tolist(), len(rows)]
        pairs = pairwise(bounds)
        self.stretches = tuple(ObservedStretch(stamps[a:b], rows[a:b]) for a, b in pairs)

    def tilts(self, config: TiltPipelineConfig) -> tuple[NDArray[np.int64], Array]:
        """Observe the recording with other gains.

        Args:
            config: The parameters; those of `FREE_SECTIONS` may differ from the pipeline's, but
                `adaptation.memory`.

        Returns:
            Stamps [ns], shape (K,), and verticals in the base frame, shape (K, 3).

        Raises:
            ConfigurationError: If other parameters differ.
        """
        fixed = self.dependent(config)
        if fixed:
            raise ConfigurationError(
                f"the kept steps depend on {listing(fixed)}, expected the values of the pipeline that kept "
                f"them; {listing(FREE_SECTIONS)} may differ"
            )
        tilts = [
            np.einsum("kij,kj->ki", stretch.R_BI, stretch.observed(config).x2) for stretch in self.stretches
        ]
        return np.concatenate([stretch.stamps_ns for stretch in self.stretches]), np.concatenate(tilts)

    def dependent(self, config: TiltPipelineConfig) -> list[str]:
        """Return which parameters differ on which the kept steps depend; empty if none does."""
        own = self._config
        same = replace(config, **{name: getattr(own, name) for name in FREE_SECTIONS})
        fixed = [name for name in vars(own) if getattr(same, name) != getattr(own, name)]
        return [*fixed, *(["adaptation.memory"] if config.adaptation.memory != own.adaptation.memory else [])]
