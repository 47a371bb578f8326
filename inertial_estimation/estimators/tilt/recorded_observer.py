"""What the two-stage observer was given in a recording, kept once and observed many times with other gains.

Alignment, kinematics, contact velocities, checks and gyro bias are those of the run that kept them. They
depend on the gains through the tilt by which forces are weighted and through the bias that is learnt in
motion, both weakly: a run with other gains is a good forecast of the pipeline's, not the same.
"""

from array import array
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.errors import ConfigurationError, listing
from inertial_estimation.estimators.tilt.correction_rate import DENSITY_SEEN, SIZE, CorrectionRate
from inertial_estimation.estimators.tilt.observer_batch import (
    AdaptiveRates,
    ObservedStates,
    ObserverReadings,
    observe,
)
from inertial_estimation.estimators.tilt.tilt_config import TiltPipelineConfig
from inertial_estimation.estimators.tilt.tilt_observer import TiltObserver
from inertial_estimation.estimators.tilt.two_stage_observer import TwoStageObserver
from inertial_estimation.signals import Array, frozen_array
from inertial_estimation.spatial.vectors import Matrix, Vector

__all__ = ["FREE_SECTIONS", "KeptObserverSteps", "ObservedStretch", "RecordedObserver", "advance"]

FREE_SECTIONS = ("two_stage", "gravity", "adaptation")
MISSING: Vector = (np.nan, np.nan, np.nan)
# Numbers of a row: duration, rate, force, contact velocity, bias variance, the states before and after it
# (x1, x2, x2' each), the numbers of the correction rate before it, and the IMU's orientation in the base.
H, RATE, FORCE, VELOCITY, BIAS, BEFORE, AFTER, NOISE = 0, 1, 4, 7, 10, 11, 20, 29
POSE = NOISE + SIZE
WIDTH = POSE + 9
UNPLACED = (np.nan,) * 9


class KeptObserverSteps:
    """Takes what the two-stage observer is given at every step."""

    def __init__(self) -> None:
        self._stamps = array("q")
        self._numbers = array("d")
        self._noise: tuple[float, ...] = ()

    def begin(self, noise: CorrectionRate) -> None:
        """Note, at the start of a step, what the rate of correction follows."""
        self._noise = noise.state

    def advance(
        self,
        stamp_ns: int,
        h: float,
        readings: tuple[Vector, Vector, Vector | None],
        observer: TwoStageObserver,
        bias_variance: float,
    ) -> None:
        """Advance the observer by one step and keep the step.

        Args:
            stamp_ns: Stamp of the step [ns].
            h: Its duration [s].
            readings: Rate [rad/s], specific force [m/s^2] and contact velocity [m/s], None without contact.
            observer: The observer.
            bias_variance: Variance of the gyro bias across the vertical [rad^2/s^2].
        """
        w, f, y_v = readings
        row = [h, *w, *f, *(y_v or MISSING), bias_variance, *_state(observer)]
        observer.step(h, w, f, y_v)
        self._stamps.append(stamp_ns)
        self._numbers.extend((*row, *_state(observer), *self._noise, *UNPLACED))

    def place(self, R_BI: Matrix) -> None:
        """Note the orientation of the IMU in the base at the last step."""
        if self._stamps:
            self._numbers[-9:] = array("d", (*R_BI[0], *R_BI[1], *R_BI[2]))

    def rows(self) -> tuple[NDArray[np.int64], Array]:
        """Return stamps [ns], shape (K,), and rows of numbers, shape (K, `WIDTH`)."""
        numbers = np.frombuffer(self._numbers, dtype=float) if self._numbers else np.zeros(0)
        return np.array(self._stamps, dtype=np.int64), numbers.reshape(-1, WIDTH).copy()


def advance(
    observer: TiltObserver[Any],
    kept: KeptObserverSteps | None,
    stamp_ns: int,
    h: float,
    readings: tuple[Vector, Vector, Vector | None],
    bias_variance: float,
) -> None:
    """Advance an observer by one step, and keep the step where that is wanted.

    Args:
        observer: The observer; steps of another one than two_stage are not kept.
        kept: Takes the step; None: it is not kept.
        stamp_ns: Stamp of the step [ns].
        h: Its duration [s].
        readings: As for `KeptObserverSteps.advance`.
        bias_variance: Variance of the gyro bias across the vertical [rad^2/s^2].
    """
    if kept is None or not isinstance(observer, TwoStageObserver):
        observer.step(h, *readings)
    else:
        kept.advance(stamp_ns, h, readings, observer, bias_variance)


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


def _state(observer: TwoStageObserver) -> tuple[float, ...]:
    return *observer.x1, *observer.x2, *observer.x2_intermediate
