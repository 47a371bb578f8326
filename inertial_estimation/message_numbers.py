"""Numbers of serialised messages (plain little-endian CDR) where compiled functions find them.

A message is copied into memory that is read as 64-bit integers and as doubles alike, so that the doubles of
the message are aligned. Its first word holds the four bytes of encapsulation, the second one the stamp:

    word 0: 4 bytes unused, 4 of encapsulation      word 2: length of the frame's name (uint32), name, ...
    word 1: seconds (int32), nanoseconds (uint32)   doubles, aligned to 8 bytes from word 1 on

Decoders of whole messages to values are in `recordings/cdr.py`.
"""

import struct
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from inertial_estimation.compilation import Integers, compiling, inlined
from inertial_estimation.signals import NANOSECONDS, Array

CAPACITY = 1 << 16  # bytes of the largest message that is held
ENCAPSULATED = 4  # bytes before the encapsulation, so that the message behind it is aligned
LENGTH = struct.Struct("<I")
HALF = 0xFFFFFFFF  # of a word
SIGN_OF_HALF = 0x80000000
# Between two messages, by the length of the first one modulo 8: up to the next word, and its unused bytes.
_BETWEEN = [bytes((-ENCAPSULATED - length) % 8 + ENCAPSULATED) for length in range(8)]
PLAIN = 0x0100  # the first bytes of the encapsulation, 0 and 1, as a little-endian number


@dataclass(frozen=True)
class MessageLayout:
    """Where the doubles of a message lie.

    Attributes:
        strings: Number of strings behind the stamp, at least one: the name of the frame.
        doubles: Number of doubles behind the strings.
        parts: Those that are used among them.
    """

    strings: int
    doubles: int
    parts: tuple[slice, ...]

    @property
    def integers(self) -> Any:
        """What compiled functions need to know: strings, doubles, places of those that are used."""
        places = [place for part in self.parts for place in range(part.start, part.stop)]
        values = np.array([self.strings, self.doubles, *places], dtype=np.int64)
        return values if compiling() else values.data


# Orientation (4), angular rate (3), specific force (3), each with 9 of covariance.
IMU_FORCE, IMU_RATE = slice(25, 28), slice(13, 16)
IMU_LAYOUT = MessageLayout(1, 37, (IMU_FORCE, IMU_RATE))
WRENCH_LAYOUT = MessageLayout(1, 6, (slice(0, 6),))  # force, moment
INERTIA_LAYOUT = MessageLayout(1, 10, (slice(0, 10),))  # mass, centre of mass, xx, xy, xz, yy, yz, zz
UNUSUAL = -1  # in place of a stamp: the message is to be read, and its value judged, in Python
# Pose (7), twist (6), each with 36 of covariance, after the frames' names.
ODOMETRY_LAYOUT = MessageLayout(2, 85, (slice(3, 7), slice(0, 3), slice(43, 46), slice(46, 49)))


class MessageNumbers:
    """The last serialised message of one input.

    Attributes:
        words: The message as compiled functions read it.
        cells: The same, as Python reads it.
        doubles: The same memory as doubles.
    """

    def __init__(self) -> None:
        """Begin without a message."""
        memory = np.zeros(CAPACITY // 8 + 2, dtype=np.int64)
        self.cells: Any = memory.data
        self.words: Any = memory if compiling() else memory.data
        self.doubles: Array = memory.view(np.float64)
        self._bytes = memory.data.cast("B")
        self._length, self._place = -1, slice(0)

    def hold(self, data: bytes) -> int:
        """Take a message; return the length behind its encapsulation [bytes], 0 where it is too long."""
        length = len(data)
        if length != self._length:
            if length > CAPACITY or sys.byteorder != "little":
                return 0
            self._length, self._place = length, slice(ENCAPSULATED, ENCAPSULATED + length)
        self._bytes[self._place] = data
        return max(length - ENCAPSULATED, 0)

    @property
    def body(self) -> bytes:
        """A copy of the message behind its encapsulation."""
        return bytes(self._bytes[8 : ENCAPSULATED + max(self._length, ENCAPSULATED)])


class MessageSeries:
    """Serialised messages, one behind the other, each as that of `MessageNumbers`.

    Attributes:
        words: The messages as compiled functions read them.
        doubles: The same memory as doubles.
        places: Of each message its first word, then of each its length behind its encapsulation [bytes]; 0 of
            those that are too long, which are left out.
    """

    def __init__(self, messages: Iterable[bytes]) -> None:
        """Copy some messages."""
        held = [data if len(data) <= CAPACITY and sys.byteorder == "little" else b"" for data in messages]
        lengths = np.array([len(data) for data in held], dtype=np.int64)
        ends = np.cumsum((lengths + ENCAPSULATED + 7) // 8)
        parts = [_BETWEEN[4]]
        for data in held:
            parts.append(data)
            parts.append(_BETWEEN[len(data) % 8])
        parts.append(_BETWEEN[4])
        memory = np.frombuffer(bytearray().join(parts), dtype=np.int64)
        places = np.concatenate(([0], ends[:-1], np.maximum(lengths - ENCAPSULATED, 0)))
        self.words: Any = memory if compiling() else memory.data
        self.doubles: Array = memory.view(np.float64)
        self.places: Any = places if compiling() else places.tolist()


def aligned(offset: int, size: int) -> int:
    """Return the first offset from one on that is a multiple of a size."""
    return -(-offset // size) * size


def names_of(body: bytes, offset: int) -> tuple[tuple[str, ...], int]:
    """Return the names of the sequence of strings behind an offset, and the offset after them.

    Args:
        body: The message behind its encapsulation.
        offset: Where the sequence begins, not yet aligned [bytes].

    Raises:
        struct.error: If the bytes end early.
        UnicodeDecodeError: If a name is no text.
    """
    offset = aligned(offset, 4)
    (count,) = LENGTH.unpack_from(body, offset)
    offset += 4
    names: list[str] = []
    for _ in range(count):
        offset = aligned(offset, 4)
        (length,) = LENGTH.unpack_from(body, offset)
        offset += 4
        names.append(body[offset : offset + length - 1].decode())
        offset += length
    return tuple(names), offset


def meant_bytes(body: bytes) -> bytes:
    """Return which bytes of a joint state mean something up to the number of its positions: 255, others 0.

    Those between strings are left as they were in the memory of the sender.

    Args:
        body: The message behind its encapsulation.

    Raises:
        struct.error: If the bytes end early.
    """
    meant = bytearray(len(body))

    def mark(offset: int, *, text: bool) -> int:
        (number,) = LENGTH.unpack_from(body, offset)
        end = offset + 4 + number * text
        meant[offset:end] = b"\xff" * (end - offset)
        return aligned(end, 4)

    names = mark(8, text=True)  # the name of the frame
    offset = mark(names, text=False)
    for _ in range(LENGTH.unpack_from(body, names)[0]):
        offset = mark(offset, text=True)
    mark(offset, text=False)
    return bytes(meant)


@inlined
def low_half(words: Integers, offset: int) -> int:
    """Return the unsigned 32-bit number at an offset behind the encapsulation, a multiple of 4 [bytes]."""
    return int((words[1 + offset // 8] >> (8 * (offset % 8))) & HALF)


@inlined
def stamp_of(words: Integers) -> int:
    """Return the stamp of a message [ns]."""
    sec = ((words[1] & HALF) ^ SIGN_OF_HALF) - SIGN_OF_HALF
    return int(sec * NANOSECONDS + ((words[1] >> 32) & HALF))


@inlined
def is_plain(length: int, words: Integers) -> bool:
    """Return whether a message has a stamp and the length of a name, and is plain little-endian CDR."""
    return bool(length >= 12 and (words[0] >> 32) & 0xFFFF == PLAIN)


@inlined
def first_double(length: int, strings: int, doubles: int, words: Integers) -> int:
    """Return the place of the first double of a message among its words; -1 where it is of another layout.

    Args:
        length: Length of the message behind its encapsulation [bytes].
        strings: Number of strings behind its stamp.
        doubles: Number of doubles behind them.
        words: The message.
    """
    if not is_plain(length, words):
        return -1
    offset = 8
    for _ in range(strings):
        offset = (offset + 3) // 4 * 4
        if offset + 4 > length:
            return -1
        offset += 4 + low_half(words, offset)
    offset = (offset + 7) // 8 * 8
    return 1 + offset // 8 if offset + 8 * doubles <= length else -1
