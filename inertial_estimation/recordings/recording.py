"""Recordings: bags of ROS 2 (mcap or sqlite3) and ROS 1, read as a stream of the package's own signals."""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, TypeAlias

from inertial_estimation.errors import (
    ConfigurationError,
    DamagedMessageError,
    MeasurementError,
    MissingDependencyError,
    RecordingError,
    counted,
    did_you_mean,
    listing,
    one_line,
)
from inertial_estimation.files.text_file import read_text
from inertial_estimation.files.yaml_file import load_yaml
from inertial_estimation.inputs.messages import CONVERSIONS, ORIENTATION_TYPES, MessageReader
from inertial_estimation.recordings.mcap_recovery import recover
from inertial_estimation.signals import (
    BaseState,
    ContactSample,
    ImuSample,
    JointReading,
    OrientationSample,
    StampedInertia,
    WrenchSample,
    seconds,
)

METADATA = "metadata.yaml"
ROS1 = ".bag"
ENDINGS = (".mcap", ".db3", ROS1)
EXPECTED = "a rosbag2 folder, an .mcap or .db3 file, or a .bag file of ROS 1"


class RecordedMessage(NamedTuple):
    """One message of a recording, before it is decoded."""

    topic: str  # name of the topic, with leading slash
    log_ns: int  # time at which the message was recorded [ns]
    content: Any  # serialised message of a bag, or signal of a recording in memory


class BagFile:
    """One file of a bag, or a folder of compressed files.

    An mcap file that cannot be opened, or proves damaged while it is read, is replaced by a copy of its
    intact messages. A damaged chunk is detected only by its checksum, which takes as long as reading it: a
    file is therefore not checked before it is read.

    Attributes:
        path: The file or folder.
        reader: Its reader, of `rosbags`.
        start_ns: Log time of the first message [ns].
        end_ns: Log time of the last message [ns].
    """

    def __init__(self, path: Path, warnings: list[str]) -> None:
        """Open the file; a sentence is added to `warnings`, now or later, if it proves damaged or truncated.

        Raises:
            RecordingError: If it is no bag, or nothing of it can be read.
        """
        self.path, self._warnings, self._open, self._repaired = path, warnings, ExitStack(), False
        self.reader: Any = None
        try:
            self.reader = self._opened(path)
            if path.suffix != ROS1 and not getattr(self.reader.storage, "chunks", True):
                any(False for _ in self.reader.messages())  # without chunks, rosbags needs ordered messages
        except Exception as error:  # a damaged file may raise any exception in rosbags
            self.reader = self._recovered(error)
        self.start_ns = int(self.reader.start_time)
        self.end_ns = int(self.reader.end_time) - 1  # rosbags counts the end as exclusive

    def close(self) -> None:
        """Close the file."""
        self._open.close()

    def messages(self, topics: Collection[str], start_ns: int | None = None) -> Iterator[RecordedMessage]:
        """Yield the messages of some topics from a log time on, in the order of their log times.

        Raises:
            RecordingError: If the file is damaged, and nothing more of it can be read.
        """
        count = 0
        while connections := [c for c in self.reader.connections if c.topic in topics]:  # none would mean all
            try:
                for connection, log_ns, data in islice(
                    self.reader.messages(connections, start=start_ns), count, None
                ):
                    count += 1
                    yield RecordedMessage(connection.topic, log_ns, data)
                return
            except Exception as error:  # a damaged file may raise any exception in the reader
                self.reader = self._recovered(error)

    def _opened(self, path: Path) -> Any:
        from rosbags import rosbag1, rosbag2

        reader = rosbag1.Reader(path) if path.suffix == ROS1 else rosbag2.Reader(path)
        return self._open.enter_context(reader)

    def _recovered(self, error: Exception) -> Any:
        """Open a copy of the intact messages: all of them, if the file was only not in order.

        Raises:
            RecordingError: If there are none, or the file is no mcap.
        """
        cannot = f"'{self.path}' is truncated or damaged: {one_line(error)}"
        if self._repaired or self.path.suffix != ".mcap":
            remedy = {ROS1: "; 'rosbag reindex' may mend it", ".db3": "; 'sqlite3 FILE .recover' may mend it"}
            raise RecordingError(cannot + remedy.get(self.path.suffix, "")) from error
        self._repaired = True
        try:
            copy, damaged = recover(self.path, Path(self._open.enter_context(TemporaryDirectory())))
            reader = self._opened(copy)
        except Exception as second:  # a RecordingError of `recover`, or an error of writing the copy
            self.close()
            raise RecordingError(f"{cannot}; {one_line(second)}") from error
        if self.reader is None or reader.message_count != self.reader.message_count:
            lost = f"{counted(damaged, 'damaged chunk')} and " if damaged else ""
            length_s = seconds(reader.end_time - 1 - reader.start_time)
            self._warnings.append(
                f"{cannot}; {reader.message_count} messages over {length_s:.3f} s can be read, "
                f"{lost}what was recorded behind them is left out"
            )
        return reader


def _opened(path: Path, warnings: list[str]) -> list[BagFile]:
    """Open the files of a bag that have messages, and return them in the order of their first messages.

    A recorder that is killed or loses its power leaves no metadata.yaml and a truncated file: what can be
    read is read, and a warning says what is missing.
    """
    if not path.exists():
        raise RecordingError(f"no recording '{path}'; expected {EXPECTED}")
    if path.is_file() and path.suffix not in ENDINGS:
        raise RecordingError(f"'{path}' is no recording; expected {EXPECTED}")
    opened: list[BagFile] = []
    problems: list[str] = []
    for file in _files_of(path, warnings) if path.is_dir() else [path]:
        try:
            opened.append(BagFile(file, warnings))
        except RecordingError as error:
            problems.append(str(error))
    readable = [file for file in opened if file.reader.message_count]
    if not readable:
        raise RecordingError([*problems, f"the recording '{path}' is empty: it has no messages"][0])
    warnings += problems
    return sorted(readable, key=lambda file: file.start_ns)


def _files_of(folder: Path, warnings: list[str]) -> list[Path]:
    """Return the files of a bag, or its folder if rosbags has to decompress the files."""
    names: list[str] = []
    if (folder / METADATA).exists():
        try:
            content: Any = load_yaml(read_text(folder / METADATA, "metadata"), f"'{folder / METADATA}'")
            information = content["rosbag2_bagfile_information"]
            names = [PurePosixPath(name).name for name in information["relative_file_paths"]]
            if str(information.get("compression_mode") or "none").lower() != "none":
                return [folder]
        except (ConfigurationError, KeyError, TypeError, AttributeError, ValueError) as error:
            warnings.append(
                f"{METADATA} of '{folder}' is damaged, its files are read without it: {one_line(error)}"
            )
    else:
        warnings.append(f"'{folder}' has no {METADATA}: its recorder did not end regularly")
    gone = [name for name in names if not (folder / name).is_file()]
    there = [folder / name for name in names if name not in gone]
    files = there or sorted(file for file in folder.iterdir() if file.suffix in ENDINGS)
    if not files:
        content = listing(sorted(item.name for item in folder.iterdir()), limit=3)
        raise RecordingError(f"'{folder}' is no rosbag2 recording: it has {content}, expected {EXPECTED}")
    if gone:
        warnings.append(f"'{folder}' lacks {listing(gone)}, which its {METADATA} lists")
    return files


Sample: TypeAlias = (
    ImuSample | JointReading | WrenchSample | ContactSample | OrientationSample | BaseState | StampedInertia
)


@dataclass(frozen=True, slots=True)
class RecordingEntry:
    """One decoded message of a recording; see `RecordedMessage`."""

    topic: str
    log_ns: int
    sample: Sample


@dataclass(frozen=True)
class MemoryRecording:
    """A recording in memory, as a synthetic one before it is written.

    Attributes:
        messages: All messages in the order of their log times.
        topics: Message type by topic.
        name: Name of the recording in error messages.
    """

    messages: tuple[RecordingEntry, ...]
    topics: Mapping[str, str]
    name: str = "recording in memory"

    def __post_init__(self) -> None:
        if not self.messages:
            raise RecordingError(f"{self.name} has no messages")

    @property
    def start_ns(self) -> int:
        """Log time of the first message [ns]."""
        return self.messages[0].log_ns

    @property
    def end_ns(self) -> int:
        """Log time of the last message [ns]."""
        return self.messages[-1].log_ns

    def entries(self, topics: Collection[str], start_ns: int | None = None) -> Iterator[RecordingEntry]:
        """Yield the messages of some topics from a log time on [ns], in the order of their log times."""
        wanted = set(topics)
        for entry in self.messages:
            if entry.topic in wanted and (start_ns is None or entry.log_ns >= start_ns):
                yield entry

    def unread(self, topics: Collection[str], start_ns: int | None = None) -> Iterator[RecordedMessage]:
        """Yield the same messages in the form that inputs take."""
        for entry in self.entries(topics, start_ns):
            yield RecordedMessage(entry.topic, entry.log_ns, entry.sample)

    def deserializer(self, topic: str) -> None:
        """Return None, because the messages are not serialised."""


def message_types() -> Any:
    """Return the type store of `rosbags` with the message types of ROS 2; others can be registered.

    Raises:
        MissingDependencyError: If `rosbags` is not installed.
    """
    try:
        from rosbags.typesys import Stores, get_typestore
    except ImportError as error:
        raise MissingDependencyError("recordings need the package 'rosbags': pip install rosbags") from error
    return get_typestore(Stores.ROS2_JAZZY)


class BagRecording(AbstractContextManager["BagRecording"]):
    """A bag of ROS 2 (mcap or sqlite3) or ROS 1, read with the package `rosbags`, no ROS needed.

    A truncated bag of ROS 2 is read up to its last intact message.

    Attributes:
        name: The path.
        topics: Message type by topic.
        start_ns: Log time of the first message [ns].
        end_ns: Log time of the last message [ns].
        warnings: Missing or damaged parts, a sentence each.
    """

    def __init__(self, path: str | Path) -> None:
        """Open a bag.

        Args:
            path: Folder of the bag (with metadata.yaml), or its .mcap, .db3 or .bag file.

        Raises:
            RecordingError: If there is no bag, or no message of it can be read.
            MissingDependencyError: If `rosbags` is not installed.
        """
        self._typestore = message_types()
        self.name, self.warnings = str(path), list[str]()
        self._files = _opened(Path(path), self.warnings)
        self.topics: dict[str, str] = {c.topic: c.msgtype for c in self._connections}
        self.start_ns = min(file.start_ns for file in self._files)
        self.end_ns = max(file.end_ns for file in self._files)

    @property
    def _connections(self) -> list[Any]:
        return [connection for file in self._files for connection in file.reader.connections]

    def __exit__(self, *_error: object) -> None:
        for file in self._files:
            file.close()

    def unread(self, topics: Collection[str], start_ns: int | None = None) -> Iterator[RecordedMessage]:
        """Yield the serialised messages (CDR) of some topics from a log time on [ns].

        Raises:
            RecordingError: If the file is damaged.
        """
        for file in self._files:
            messages = file.messages(topics, start_ns)
            yield from map(self._of_ros2, messages) if file.path.suffix == ROS1 else messages

    def _of_ros2(self, message: RecordedMessage) -> RecordedMessage:
        kind = self.topics[message.topic]
        self._know(kind)
        return message._replace(content=bytes(self._typestore.ros1_to_cdr(message.content, kind)))

    def entries(
        self,
        topics: Collection[str],
        start_ns: int | None = None,
        convert: Callable[[Any], Any] | None = None,
    ) -> Iterator[RecordingEntry]:
        """Yield the messages of some topics in the order of their log times; see `MemoryRecording`.

        A message whose fields are inconsistent is left out. `convert`, if given, converts the whole message.

        Raises:
            RecordingError: If a message is damaged, or of a type that has no conversion.
        """
        readers: dict[str, MessageReader] = {}
        for topic, log_ns, data in self.unread(topics, start_ns):
            if topic not in readers:
                check_topic(self, topic, CONVERSIONS)
                readers[topic] = MessageReader(self.topics[topic], self.deserializer(topic), convert)
            try:
                yield RecordingEntry(topic, log_ns, readers[topic].read(data))
            except DamagedMessageError as error:
                text = f"a message on '{topic}' of '{self.name}' is damaged: {one_line(error)}"
                raise RecordingError(text) from error
            except MeasurementError:
                continue

    def deserializer(self, topic: str) -> Callable[[bytes], Any]:
        """Return a function that builds the messages of a topic from their bytes.

        Raises:
            RecordingError: If their type is neither known nor in the recording.
        """
        self._know(self.topics[topic])
        return partial(self._typestore.deserialize_cdr, typename=self.topics[topic])

    def _know(self, message_type: str) -> None:
        """Register an unknown message type with the definition in the recording."""
        known = self._typestore.fielddefs
        if message_type in known:
            return
        from rosbags.typesys import get_types_from_msg

        texts = [c.msgdef.data for c in self._connections if c.msgtype == message_type and c.msgdef.data]
        if not texts:
            raise RecordingError(
                f"'{self.name}' has no definition of {message_type}, which is not known here"
            )
        types = get_types_from_msg(texts[0], message_type)
        self._typestore.register({name: fields for name, fields in types.items() if name not in known})


Recording: TypeAlias = MemoryRecording | BagRecording


def check_topic(recording: Recording, topic: str, expected: Collection[str]) -> None:
    """Check that a recording has a topic, of one of the expected message types.

    Raises:
        RecordingError: If the topic is missing (the message lists those that exist) or of another type.
    """
    if topic not in recording.topics:
        hint = did_you_mean(topic, sorted(recording.topics), "it has")
        raise RecordingError(f"no topic '{topic}' in '{recording.name}'{hint}")
    got = recording.topics[topic]
    if got not in expected:
        raise RecordingError(
            f"topic '{topic}' of '{recording.name}' has type {got}, expected {' or '.join(expected)}"
        )


def read_orientations(recording: Recording, topic: str) -> list[OrientationSample]:
    """Read a whole topic of orientations (PoseStamped or QuaternionStamped).

    Raises:
        RecordingError: If the topic is missing, of another type, or has no messages.
    """
    check_topic(recording, topic, ORIENTATION_TYPES)
    samples: list[Any] = [entry.sample for entry in recording.entries([topic])]
    if not samples:
        raise RecordingError(f"topic '{topic}' of '{recording.name}' has no messages")
    return samples
