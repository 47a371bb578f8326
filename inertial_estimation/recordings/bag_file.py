"""Interface of one file of a bag, whether complete or cut short."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping

RawMessage = tuple[str, str, int, bytes]
"""Topic, message type, log time [ns] and the serialised message."""


class BagFile(ABC):
    """One .mcap or .db3 file.

    Attributes:
        topics: Message type by topic.
        message_count: Number of messages that can be read.
        start_ns: Log time of the first of them [ns].
        end_ns: Log time of the last of them [ns].
        damaged: Number of chunks that are left out although the file goes on behind them.
    """

    topics: Mapping[str, str]
    message_count: int
    start_ns: int
    end_ns: int
    damaged: int = 0

    @abstractmethod
    def messages(self, topics: Collection[str], start_ns: int | None = None) -> Iterator[RawMessage]:
        """Yield the messages of some topics in the order of their log times.

        Args:
            topics: Topics to read.
            start_ns: Log time to begin at [ns]; None: the start.
        """

    @abstractmethod
    def close(self) -> None:
        """Close the file."""

    def definition(self, message_type: str) -> str:
        """Return the definition of a message type that the file has, with those it needs; empty: none."""
        return ""
