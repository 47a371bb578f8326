"""Inputs that repeat exactly while others move: reported, never dropped."""

from collections.abc import Sequence

import numpy as np

from inertial_estimation.inputs.stream import Stream
from inertial_estimation.signals import NANOSECONDS, seconds

FEWEST_ROWS = 20
LEAST_NS = NANOSECONDS // 5  # for which an input repeats


def repeats(streams: Sequence[Stream]) -> dict[str, str]:
    """Name inputs whose last rows are all the same while another input changes, or had noise before.

    Args:
        streams: Inputs with noise, so that they do not repeat while the robot moves.

    Returns:
        A sentence by the name of the input.
    """
    still: dict[str, float] = {}
    moving = False
    for stream in streams:
        times, rows = stream.ring.newest(2 * FEWEST_ROWS)
        if len(times) < FEWEST_ROWS:
            continue
        same = (rows[:-1] == rows[-1]).all(axis=1)
        changed = np.flatnonzero(~same)
        since = int(times[-1] - times[changed[-1] + 1 if len(changed) else 0])
        if since >= LEAST_NS and len(times) - 1 - (changed[-1] if len(changed) else -1) >= FEWEST_ROWS:
            still[stream.spec.name] = seconds(since)
        else:
            moving = moving or bool(len(changed))
    if not moving:
        return {}
    return {name: f"repeats exactly for {since:.1f} s while others change: is it stuck?" for name, since in still.items()}
