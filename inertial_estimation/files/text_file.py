"""Reading of text files, with error messages of one line."""

from pathlib import Path

from inertial_estimation.errors import ConfigurationError, InertialEstimationError, one_line


def read_text(
    path: str | Path, what: str, error_class: type[InertialEstimationError] = ConfigurationError
) -> str:
    """Return the content of a UTF-8 file.

    Args:
        path: The file.
        what: Its expected content, for messages (``parameter file``).
        error_class: Class of the error.

    Raises:
        InertialEstimationError: Of the given class, if it is no regular file (reading a pipe could block
            for ever), cannot be read, or is not UTF-8.
    """
    file = Path(path)
    try:
        if file.exists() and not file.is_file():
            raise ValueError("it is no regular file")
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        byte = f"line {line} has the byte 0x{error.object[error.start]:02x}"
        raise error_class(f"the {what} '{one_line(path)}' is not UTF-8: {byte}; iconv converts it") from error
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise error_class(f"cannot read the {what} '{one_line(path)}': {reason}") from error


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
