"""A bag opened: its files are found, and those that are cut short are read as far as they go."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from inertial_estimation.errors import (
    ConfigurationError,
    MissingDependencyError,
    RecordingError,
    listing,
    one_line,
)
from inertial_estimation.files.safe_yaml import load_yaml
from inertial_estimation.files.text_file import read_text
from inertial_estimation.recordings.bag_file import BagFile
from inertial_estimation.recordings.complete_bag_file import CompleteBagFile, CompleteMcap, WatchedBagFile
from inertial_estimation.recordings.cut_mcap import CutMcap
from inertial_estimation.recordings.cut_sqlite import CutSqlite, check_pages
from inertial_estimation.signals import seconds

METADATA = "metadata.yaml"
CHECKS: Mapping[str, Callable[[Path], None]] = {".db3": check_pages}
COMPLETE_READERS: Mapping[str, type[CompleteBagFile]] = {".mcap": CompleteMcap}
CUT_READERS: Mapping[str, Callable[[Path], BagFile]] = {".mcap": CutMcap, ".db3": CutSqlite}


@dataclass(frozen=True)
class OpenedBag:
    """The readable files of a bag.

    Attributes:
        files: In the order of their first messages; at least one, each with messages.
        warnings: What is missing or damaged, a sentence each; damage within a file is added when it is read.
    """

    files: Sequence[BagFile]
    warnings: list[str]


@dataclass(frozen=True)
class _Metadata:
    """What metadata.yaml says; nothing where it is missing or damaged."""

    names: tuple[str, ...] = ()
    message_count: int | None = None
    compressed: bool = False
    warnings: tuple[str, ...] = ()


def open_bag(path: Path) -> OpenedBag:
    """Open a bag.

    A recorder that was killed or lost its power leaves no metadata.yaml, and a file without its end: what is
    there is read, and a warning says what is missing.

    Args:
        path: Folder of the bag, or its .mcap or .db3 file.

    Returns:
        Its files.

    Raises:
        RecordingError: If there is no bag, or nothing of it can be read.
        MissingDependencyError: If `rosbags` is not installed.
    """
    if not path.exists():
        raise RecordingError(f"no recording '{path}'; expected a rosbag2 folder, or an .mcap or .db3 file")
    if not path.is_dir():
        return _opened(path, [path])
    metadata = _metadata(path)
    if metadata.compressed:
        return _opened(path, [path], metadata.warnings)
    listed = [path / name for name in metadata.names]
    there = [file for file in listed if file.is_file()]
    files = there or sorted(file for file in path.iterdir() if file.suffix in CUT_READERS)
    if not files:
        content = sorted(item.name for item in path.iterdir())
        lacks = f"it has no .mcap or .db3 file, it has {listing(content)}" if content else "it is empty"
        raise RecordingError(f"'{path}' is no rosbag2 recording: {lacks}")
    gone = [file.name for file in listed if file not in there]
    missing = (f"'{path}' lacks {listing(gone)}, which its {METADATA} lists",) if gone else ()
    return _opened(path, files, (*metadata.warnings, *missing), metadata.message_count)


def _opened(
    path: Path, paths: Sequence[Path], warnings: Sequence[str] = (), expected: int | None = None
) -> OpenedBag:
    """Open the files of a bag.

    Args:
        path: The bag.
        paths: Its files.
        warnings: What is known to be missing already.
        expected: Number of messages that its metadata counts; None: not known.
    """
    readable: list[BagFile] = []
    problems: list[str] = []
    damages: list[str] = []
    said = list(warnings)
    for file in paths:
        try:
            bag_file, damage = _open_file(file, said.append)
        except RecordingError as error:
            problems.append(str(error))
            continue
        if bag_file.message_count:
            readable.append(bag_file)
            damages += [damage] if damage else []
        else:
            bag_file.close()
    if not readable:
        raise RecordingError(
            problems[0] if problems else f"the recording '{path}' is empty: it has no messages"
        )
    count = sum(file.message_count for file in readable)
    if expected is not None and expected != count and not (problems or damages):
        damages.append(f"{METADATA} of '{path}' counts {expected} messages, its files have {count}")
    in_time = sorted(readable, key=lambda file: file.start_ns)
    said += [*problems, *damages]
    return OpenedBag(in_time, said)


def _open_file(path: Path, warn: Callable[[str], None]) -> tuple[BagFile, str]:
    """Open a file as it was closed, or else as it was cut.

    Args:
        path: The file.
        warn: Called with a sentence if damage shows while it is read.

    Returns:
        The file, and what is wrong with it in words; empty if it is complete.

    Raises:
        RecordingError: If nothing of it can be read.
        MissingDependencyError: If `rosbags` is not installed.
    """
    try:
        if path.suffix in CHECKS:
            CHECKS[path.suffix](path)
        complete = COMPLETE_READERS.get(path.suffix, CompleteBagFile)(path)
    except MissingDependencyError:
        raise
    except Exception as error:  # whatever a damaged file makes the reader stumble over
        first = error
    else:
        again = CUT_READERS.get(path.suffix)
        return (WatchedBagFile(complete, partial(again, path), warn) if again else complete), ""
    reader = CUT_READERS.get(path.suffix)
    if reader is None and path.is_file():
        raise RecordingError(
            f"'{path}' is no rosbag2 recording; expected its folder, or its .mcap or .db3 file"
        ) from first
    if reader is None:
        raise RecordingError(f"the recording '{path}' cannot be read: {one_line(first)}") from first
    try:
        cut = reader(path)
    except (RecordingError, OSError) as error:
        raise RecordingError(
            f"the recording '{path}' is empty, truncated or damaged: {one_line(error)} ({one_line(first)})"
        ) from first
    length_s = seconds(cut.end_ns - cut.start_ns)
    lost = (
        f"what cannot be read of {cut.damaged} damaged chunk(s) is left out"
        if cut.damaged
        else "what was recorded behind them is missing"
    )
    return cut, (
        f"'{path}' is cut short or damaged: {cut.message_count} messages over {length_s:.3f} s can be read, "
        f"{lost}"
    )


def _metadata(folder: Path) -> _Metadata:
    path = folder / METADATA
    if not path.exists():
        return _Metadata(warnings=(f"'{folder}' has no {METADATA}: its recorder did not end regularly",))
    try:
        content: Any = load_yaml(read_text(path, "metadata"), f"'{path}'")
        information = content["rosbag2_bagfile_information"]
        names = tuple(PurePosixPath(name).name for name in information["relative_file_paths"])
        mode = str(information.get("compression_mode") or "").lower()
        count = information["message_count"]
    except (ConfigurationError, KeyError, TypeError, AttributeError, ValueError) as error:
        said = (
            one_line(error)
            if isinstance(error, ConfigurationError)
            else f"it has not the expected form ({error!r})"
        )
        return _Metadata(
            warnings=(f"{METADATA} of '{folder}' is damaged, its files are read without it: {said}",)
        )
    known = count if isinstance(count, int) else None
    return _Metadata(names, known, compressed=mode not in ("", "none"))
