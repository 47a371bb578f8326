"""Reports sensors whose readings repeat exactly although they had noise; nothing is dropped for it.

The rows that an input has kept are looked at when its health is asked for, so that readings cost nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.estimators.inputs.stamped_buffer import StampedBuffer
from inertial_estimation.signals import Array

NUMBERS = 3  # of one sensor: components of a vector
READINGS_REPEATED = 20  # from which a sensor that had noise is stuck
READINGS_OF_NOISE = 100  # that show whether a sensor has noise
REPETITIONS = 0.01  # a change, up to which a sensor has noise; integers and switches repeat more often


@dataclass(frozen=True)
class Sensor:
    """A sensor of three numbers, which it gives in each row of an input.

    Attributes:
        name: For people.
        first: Column of its first number.
        may_be_zero: Whether zeros are right for a while, as of the force on a foot in the air.
    """

    name: str
    first: int
    may_be_zero: bool = False

    def readings(self, rows: Array) -> Array:
        """Return its numbers in rows of the input, shape (n, 3)."""
        return rows[:, self.first : self.first + NUMBERS]


class StuckSensors:
    """Recognises stuck sensors of all inputs of a pipeline.

    A sensor is stuck where its readings repeat exactly while other readings change, although its earlier ones
    hardly ever did: floating-point readings of a sensor with noise. Integers and on/off signals repeat
    often, and readings of a simulation without noise at rest are all constant; they are left alone.
    """

    def __init__(self, sensors: Mapping[str, Sequence[Sensor]]) -> None:
        """Know of no reading.

        Args:
            sensors: Those of each input.
        """
        self._sensors = {name: tuple(own) for name, own in sensors.items()}
        self._noisy: set[tuple[str, Sensor]] = set()

    def found(self, buffers: Mapping[str, StampedBuffer]) -> dict[str, str]:
        """Return which sensors are stuck, as text by input.

        Args:
            buffers: The rows of each input.
        """
        rows = {name: buffer.kept for name, buffer in buffers.items()}
        stuck: dict[str, str] = {}
        for name, sensors in self._sensors.items():
            found = [sensor.name for sensor in sensors if self._stuck(name, sensor, rows[name])]
            if found:
                stuck[name] = f"the readings of the {' and the '.join(found)} repeat exactly: is it stuck?"
        return stuck if any(not _repeated(own[-READINGS_REPEATED:]).all() for own in rows.values()) else {}

    def _stuck(self, name: str, sensor: Sensor, rows: Array) -> bool:
        """Note whether a sensor of an input has noise; return whether it is stuck."""
        readings, key = sensor.readings(rows), (name, sensor)
        repeated = _repeated(readings)
        run = len(repeated) if repeated.all() else int(repeated[::-1].argmin())
        before = repeated[: len(repeated) - run]
        if len(before) >= READINGS_OF_NOISE:
            repetitions = np.count_nonzero(before[1:] & ~before[:-1])
            noisy = repetitions <= REPETITIONS * np.count_nonzero(~before)
            self._noisy = self._noisy | {key} if noisy else self._noisy - {key}
        if run < READINGS_REPEATED or key not in self._noisy:
            return False
        return bool(readings[-1].any()) or not sensor.may_be_zero


def _repeated(rows: Array) -> NDArray[np.bool_]:
    """Return which rows equal the one before, shape (n - 1,)."""
    equal: NDArray[np.bool_] = (rows[1:] == rows[:-1]).all(axis=1)
    return equal
