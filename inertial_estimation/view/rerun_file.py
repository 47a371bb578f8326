"""The file of a recording for the viewer: written as it is made, and given its name when it is whole."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import rerun as rr
import rerun.blueprint as rrb

from inertial_estimation.files.outputs import PARTIAL

APPLICATION = "inertial_estimation"


@contextmanager
def rerun_file(path: Path, blueprint: rrb.Blueprint, name: str) -> Iterator[rr.RecordingStream]:
    """Open a recording that is written to a file as it is made.

    What is logged goes to a file next to the given one, which is given its name at the end; after an error
    or an interrupt nothing is left.

    Args:
        path: The file; an existing one is replaced.
        blueprint: How the viewer lays it out.
        name: Name of the recording in the viewer.

    Yields:
        The stream to log to.
    """
    partial = path.with_name(f"{PARTIAL}{secrets.token_hex(4)}.rrd")
    stream = rr.RecordingStream(APPLICATION)
    for clock in (stream.set_log_time_enabled, stream.set_log_tick_enabled):
        clock(False)  # the only time line is that of the data
    try:
        stream.save(partial, default_blueprint=blueprint)
        stream.send_recording_name(name)
        yield stream
        stream.flush()
        stream.disconnect()
        partial.replace(path)
    finally:
        stream.disconnect()
        with suppress(OSError):
            partial.unlink(missing_ok=True)
