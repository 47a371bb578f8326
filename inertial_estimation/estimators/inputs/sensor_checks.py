"""Checks of one sensor's readings against those just before: stuck, silent, another unit or sign."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise

import numpy as np

from inertial_estimation.estimators.inputs.reading_steps import (
    ACTIVE,
    BEFORE,
    EQUAL,
    LOG_KNOWN,
    LOG_SQUARE,
    LOOK,
    PRODUCT,
    READINGS,
    SQUARE,
    SUDDEN,
    USUAL_EVERY,
    USUAL_KNOWN,
    begin_anew,
    is_noisy,
    take_usual,
)
from inertial_estimation.signals import Array

READINGS_AT_REST = 3  # consecutive equal readings of an input that does not change
SAME_DIRECTION = 0.98  # cosine of two readings of which one is a multiple of the other
COMPONENT_SHARE = 0.1  # of the norm, beyond which a number is far from zero
NEAR_DIRECTION = 0.8  # cosine to the last good reading, and twice its norm: near it
READINGS_OF_USUAL = 100  # readings after which the average is compared with
FEWEST_FAULTY = 50  # readings after which a change of unit or sign may be given up
PULLS = 0.7  # cosine to the direction of a push, beyond whose negative a force pulls
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
        falling: Whether it lies along gravity but in flight, after which a landing changes it by any factor.
        one_way: Whether it is always within some 90 degrees of its usual direction, like the force on a foot.
        push: Direction that it has by the description, unit norm; of two readings of opposite sign, of which
            one has it, that one is right. None where the description does not tell.
        numbers: Names of its numbers, where each must not repeat exactly once it had noise; else empty.
        doubted: Whether such a number may be true as well, as the torque of a motor at its limit: the
            readings are used, and health says so.
        components: Number of columns that must be far from zero for a change of unit or sign to be told.
    """

    name: str
    columns: slice
    floor: float
    factors: tuple[float, ...] = ()
    stuck: bool = False
    zero: bool = False
    sign: bool = False
    falling: bool = False
    one_way: bool = False
    push: tuple[float, ...] | None = None
    numbers: tuple[str, ...] = ()
    doubted: bool = False
    components: int = 1

    @property
    def may_fail(self) -> bool:
        """Whether any fault of the quantity as a whole can be told."""
        return self.stuck or self.zero or self.sign or self.one_way or bool(self.factors)

    def pulls(self, x: Array, square: float) -> bool:
        """Return whether a reading of this squared norm is opposite to the direction of a push."""
        return self.push is not None and float(x.dot(self.push)) < -PULLS * math.sqrt(square)


class QuantityWitness:
    """Tells whether a quantity changes that is not checked itself."""

    def __init__(self, quantity: Quantity, remembered: Callable[[int], list[Array]]) -> None:
        """Begin without a reading.

        Args:
            quantity: The quantity.
            remembered: Returns the last rows, at most a number of them, the oldest first.
        """
        self._columns, self._remembered = quantity.columns, remembered

    @property
    def changes(self) -> bool:
        """Whether it has changed within the last readings."""
        readings = [row[self._columns] for row in self._remembered(READINGS_AT_REST + 1)]
        squares = [float(x.dot(x)) for x in readings]
        return any(a != b for a, b in pairwise(squares))


class QuantityCheck:
    """Judges the readings of one quantity that `reading_steps.follow` does not take for usual ones.

    Attributes:
        quantity: The quantity.
        fault: What is wrong with it; None where nothing is.
    """

    def __init__(self, quantity: Quantity, state: Array, usual: Array) -> None:
        """Begin without a reading.

        Args:
            quantity: The quantity.
            state: Its row of the states that `follow` changes.
            usual: Usual readings of the quantities of its input, shape (width,), which it changes, too.
        """
        self.quantity = quantity
        self._columns, self._state, self._usual = quantity.columns, state, usual
        self._floor_square = quantity.floor**2
        self.reset()

    def reset(self) -> None:
        """Begin without a reading."""
        begin_anew(self._state)
        self.fault: SensorFault | None = None
        self._change: _Change | None = None  # while the fault is UNIT or SIGN

    @property
    def text(self) -> str:
        """The fault for people; empty where there is none."""
        if self.fault is None:
            return ""
        factor = f" {self._change.factor:.4g}" if self._change and self.fault is SensorFault.UNIT else ""
        return f"{self.quantity.name} is {self.fault.value}{factor}"

    @property
    def changes(self) -> bool:
        """Whether it has changed within the last readings."""
        return bool(self._state[READINGS] > 0 and self._state[EQUAL] < READINGS_AT_REST)

    def look(self, row: Array, last: Array, others_change: Callable[["QuantityCheck"], bool]) -> None:
        """Judge a reading that has been taken into the state, if it has to be looked at.

        Args:
            row: The row it is in.
            last: The row before.
            others_change: Whether other quantities than this one change, by noise or motion.
        """
        state = self._state
        if not state[LOOK]:
            return
        x, x_last = row[self._columns], last[self._columns]
        before, square = float(state[BEFORE]), float(state[SQUARE])
        if square == before:
            self._repeat(x, x_last, others_change)
        else:
            self._changed(row, x, x_last, before, square)
        state[ACTIVE] = float(self.fault is not None or self._change is not None)

    def _changed(self, row: Array, x: Array, last: Array, before: float, square: float) -> None:
        """Judge a reading of another norm than the one before."""
        quantity = self.quantity
        if self._change is not None:
            self._recover(self._change, x, square)
        elif self.fault is not None:  # stuck or silent until now
            self.fault = None
        sudden = not before < SUDDEN * square < SUDDEN * SUDDEN * before
        if sudden or self._state[PRODUCT] < 0.0:
            self._sudden(x, last, before, square)
        if before < self._floor_square <= square and quantity.one_way and self.fault is None:
            self._loaded(x, square)
        if self._state[READINGS] % USUAL_EVERY == 0 and square > 0.0 and self.fault is None:
            take_usual(row, square, self._state, self._usual)

    def _repeat(self, x: Array, last: Array, others_change: Callable[["QuantityCheck"], bool]) -> None:
        """Judge a reading of the same norm as the one before."""
        if self._change is not None or self.fault is not None:
            return
        zero = self.quantity.zero and self._state[SQUARE] == 0.0
        if (zero or is_noisy(self._state)) and np.array_equal(x, last) and others_change(self):
            self.fault = SensorFault.ZERO if zero else SensorFault.STUCK

    def _sudden(self, x: Array, last: Array, before: float, square: float) -> None:
        """Compare a sudden change with factors between units, and with a change of sign."""
        change = self._change
        if min(before, square) <= 0.0 or (change is None and before < self._floor_square):
            return
        dot = float(x.dot(last))
        if abs(dot) < SAME_DIRECTION * (before * square) ** 0.5:
            return
        factor = dot / before
        if change is not None:
            if abs(factor * change.factor - 1.0) < FACTOR_TOLERANCE:
                self._clear()
            return
        fault = self._fault_of(factor)
        if fault is SensorFault.SIGN and self.quantity.pulls(last, before):
            _forget_usual(self._state)
            return
        if fault is None or self._ends_unseen(fault, last, before, square):
            return
        if fault is SensorFault.UNIT and self.quantity.falling and self._falls(last, before):
            return
        if np.count_nonzero(np.abs(last) > COMPONENT_SHARE * before**0.5) >= self.quantity.components:
            self._begin(fault, factor, last)

    def _fault_of(self, factor: float) -> SensorFault | None:
        """Return the change that a factor between two readings is typical of; None where it is of none."""
        if self.quantity.sign and abs(factor + 1.0) < FACTOR_TOLERANCE:
            return SensorFault.SIGN
        ratio = max(factor, 1.0 / factor)
        if any(abs(ratio / known - 1.0) < FACTOR_TOLERANCE for known in self.quantity.factors):
            return SensorFault.UNIT
        return None

    def _ends_unseen(self, fault: SensorFault, last: Array, before: float, square: float) -> bool:
        """Return whether a change ends one that was not seen to begin: the reading before it is unusual."""
        if fault is SensorFault.SIGN:
            usual = self._usual_reading
            return usual is not None and float(usual.dot(last)) < 0.0
        size = self._usual_size
        return size is not None and abs(math.log(square) - size) < abs(math.log(before) - size)

    def _falls(self, last: Array, square: float) -> bool:
        """Whether the last reading was far from the usual direction, that of gravity."""
        usual = self._usual_reading
        return usual is not None and float(usual.dot(last)) < NEAR_DIRECTION * math.sqrt(
            float(usual.dot(usual)) * square
        )

    def _begin(self, fault: SensorFault, factor: float, good: Array) -> None:
        """Note a change of unit or sign; what lasts longer, before or after it, is believed to be right."""
        readings = int(self._state[READINGS])
        given_up_at = readings + max(readings, FEWEST_FAULTY)
        self.fault, self._change = fault, _Change(factor, good, given_up_at)

    @property
    def _usual_reading(self) -> Array | None:
        """Slow average of large readings; None while there are too few to compare with it."""
        known = self._state[READINGS] >= READINGS_OF_USUAL and self._state[USUAL_KNOWN]
        return self._usual[self._columns].copy() if known else None

    @property
    def _usual_size(self) -> float | None:
        """Slow average of the logarithm of the squared norm; None while there are too few readings."""
        known = self._state[READINGS] >= READINGS_OF_USUAL and self._state[LOG_KNOWN]
        return float(self._state[LOG_SQUARE]) if known else None

    def _loaded(self, x: Array, square: float) -> None:
        """Compare the first reading beyond the floor with the usual direction."""
        usual = self._usual_reading
        if usual is not None and float(usual.dot(x)) < OPPOSITE * (float(usual.dot(usual)) * square) ** 0.5:
            self._begin(SensorFault.SIGN, -1.0, usual)

    def _recover(self, change: "_Change", x: Array, square: float) -> None:
        """Clear a change of unit or sign after readings near the last one before it, or the usual one."""
        usual, usual_size = self._usual_reading, self._usual_size
        near = _is_near(x, square, change.good, float(change.good.dot(change.good)))
        if not near and usual is not None and usual_size is not None:
            loaded = float(usual.dot(usual))  # a foot is in the air half of the time
            near = any(_is_near(x, square, usual, size) for size in (math.exp(usual_size), loaded))
        change.recovered = change.recovered + 1 if near else 0
        if change.recovered >= READINGS_RECOVERED:
            self._clear()
        elif self._state[READINGS] > change.given_up_at:
            self._clear()
            _forget_usual(self._state)

    def _clear(self) -> None:
        self.fault = self._change = None


@dataclass
class _Change:
    """A change of unit or sign that has not been cleared.

    Attributes:
        factor: By which the readings have changed.
        good: Last reading before it, or the usual one.
        given_up_at: Number of the reading from which it has been none.
        recovered: Number of consecutive readings near the good or the usual one.
    """

    factor: float
    good: Array
    given_up_at: int
    recovered: int = 0


def _is_near(x: Array, square: float, other: Array, other_square: float) -> bool:
    """Whether a reading is within some 37 degrees and a factor of two of another one of a given size."""
    norms = (float(other.dot(other)) * square) ** 0.5
    return float(x.dot(other)) > NEAR_DIRECTION * norms and 0.25 * other_square < square < 4.0 * other_square


def _forget_usual(state: Array) -> None:
    """Learn anew what is usual, as after a change that is believed."""
    for column in (READINGS, LOG_KNOWN, USUAL_KNOWN):
        state[column] = 0.0
