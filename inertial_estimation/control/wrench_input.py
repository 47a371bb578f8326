"""The way of the wrenches of one contact to the controller: their normal forces, from bytes or values."""

import math
from collections import deque

from inertial_estimation.compilation import Column, Integers, Table, compiled, inlined, warm_up
from inertial_estimation.message_numbers import (
    UNUSUAL,
    WRENCH_LAYOUT,
    MessageNumbers,
    first_double,
    stamp_of,
)
from inertial_estimation.models.drop_reasons import DropCounts
from inertial_estimation.models.input_ranges import RowRange, within
from inertial_estimation.signals import WrenchSample

KEPT = 8  # normal forces: enough for the newest one before a joint state
LONGEST_NS = 20_000_000  # before a joint state, for which a force still shows a touchdown


class WrenchInput:
    """Keeps the newest normal forces of a contact; a wrench out of range is dropped and counted.

    Attributes:
        drops: Wrenches dropped, by reason.
    """

    def __init__(self, limits: RowRange, *, sole: bool) -> None:
        """Begin without a wrench.

        Args:
            limits: Range of a wrench.
            sole: Whether the contact is a sole, whose frame is that of the ground it stands on.
        """
        self._range, self._limits, self._sole = limits, limits.limits, sole
        self._message, self._layout = MessageNumbers(), WRENCH_LAYOUT.integers
        self.drops = DropCounts()
        self._forces: deque[tuple[int, float]] = deque(maxlen=KEPT)
        warm_up()

    def clear(self) -> None:
        """Forget the forces."""
        self._forces.clear()

    def take(self, data: bytes) -> bool:
        """Take a serialised message; return whether it has been taken, else its value is to be pushed.

        Args:
            data: A message of type geometry_msgs/WrenchStamped.
        """
        message = self._message
        length = message.hold(data)
        found = usual_force(length, message.words, message.doubles, self._layout, self._limits, self._sole)
        if found[0] == UNUSUAL:
            return False
        self._forces.append(found)
        return True

    def push(self, sample: WrenchSample, after_ns: int | None) -> None:
        """Take a wrench.

        Args:
            sample: The wrench.
            after_ns: Newest stamp of the joint states, for the report of a drop [ns]; None: there is none.
        """
        fault = self._range.fault(sample.wrench_F)
        if fault is None:
            self._forces.append((sample.stamp_ns, _normal_force(sample.wrench_F, self._sole)))
        else:
            self.drops.add(*fault, after_ns=after_ns)

    def force_before(self, stamp_ns: int) -> float | None:
        """Return the newest normal force before a stamp [N].

        Not that of the stamp itself: over DDS it may come before or after the joint state.

        Args:
            stamp_ns: Stamp of a joint state [ns].

        Returns:
            The force; None where there is none within `LONGEST_NS` before the stamp.
        """
        for force_ns, force in reversed(self._forces):
            if 0 < stamp_ns - force_ns <= LONGEST_NS:
                return force
        return None


@compiled
def usual_force(
    length: int, words: Integers, doubles: Column, layout: Integers, limits: Table, sole: bool
) -> tuple[int, float]:
    """Read the normal force of a wrench that is within its range.

    Args:
        length: Length of its message behind the encapsulation [bytes].
        words: The message.
        doubles: The same as doubles.
        layout: Of the message: numbers of its strings and of its doubles.
        limits: Smallest and largest values, shape (2, 6).
        sole: Whether the contact is a sole.

    Returns:
        Stamp [ns] and normal force [N]; UNUSUAL in place of the stamp where the value is to be judged.
    """
    first = first_double(length, layout[0], layout[1], words)
    if first < 0:
        return UNUSUAL, 0.0
    wrench, stamp = doubles[first : first + 6], stamp_of(words)
    if stamp < 0 or not within(wrench, limits[0], limits[1]):
        return UNUSUAL, 0.0
    return stamp, _normal_force(wrench, sole)


@inlined
def _normal_force(wrench: Column, sole: bool) -> float:
    """Return the force on the ground's normal [N]; of a point foot, whose axes turn as it rolls, its length.

    Args:
        wrench: Force then torque, shape (6,) [N, Nm].
        sole: Whether the contact is a sole.
    """
    if sole:
        return float(wrench[2])
    return math.sqrt(wrench[0] * wrench[0] + wrench[1] * wrench[1] + wrench[2] * wrench[2])
