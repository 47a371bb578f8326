"""A stretch of the messages of a recording, which its readers get one after the other."""

from collections.abc import Sequence
from functools import cached_property

from inertial_estimation.message_numbers import MessageSeries
from inertial_estimation.recordings.recorded_message import RecordedMessage
from inertial_estimation.recordings.samples import Sample


class Stretch:
    """Messages in a row, and those of their values that have been read.

    Attributes:
        messages: The messages.
        clock_offset_ns: From their log times to the times of ticks after them [ns].
        unfit: Numbers of those that have been read and whose fields do not fit together: they are left out.
    """

    def __init__(self, messages: Sequence[RecordedMessage], clock_offset_ns: int) -> None:
        """Begin before the first reader."""
        self.messages, self.clock_offset_ns = messages, clock_offset_ns
        self.unfit: set[int] = set()
        self._samples: dict[int, Sample] = {}

    def read(self, number: int) -> Sample | None:
        """Return the value of a message; None where its fields do not fit together."""
        sample = self._samples.get(number)
        if sample is None and number not in self.unfit:
            sample = self.messages[number].read()
            if sample is None:
                self.unfit.add(number)
            else:
                self._samples[number] = sample
        return sample

    def now_ns(self, number: int) -> int:
        """Return the time of the ticks after a message [ns]."""
        return self.messages[number].log_ns + self.clock_offset_ns

    @property
    def fitting(self) -> Sequence[RecordedMessage]:
        """The messages without those that are left out."""
        if not self.unfit:
            return self.messages
        return [message for k, message in enumerate(self.messages) if k not in self.unfit]

    @cached_property
    def serialised(self) -> MessageSeries:
        """The bytes of the messages."""
        return MessageSeries(message.data for message in self.messages)
