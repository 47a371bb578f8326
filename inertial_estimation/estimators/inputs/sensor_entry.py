"""The way of the readings of one sensor (IMU or wrench) from their bytes to the aligner."""

from inertial_estimation.compilation import (
    Column,
    Integers,
    MutableColumn,
    MutableTable,
    compiled,
    warm_up,
)
from inertial_estimation.estimators.inputs.aligner_memory import ROW, part_of, stream_of
from inertial_estimation.estimators.inputs.alignment import SignalAligner
from inertial_estimation.estimators.inputs.row_entry import ANOTHER, STORED, accept
from inertial_estimation.message_numbers import MessageLayout, MessageNumbers, first_double, stamp_of
from inertial_estimation.signals import Array

GIVEN = -1  # in place of the length of a message: the numbers are those of a sample
LAYOUT = 2  # place of the first of the places of numbers in `MessageLayout.integers`


class SensorEntry:
    """Takes the readings of one sensor; a usual one takes one compiled call from its bytes on.

    Attributes:
        number: Number of the input in the aligner.
        layout: Integers of the layout of the messages.
    """

    def __init__(self, layout: MessageLayout, aligner: SignalAligner, stream: str) -> None:
        """Take where readings go.

        Args:
            layout: Of the messages.
            aligner: The aligned inputs.
            stream: Name of the input among them.
        """
        self._message, self._parts = MessageNumbers(), layout.parts
        self._aligner, self._stream = aligner, aligner.stream(stream)
        self.number = self._stream.number
        self.layout = layout.integers
        message, memory = self._message, aligner.memory
        self._memory = message.words, message.doubles, self.layout, memory.n, memory.s, memory.x
        warm_up()

    def take(self, data: bytes) -> bool:
        """Take a serialised message; return whether it has been taken, else its value is to be pushed."""
        found = enter_reading(self._message.hold(data), 0, self.number, *self._memory)
        return found == STORED or (found != ANOTHER and self.judge(found))

    def push(self, stamp_ns: int, *parts: Array) -> None:
        """Take a reading.

        Args:
            stamp_ns: Its stamp [ns].
            *parts: Its numbers, part by part of the layout.
        """
        doubles = self._message.doubles
        for place, values in zip(self._parts, parts, strict=True):
            doubles[place] = values
        found = enter_reading(GIVEN, stamp_ns, self.number, *self._memory)
        if found != STORED:
            self.judge(found)

    def judge(self, found: int) -> bool:
        """Treat a reading whose row is not usual; return True.

        Args:
            found: What `enter_reading` has found.
        """
        newest = self._aligner.memory.streams[self.number].newest
        self._aligner.judge(self._stream, found, *newest)
        return True


@compiled
def enter_reading(
    length: int,
    stamp: int,
    k: int,
    words: Integers,
    doubles: Column,
    layout: Integers,
    n: Integers,
    s: MutableTable,
    x: MutableColumn,
) -> int:
    """Take a reading into the aligner if it is usual.

    Args:
        length: Length of its message behind the encapsulation [bytes]; GIVEN: none, its numbers are given.
        stamp: Its stamp where its numbers are given [ns].
        k: Number of its input in the aligner.
        words: Its message.
        doubles: The same as doubles.
        layout: Of the message.
        n: Integers of the aligner; changed.
        s: Figures of its regulators; changed.
        x: Its numbers; changed.

    Returns:
        What became of its row, as `row_entry.accept`; ANOTHER where the message is of another layout, and
        nothing has changed.
    """
    first = 0
    if length != GIVEN:
        first = first_double(length, layout[0], layout[1], words)
        if first < 0:
            return ANOTHER
        stamp = stamp_of(words)
    row = part_of(ROW, stream_of(k, n), x)
    for i in range(len(row)):
        row[i] = doubles[first + layout[LAYOUT + i]]
    return accept(stamp, k, n, s, x)
