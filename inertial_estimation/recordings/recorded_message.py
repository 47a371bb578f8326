"""A message of a recording, from its bytes to its value."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar, overload

from inertial_estimation.signals import (
    BaseState,
    ContactSample,
    ImuSample,
    JointReading,
    OrientationSample,
    StampedInertia,
    WrenchSample,
)

Sample: TypeAlias = (
    ImuSample | JointReading | WrenchSample | ContactSample | OrientationSample | BaseState | StampedInertia
)
SampleT = TypeVar("SampleT", bound=Sample)


class RecordedMessage(Protocol):
    """Interface of a message of a recording.

    Attributes:
        topic: Name of the topic, with its leading slash.
        log_ns: When the message was recorded [ns].
        data: The serialised message; empty where the recording holds values.
    """

    @property
    def topic(self) -> str:
        """Name of the topic."""
        ...

    @property
    def log_ns(self) -> int:
        """When the message was recorded [ns]."""
        ...

    @property
    def data(self) -> bytes:
        """The serialised message; empty where the recording holds values."""
        ...

    def read(self) -> Sample | None:
        """Return the message as the core's signal; None where its fields do not fit together.

        Raises:
            RecordingError: If the bytes are not a message of the type.
        """
        ...


class SerialisedMessage:
    """A serialised message, decoded when its value is asked for.

    Attributes:
        topic: Name of the topic, with its leading slash.
        log_ns: When the message was recorded [ns].
        data: The serialised message.
    """

    __slots__ = ("_decode", "data", "log_ns", "topic")

    def __init__(
        self, topic: str, log_ns: int, data: bytes, decode: Callable[[bytes], Sample | None]
    ) -> None:
        """Take a message.

        Args:
            topic: Name of the topic.
            log_ns: When the message was recorded [ns].
            data: The serialised message.
            decode: Returns its value; None where its fields do not fit together.
        """
        self.topic, self.log_ns, self.data, self._decode = topic, log_ns, data, decode

    def read(self) -> Sample | None:
        """Return the message as the core's signal; see `RecordedMessage`."""
        return self._decode(self.data)


class RecordedSamples(Sequence[SampleT]):
    """The values of messages that are known to be sound, each decoded when it is asked for."""

    __slots__ = ("_messages",)

    def __init__(self) -> None:
        """Begin without a message."""
        self._messages: list[RecordedMessage] = []

    def append(self, message: RecordedMessage) -> None:
        """Add a message whose fields fit together."""
        self._messages.append(message)

    def __len__(self) -> int:
        return len(self._messages)

    @overload
    def __getitem__(self, index: int) -> SampleT: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[SampleT, ...]: ...

    def __getitem__(self, index: int | slice) -> SampleT | tuple[SampleT, ...]:
        if isinstance(index, slice):
            return tuple(map(self._read, self._messages[index]))
        return self._read(self._messages[index])

    def __iter__(self) -> Iterator[SampleT]:
        return map(self._read, self._messages)

    @staticmethod
    def _read(message: RecordedMessage) -> SampleT:
        sample: Any = message.read()
        value: SampleT = sample
        return value
