"""Warnings of a command: a line each on stderr, apart from its results."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from inertial_estimation.recordings.recording import BagRecording


def print_warnings(sentences: Iterable[str]) -> None:
    """Print each sentence as a warning."""
    for sentence in sentences:
        print(f"warning: {sentence}", file=sys.stderr)


@contextmanager
def recording_with_warnings(path: str | Path) -> Iterator[BagRecording]:
    """Open a bag, print what of it is missing, and at the end what was found damaged while it was read.

    Raises:
        ~inertial_estimation.errors.RecordingError: If there is no bag, or no message of it can be read.
    """
    with BagRecording(path) as recording:
        known = len(recording.warnings)
        print_warnings(recording.warnings)
        try:
            yield recording
        finally:
            print_warnings(recording.warnings[known:])
