"""What the two-stage observer is given at every step, kept while a pipeline runs, for `RecordedObserver`."""

from array import array
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.estimators.tilt.correction_rate import SIZE, CorrectionRate
from inertial_estimation.estimators.tilt.tilt_observer import TiltObserver
from inertial_estimation.estimators.tilt.two_stage_observer import TwoStageObserver
from inertial_estimation.signals import Array
from inertial_estimation.spatial.vectors import Matrix, Vector

__all__ = [
    "AFTER",
    "BEFORE",
    "BIAS",
    "FORCE",
    "NOISE",
    "POSE",
    "RATE",
    "VELOCITY",
    "H",
    "KeptObserverSteps",
    "advance",
]

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


def _state(observer: TwoStageObserver) -> tuple[float, ...]:
    return *observer.x1, *observer.x2, *observer.x2_intermediate
