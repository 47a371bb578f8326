"""Checks of one sensor's readings against those just before: stuck, silent, another unit or sign."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

import numpy as np

from inertial_estimation.signals import Array

__all__ = ["NOISE_SHARE", "Quantity", "QuantityCheck", "SensorFault"]

READINGS_STUCK = 8  # equal readings from which a noisy sensor is stuck
READINGS_OF_NOISE = 100  # readings over which noise is recognised, before it can be missed
NOISE_SHARE = 0.3  # of the steps, that turn back: two thirds for white noise, next to none for smooth motion
NOISE_MEMORY = 0.98  # weight of the earlier readings in that share
SUDDEN = 6.0  # squared norm over the one before, beyond which a change is looked at
SAME_DIRECTION = 0.98  # cosine of two readings of which one is a multiple of the other
COMPONENT_SHARE = 0.1  # of the norm, beyond which a number is far from zero
NEAR_DIRECTION = 0.8  # cosine to the last good reading, and twice its norm: near it
USUAL_EVERY = 8  # readings between two that are averaged into the usual one
USUAL_SHARE = 1.0 / 16.0  # of such a reading in the average
USUAL_KNOWN = 100  # readings after which the average is compared with
FEWEST_FAULTY = 50  # readings after which a change of unit or sign may be given up
OPPOSITE = -0.7  # cosine to the usual reading, from which the direction of a contact force is impossible
READINGS_RECOVERED = 3  # near the last good one, after which a change of unit or sign has been none
FACTOR_TOLERANCE = 0.15  # relative deviation of a change from a factor between two units


class SensorFault(Enum):
    """What is wrong with a sensor; diagnostics show the value.

    Attributes:
        STUCK: Its value is exactly constant although it had noise, and other inputs change.
        ZERO: All its values are exactly zero although they were not.
        UNIT: All its values have changed by a factor between two units from one reading to the next.
        SIGN: All its values have changed their sign from one reading to the next.
    """

    STUCK = "stuck: its value is exactly constant"
    ZERO = "silent: all its values are exactly zero"
    UNIT = "in another unit: all its values changed at once by a factor of"
    SIGN = "of another sign: all its values changed their sign at once"


@dataclass(frozen=True)
class Quantity:
    """One quantity of a row, whose numbers a single sensor gives.

    Attributes:
        name: What it is, for people.
        columns: Its columns in the row.
        floor: Norm below which changes say nothing about units or signs.
        factors: Factors between units that are mistaken for one another, greater than 1.
        stuck: Whether its readings never repeat exactly once they had noise.
        zero: Whether it is never exactly zero while it works.
        sign: Whether its direction cannot turn round from one reading to the next.
        one_way: Whether it is always within some 90 degrees of its usual direction, like the force on a foot.
        numbers: Names of its numbers, where each must not repeat exactly once it had noise; else empty.
        components: Number of columns that must be far from zero for a change of unit or sign to be told.
    """

    name: str
    columns: slice
    floor: float
    factors: tuple[float, ...] = ()
    stuck: bool = False
    zero: bool = False
    sign: bool = False
    one_way: bool = False
    numbers: tuple[str, ...] = ()
    components: int = 1


class QuantityCheck:
    """Follows one quantity from reading to reading.

    Attributes:
        fault: What is wrong with it; None where nothing is.
        equal: Number of consecutive readings equal to the one before.
        noisy: Whether its readings have noise, so that they never repeat.
    """

    def __init__(self, quantity: Quantity) -> None:
        self._quantity = quantity
        self._floor_square = quantity.floor**2
        self.reset()

    def reset(self) -> None:
        """Begin without a reading."""
        self.fault: SensorFault | None = None
        self.equal = 0
        self._factor = 1.0
        self._last: Array | None = None
        self._square = 0.0
        self._step = 0.0
        self._turns = 0.0
        self._readings = 0
        self._good: Array | None = None  # last reading before a change of unit or sign
        self._recovered = 0  # consecutive readings near it
        self._usual = _Usual()
        self._given_up_at = 0  # number of the reading from which a change of unit or sign has been none

    @property
    def noisy(self) -> bool:
        """Whether the readings have noise, so that they never repeat."""
        return self._readings >= READINGS_OF_NOISE and self._turns > NOISE_SHARE

    @property
    def text(self) -> str:
        """The fault for people; empty where there is none."""
        if self.fault is None:
            return ""
        factor = f" {self._factor:.4g}" if self.fault is SensorFault.UNIT else ""
        return f"{self._quantity.name} is {self.fault.value}{factor}"

    def changes(self, readings: int) -> bool:
        """Return whether it has changed within the last readings."""
        return self._readings > 0 and self.equal < readings

    def update(self, row: Array, others_change: Callable[["QuantityCheck"], bool]) -> SensorFault | None:
        """Take a reading.

        Args:
            row: The row it is in.
            others_change: Whether other quantities than this one change, by noise or motion.

        Returns:
            The fault; None where there is none.
        """
        x = row[self._quantity.columns]
        square = float(x.dot(x))
        last, before = self._last, self._square
        self._last, self._square = x, square
        if last is None:
            return None
        step = square - before
        if step == 0.0:
            self._repeat(x, last, others_change)
            return self.fault
        self.equal = 0
        self._turns = NOISE_MEMORY * self._turns + (1.0 - NOISE_MEMORY) * (step * self._step < 0.0)
        self._step = step
        self._readings += 1
        if self.fault in (SensorFault.STUCK, SensorFault.ZERO):
            self.fault = None
        if self._good is not None:
            self._recover(x, square)
        sudden = not before < SUDDEN * square < SUDDEN * SUDDEN * before
        if sudden or (self._quantity.sign and x.dot(last) < 0.0):
            self._sudden(last, float(x.dot(last)), before, square)
        landed = before < self._floor_square <= square and self._quantity.one_way
        if landed and self.fault is None:
            self._loaded(x, square)
        if self._readings % USUAL_EVERY == 0 and square > 0.0 and self.fault is None:
            self._usual.add(x, square, loaded=square >= self._floor_square > 0.0)
        return self.fault

    def _repeat(self, x: Array, last: Array, others_change: Callable[["QuantityCheck"], bool]) -> None:
        """Take a reading of the same norm as the one before."""
        self.equal += 1
        if self.equal < READINGS_STUCK or self.fault in (SensorFault.UNIT, SensorFault.SIGN):
            return
        zero = self._square == 0.0 and self._quantity.zero and self._readings > 0
        if (
            (zero or (self._quantity.stuck and self.noisy))
            and np.array_equal(x, last)
            and others_change(self)
        ):
            self.fault = SensorFault.ZERO if zero else SensorFault.STUCK

    def _sudden(self, last: Array, dot: float, before: float, square: float) -> None:
        """Compare a sudden change with factors between units, and with a change of sign."""
        lies = self.fault in (SensorFault.UNIT, SensorFault.SIGN)
        if min(before, square) <= 0.0 or (not lies and before < self._floor_square):
            return
        if abs(dot) < SAME_DIRECTION * (before * square) ** 0.5:
            return
        factor = dot / before
        if lies:
            if abs(factor * self._factor - 1.0) < FACTOR_TOLERANCE:
                self._clear()
            return
        ratio = max(factor, 1.0 / factor)
        if self._quantity.sign and abs(factor + 1.0) < FACTOR_TOLERANCE:
            fault = SensorFault.SIGN
        elif any(abs(ratio / known - 1.0) < FACTOR_TOLERANCE for known in self._quantity.factors):
            fault = SensorFault.UNIT
        else:
            return
        if fault is SensorFault.SIGN and self._usual_again(last):
            return
        if fault is SensorFault.UNIT and self._usual_size_again(before, square):
            return
        if np.count_nonzero(np.abs(last) > COMPONENT_SHARE * before**0.5) >= self._quantity.components:
            self._begin(fault, factor, last)

    def _begin(self, fault: SensorFault, factor: float, good: Array) -> None:
        """Note a change of unit or sign; what lasts longer, before or after it, is believed to be right."""
        self.fault, self._factor, self._good = fault, factor, good
        self._given_up_at = self._readings + max(self._readings, FEWEST_FAULTY)

    def _usual_again(self, last: Array) -> bool:
        """Return whether a change of sign ends one that was not seen to begin: the last one is unusual."""
        usual = self._usual.reading
        return usual is not None and self._readings >= USUAL_KNOWN and float(usual.dot(last)) < 0.0

    def _usual_size_again(self, before: float, square: float) -> bool:
        """Return whether a change of unit ends one that was not seen to begin: the last size is unusual."""
        usual = self._usual.log_square
        if usual is None or self._readings < USUAL_KNOWN:
            return False
        return abs(math.log(square) - usual) < abs(math.log(before) - usual)

    def _loaded(self, x: Array, square: float) -> None:
        """Compare the first reading beyond the floor with the usual direction."""
        usual = self._usual.reading
        if usual is None or self._readings < USUAL_KNOWN:
            return
        if float(usual.dot(x)) < OPPOSITE * (float(usual.dot(usual)) * square) ** 0.5:
            self._begin(SensorFault.SIGN, -1.0, usual)

    def _recover(self, x: Array, square: float) -> None:
        """Clear a change of unit or sign after readings near the last one before it, or the usual one."""
        good, usual = self._good, self._usual.reading
        assert good is not None
        near = _is_near(x, square, good, float(good.dot(good)))
        size = self._usual.log_square
        if not near and usual is not None and size is not None and self._readings >= USUAL_KNOWN:
            near = _is_near(x, square, usual, math.exp(size))
        self._recovered = self._recovered + 1 if near else 0
        if self._recovered >= READINGS_RECOVERED:
            self._clear()
        elif self._readings > self._given_up_at:
            self._clear()
            self._usual, self._readings = _Usual(), 0

    def _clear(self) -> None:
        self.fault, self._factor, self._good, self._recovered = None, 1.0, None, 0


class _Usual:
    """Slow averages of the readings of a quantity.

    Attributes:
        reading: Of those beyond the floor; None before the first.
        log_square: Of the logarithm of the squared norm; None before the first.
    """

    def __init__(self) -> None:
        self.reading: Array | None = None
        self.log_square: float | None = None

    def add(self, x: Array, square: float, *, loaded: bool) -> None:
        """Take a reading and its squared norm; `loaded` tells whether it is beyond the floor."""
        size, log_square = math.log(square), self.log_square
        self.log_square = size if log_square is None else log_square + USUAL_SHARE * (size - log_square)
        if loaded:
            self.reading = x if self.reading is None else self.reading + USUAL_SHARE * (x - self.reading)


def _is_near(x: Array, square: float, other: Array, other_square: float) -> bool:
    """Whether a reading is within some 37 degrees and a factor of two of another one of a given size."""
    norms = (float(other.dot(other)) * square) ** 0.5
    return float(x.dot(other)) > NEAR_DIRECTION * norms and 0.25 * other_square < square < 4.0 * other_square
