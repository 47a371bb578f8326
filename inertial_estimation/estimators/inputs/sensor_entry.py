"""The way of the readings of one sensor (IMU or wrench) from their bytes to the checks and the aligner."""

from collections.abc import Callable

from inertial_estimation.compilation import (
    Column,
    Integers,
    MutableColumn,
    MutableTable,
    compiled,
    warm_up,
)
from inertial_estimation.data_checks.checked_input import (
    CheckedInput,
    begin_reading,
    end_reading,
    part_to_keep,
)
from inertial_estimation.estimators.inputs.aligner_memory import ROW, part_of, stream_of
from inertial_estimation.estimators.inputs.alignment import SignalAligner
from inertial_estimation.estimators.inputs.row_entry import ANOTHER, STORED, WANTED, accept
from inertial_estimation.message_numbers import MessageLayout, MessageNumbers, first_double, stamp_of
from inertial_estimation.signals import Array

UNUSED = -1  # in place of the number of an input that is only checked
GIVEN = -1  # in place of the length of a message: the numbers are those of a sample
LAYOUT = 2  # place of the first of the places of numbers in `MessageLayout.integers`


class SensorEntry:
    """Takes the readings of one sensor; a usual one takes one compiled call from its bytes on.

    Attributes:
        number: Number of the input in the aligner; UNUSED: it is only checked.
        layout: Integers of the layout of the messages.
    """

    def __init__(
        self,
        layout: MessageLayout,
        checked: CheckedInput,
        see: Callable[[int, Array], None],
        aligner: SignalAligner,
        stream: str = "",
    ) -> None:
        """Take where readings go.

        Args:
            layout: Of the messages.
            checked: What the checks of the data keep of the input.
            see: Takes stamp [ns] and numbers of a reading that the checks want to see.
            aligner: The aligned inputs.
            stream: Name of the input among them; empty: it is only checked.
        """
        self._message, self._parts = MessageNumbers(), layout.parts
        self._checked, self._see, self._aligner = checked, see, aligner
        self._stream = aligner.stream(stream) if stream else None
        self.number = UNUSED if self._stream is None else self._stream.number
        self.layout = layout.integers
        memory = aligner.memory
        self._memory = (
            *(self._message.words, self._message.doubles, self.layout),
            *(checked.n, checked.x, memory.n, memory.s, memory.x),
        )
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
        """Treat a reading that is wanted by the checks, or whose row is not usual; return True.

        Args:
            found: What `enter_reading` has found.
        """
        stamp_ns, (row,) = self._checked.newest()
        assert row is not None
        if found >= WANTED:
            self._checked.look()
            self._see(stamp_ns, row)
            found -= WANTED
        if found != STORED and self._stream is not None:
            self._aligner.judge(self._stream, found, stamp_ns, row)
        return True


@compiled
def enter_reading(
    length: int,
    stamp: int,
    k: int,
    words: Integers,
    doubles: Column,
    layout: Integers,
    checked: Integers,
    kept: MutableColumn,
    n: Integers,
    s: MutableTable,
    x: MutableColumn,
) -> int:
    """Take a reading into the checks, and into the aligner if it is usual.

    Args:
        length: Length of its message behind the encapsulation [bytes]; GIVEN: none, its numbers are given.
        stamp: Its stamp where its numbers are given [ns].
        k: Number of its input in the aligner; UNUSED: none.
        words: Its message.
        doubles: The same as doubles.
        layout: Of the message.
        checked: Integers of what the checks keep; changed.
        kept: Numbers of the same; changed.
        n: Integers of the aligner; changed.
        s: Its states; changed.
        x: Its numbers; changed.

    Returns:
        What became of its row, as `row_entry.accept`, with WANTED added where the checks want it; ANOTHER
        where the message is of another layout, and nothing has changed.
    """
    first = 0
    if length != GIVEN:
        first = first_double(length, layout[0], layout[1], words)
        if first < 0:
            return ANOTHER
        stamp = stamp_of(words)
    row = part_to_keep(0, checked, kept)
    for i in range(len(row)):
        row[i] = doubles[first + layout[LAYOUT + i]]
    begin_reading(stamp, checked, kept)
    found = STORED
    if k != UNUSED:
        part_of(ROW, stream_of(k, n), x)[:] = row
        found = accept(stamp, k, n, s, x)
    return found + WANTED if end_reading(stamp, checked) else found
