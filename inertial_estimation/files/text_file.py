"""Text files read whole: of bounded size, without waiting for pipes and devices, with errors in one line."""

import csv
import io
import os
import stat
from pathlib import Path

from inertial_estimation.errors import ConfigurationError, InertialEstimationError, RecordingError, one_line

MEBIBYTE = 2**20
LARGEST_TABLE = 64 * MEBIBYTE
_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


def read_text(
    path: str | Path,
    what: str,
    *,
    limit: int = MEBIBYTE,
    error_class: type[InertialEstimationError] = ConfigurationError,
) -> str:
    """Return the content of a UTF-8 file.

    Args:
        path: The file.
        what: What it should hold, for messages (``parameter file``).
        limit: Largest size that is read [bytes].
        error_class: Class of the error.

    Raises:
        InertialEstimationError: Of the given class, if it is no regular file (a pipe would be waited for
            without an end), cannot be read, is larger than the limit, or is not UTF-8; names file and line.
    """
    try:
        content = _bounded_content(path, limit)
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise error_class(f"cannot read the {what} '{one_line(path)}': {reason}") from error
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        byte = f"line {line} has the byte 0x{content[error.start]:02x}"
        raise error_class(f"the {what} '{one_line(path)}' is not UTF-8: {byte}") from error


def csv_rows(path: str | Path, what: str) -> list[list[str]]:
    """Return the rows of a CSV file.

    Args:
        path: The file.
        what: What it should hold, for messages.

    Raises:
        RecordingError: If it cannot be read, or is larger than `LARGEST_TABLE`.
    """
    text = read_text(path, what, limit=LARGEST_TABLE, error_class=RecordingError)
    try:
        return list(csv.reader(io.StringIO(text, newline="")))
    except csv.Error as error:
        raise RecordingError(f"cannot read the {what} '{one_line(path)}': {error}") from error


def resolved_path(text: str | Path) -> Path:
    """Return a path with ``~`` and ``~user`` replaced by the home folder.

    Raises:
        ConfigurationError: If there is no such user, or the path holds a zero byte.
    """
    if "\0" in str(text):
        raise ConfigurationError(f"the path '{one_line(text)}' holds a zero byte")
    try:
        return Path(text).expanduser()
    except RuntimeError as error:
        raise ConfigurationError(f"the path '{one_line(text)}' names a user that does not exist") from error


def _bounded_content(path: str | Path, limit: int) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a pipe opens without a writer
    with open(descriptor, "rb") as file:
        kind = stat.S_IFMT(os.fstat(descriptor).st_mode)
        if kind != stat.S_IFREG:
            raise ValueError(f"it is {_KINDS.get(kind, 'no regular file')}, expected a regular file")
        content = file.read(limit + 1)
    if len(content) > limit:
        raise ValueError(f"it has more than {limit} bytes, the most that is read")
    return content
