"""A file that looks complete, watched while it is read: damage in it shows only then."""

from collections.abc import Callable, Collection, Iterator
from itertools import islice

from inertial_estimation.errors import one_line
from inertial_estimation.recordings.bag_file import BagFile, RawMessage
from inertial_estimation.recordings.complete_bag_file import CompleteBagFile


class WatchedBagFile(BagFile):
    """A complete file, of which a second reader reads what is whole behind a damage.

    Whether every chunk of a file is whole is known only when its checksum has been compared, which takes as
    long as reading it. The file is therefore not checked before it is read.
    """

    def __init__(
        self, complete: CompleteBagFile, reread: Callable[[], BagFile], warn: Callable[[str], None]
    ) -> None:
        """Take over a file.

        Args:
            complete: The file as its recorder closed it.
            reread: Opens it with the reader that leaves out what is damaged.
            warn: Called with a sentence if something of it is missing or damaged.
        """
        self._complete = complete
        self._reread = reread
        self._warn = warn
        self._said = False
        self.topics, self.message_count = complete.topics, complete.message_count
        self.start_ns, self.end_ns = complete.start_ns, complete.end_ns

    def messages(self, topics: Collection[str], start_ns: int | None = None) -> Iterator[RawMessage]:
        """Yield the messages of some topics in the order of their log times."""
        count = 0
        try:
            for message in self._complete.messages(topics, start_ns):
                count += 1
                yield message
        except Exception as error:  # whatever a damaged file makes the reader stumble over
            yield from self._behind(error, topics, start_ns, count)
            return
        expected = self._complete.count(topics)
        if count < expected and (start_ns is None or start_ns <= self.start_ns):
            self._say(f"{expected - count} of the {expected} messages that its index counts are missing")

    def close(self) -> None:
        """Close the file."""
        self._complete.close()

    def _behind(
        self, error: Exception, topics: Collection[str], start_ns: int | None, count: int
    ) -> Iterator[RawMessage]:
        """Yield what is readable after the first messages, which have been yielded before the error."""
        rest = self._reread()
        try:
            chunks = f"what cannot be read of {rest.damaged} damaged chunk(s) is left out"
            self._say(f"{chunks} ({one_line(error, limit=100)})")
            yield from islice(rest.messages(topics, start_ns), count, None)
        finally:
            rest.close()

    def _say(self, sentence: str) -> None:
        if not self._said:
            self._warn(f"'{self._complete.path}' is damaged: {sentence}")
        self._said = True
