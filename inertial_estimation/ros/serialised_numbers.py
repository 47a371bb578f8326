"""Serialised messages of which only the stamp and a block of numbers change."""

from collections.abc import Callable, Iterable
from struct import Struct
from typing import Any

from rclpy.serialization import serialize_message

from inertial_estimation.signals import NANOSECONDS

STAMP_LAYOUT = Struct("=iI")  # seconds and nanoseconds of builtin_interfaces/Time
MARK_NS = 1_234_567_890_123_456_789  # stamp by which its position in the serialised message is found


class SerialisedNumbers:
    """A serialised message of which only stamp and numbers are rewritten.

    rclpy converts all names for every message, which takes longer than a step of the tilt observer. In the
    serialised form the numbers are one block of bytes, and so is the stamp.
    """

    def __init__(self, message: Callable[[int, list[float]], Any], count: int) -> None:
        """Serialise the names once.

        Args:
            message: Stamp [ns] and numbers to the message; one without a header has no stamp.
            count: Number of numbers.
        """
        self._values = Struct(f"={count}d")
        marks = [float(number + 1) for number in range(count)]
        self._data = bytearray(serialize_message(message(MARK_NS, marks)))
        self._stamp_at = self._data.find(STAMP_LAYOUT.pack(*divmod(MARK_NS, NANOSECONDS)))
        self._values_at = self._data.index(self._values.pack(*marks))

    def filled(self, stamp_ns: int, values: Iterable[float]) -> bytes:
        """Return the message, serialised.

        Args:
            stamp_ns: Stamp of the measurement the numbers follow from [ns].
            values: The numbers.
        """
        if self._stamp_at >= 0:
            STAMP_LAYOUT.pack_into(self._data, self._stamp_at, *divmod(stamp_ns, NANOSECONDS))
        self._values.pack_into(self._data, self._values_at, *values)
        return bytes(self._data)
