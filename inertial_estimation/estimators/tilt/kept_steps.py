"""What an observer is given at every step, kept while a pipeline runs, for `RecordedObserver`."""

from array import array
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.estimators.tilt.correction_rate import SIZE, CorrectionRate
from inertial_estimation.estimators.tilt.tilt_observer import TiltObserver
from inertial_estimation.signals import Array
from inertial_estimation.spatial.vectors import Matrix, Vector

MISSING: Vector = (np.nan, np.nan, np.nan)
# Numbers of a row: duration, rate, force, contact velocity, variance of the bias, the numbers of the
# correction rate before the step, information of the contact velocity, the IMU's orientation in the base, and
# the states of the observer before and after it.
H, RATE, FORCE, VELOCITY, BIAS, NOISE = 0, 1, 4, 7, 10, 11
INFORMATION = NOISE + SIZE
POSE = INFORMATION + 1
STATES = POSE + 9
UNPLACED = (np.nan,) * 9


class KeptObserverSteps:
    """Takes what an observer is given at every step."""

    def __init__(self) -> None:
        self._stamps = array("q")
        self._numbers = array("d")
        self._width = 0  # of a row
        self._noise: tuple[float, ...] = ()

    def begin(self, noise: CorrectionRate, information: float) -> None:
        """Note, at the start of a step, what gains follow.

        Args:
            noise: Noise of the readings.
            information: Of the contact velocity over the usual one.
        """
        self._noise = *noise.state, information

    def advance(
        self,
        stamp_ns: int,
        h: float,
        readings: tuple[Vector, Vector, Vector | None],
        observer: TiltObserver[Any],
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
        row = [h, *w, *f, *(y_v or MISSING), bias_variance, *self._noise, *UNPLACED, *observer.state]
        observer.step(h, w, f, y_v)
        row += observer.state
        self._stamps.append(stamp_ns)
        self._numbers.extend(row)
        self._width = len(row)

    def place(self, R_BI: Matrix) -> None:
        """Note the orientation of the IMU in the base at the last step."""
        if self._stamps:
            first = len(self._numbers) - self._width + POSE
            self._numbers[first : first + 9] = array("d", (*R_BI[0], *R_BI[1], *R_BI[2]))

    def rows(self) -> tuple[NDArray[np.int64], Array]:
        """Return stamps [ns], shape (K,), and rows of numbers, `STATES` of them and two states."""
        numbers = np.array(self._numbers, dtype=float).reshape(len(self._stamps), self._width)
        return np.array(self._stamps, dtype=np.int64), numbers


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
        observer: The observer; steps of one that cannot be run over a whole recording are not kept.
        kept: Takes the step; None: it is not kept.
        stamp_ns: Stamp of the step [ns].
        h: Its duration [s].
        readings: As for `KeptObserverSteps.advance`.
        bias_variance: Variance of the gyro bias across the vertical [rad^2/s^2].
    """
    if kept is None or not observer.state:
        observer.step(h, *readings)
    else:
        kept.advance(stamp_ns, h, readings, observer, bias_variance)
