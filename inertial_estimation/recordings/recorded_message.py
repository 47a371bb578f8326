"""A message of a recording, from its bytes to its value."""

from collections.abc import Callable, Sequence
from functools import cached_property
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
    """The values of messages, decoded when they are asked for; those that do not fit are left out."""

    def __init__(self) -> None:
        """Begin without a message."""
        self._messages: list[RecordedMessage] = []

    def append(self, message: RecordedMessage) -> None:
        """Add a message."""
        self._messages.append(message)

    @cached_property
    def _samples(self) -> list[SampleT]:
        samples: list[Any] = [sample for m in self._messages if (sample := m.read()) is not None]
        return samples

    def __len__(self) -> int:
        return len(self._samples)

    @overload
    def __getitem__(self, index: int) -> SampleT: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[SampleT]: ...

    def __getitem__(self, index: int | slice) -> SampleT | Sequence[SampleT]:
        return self._samples[index]
