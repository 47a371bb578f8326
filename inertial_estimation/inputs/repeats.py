"""Inputs that repeat exactly while others move: reported, never dropped."""

from collections.abc import Sequence

from inertial_estimation.inputs.stream import Stream
from inertial_estimation.signals import NANOSECONDS, seconds

ROWS = 20  # newest ones that are the same
LEAST_NS = NANOSECONDS // 5  # that they span


def repeats(streams: Sequence[Stream]) -> dict[str, str]:
    """Return a sentence by the name of each input whose last rows are all the same while another input changes.

    Args:
        streams: Inputs with noise, so that they do not repeat while the robot moves.
    """
    still: dict[str, str] = {}
    moving = False
    for stream in streams:
        times, rows = stream.ring.newest(ROWS)
        if len(times) == ROWS and times[-1] - times[0] >= LEAST_NS and (rows == rows[0]).all():
            for_s = seconds(int(times[-1] - times[0]))
            still[stream.spec.name] = (
                f"repeats exactly for over {for_s:.1f} s while others change: is it stuck?"
            )
        else:
            moving = moving or (len(times) > 1 and bool((rows[-1] != rows[0]).any()))
    return still if moving else {}
