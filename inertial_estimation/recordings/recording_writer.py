"""Recordings written as rosbag2 files (mcap or sqlite3), no ROS needed."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from inertial_estimation.errors import RecordingError, listing
from inertial_estimation.files.outputs import check_output_folder, result_folder, write_text
from inertial_estimation.files.text_file import resolved_path
from inertial_estimation.inputs.messages import CONVERSIONS
from inertial_estimation.recordings.bag_writer import BagWriter, check_rosbags
from inertial_estimation.recordings.recording import MemoryRecording


def write_recording(
    recording: MemoryRecording,
    path: str | Path,
    *,
    storage: str = "mcap",
    frames: Mapping[str, str] | None = None,
    overwrite: bool = False,
    further_files: Mapping[str, str] | None = None,
) -> None:
    """Write a recording as a rosbag2 folder, whole or not at all.

    Args:
        recording: What to write.
        path: Folder to make.
        storage: ``mcap`` or ``sqlite3``.
        frames: ``frame_id`` of the headers by topic; empty where not given.
        overwrite: Whether a rosbag2 folder at that place is replaced.
        further_files: Texts of other files to write into the folder, by name.

    Raises:
        RecordingError: If the storage or a message type is not supported.
        ConfigurationError: If the folder cannot be written, or holds something.
        MissingDependencyError: If `rosbags` is not installed.
    """
    target = check_bag_folder(path, overwrite=overwrite)
    for topic, kind in recording.topics.items():
        _check_type(topic, kind)
    with bag_folder(target) as partial:
        with BagWriter(partial, recording.topics, storage) as writer:
            messages = {topic: writer.new(kind) for topic, kind in recording.topics.items()}  # used again
            for entry in recording.messages:
                message, conversion = messages[entry.topic], CONVERSIONS[recording.topics[entry.topic]]
                conversion.to_msg(entry.sample, message, (frames or {}).get(entry.topic, ""))
                writer.write(entry.topic, entry.log_ns, message)
        for name, text in (further_files or {}).items():
            write_text(partial / name, text)


@contextmanager
def bag_folder(target: Path) -> Iterator[Path]:
    """Yield a folder of the same name for a bag, which takes the target's place at the end.

    Args:
        target: Folder that `check_bag_folder` has returned.
    """
    with result_folder(target.parent) as partial:
        yield partial / target.name


def check_bag_folder(path: str | Path, *, overwrite: bool) -> Path:
    """Check that a rosbag2 folder can be written, before its contents are computed.

    Args:
        path: Folder to make.
        overwrite: Whether an existing rosbag2 folder may be replaced; other files are never replaced.

    Returns:
        The folder.

    Raises:
        ConfigurationError: If something else is there, or the folder cannot be written.
        MissingDependencyError: If `rosbags` is not installed.
    """
    check_rosbags()
    is_bag = (resolved_path(path) / "metadata.yaml").is_file()
    remedy = (
        "replace the recording with --overwrite" if is_bag else "empty it: only a rosbag2 folder is replaced"
    )
    return check_output_folder(path, overwrite=overwrite and is_bag, remedy=remedy)


def _check_type(topic: str, message_type: str) -> None:
    if message_type not in CONVERSIONS:
        raise RecordingError(
            f"topic '{topic}' has type {message_type}, expected one of {listing(CONVERSIONS)}"
        )
