"""The file `truth.json` of a simulated or synthetic recording: its true inertias over time."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from inertial_estimation.errors import RecordingError, one_line
from inertial_estimation.files.text_file import read_text
from inertial_estimation.signals import Array, LinkInertia

TRUTH_FILE = "truth.json"
INERTIAS = "inertias"


@dataclass(frozen=True, eq=False)
class InertiaStep:
    """The true inertia of a body from some time on."""

    time_s: float  # time since the start of the recording [s]
    inertia: LinkInertia  # inertia of the body of a link, loads included


@dataclass(frozen=True, eq=False)
class TrueInertias:
    """True inertias over a recording."""

    # steps of each link in the order of their times; the first one applies from the start
    steps: Mapping[str, Sequence[InertiaStep]]

    def at_end(self, link: str) -> LinkInertia | None:
        """Return the inertia of a link at the end of the recording, None if it is unknown."""
        steps = self.steps.get(link, ())
        return steps[-1].inertia if steps else None

    def over_time(self, link: str, times_s: Array) -> Array:
        """Return true mass [kg] and centre of mass [m] at times since the start [s], shape (n, 4)."""
        steps = self.steps[link]
        number = np.searchsorted([step.time_s for step in steps], times_s, side="right") - 1
        values = np.array([(step.inertia.mass, *step.inertia.com_L) for step in steps])
        return values[np.maximum(number, 0)]


def inertias_as_json(steps: Iterable[InertiaStep]) -> list[dict[str, Any]]:
    """Return steps as the list ``inertias`` of `truth.json`."""
    return [
        {
            "time_s": step.time_s,
            "link": step.inertia.link,
            "mass": float(step.inertia.mass),
            "com": np.asarray(step.inertia.com_L).tolist(),
            "inertia_about_com": np.asarray(step.inertia.inertia_Lcm).tolist(),
        }
        for step in steps
    ]


def read_truth(bag: Path) -> TrueInertias | None:
    """Read the true inertias that were written with a recording.

    Args:
        bag: Folder of the bag, or a file in it.

    Returns:
        The inertias; None if there is no such file, or it has no inertias.

    Raises:
        RecordingError: If the file is damaged.
    """
    path = (bag if bag.is_dir() else bag.parent) / TRUTH_FILE
    if not path.is_file():
        return None
    text = read_text(path, "truth", RecordingError)
    try:
        content = json.loads(text)
        entries = content.get(INERTIAS) if isinstance(content, dict) else None
        if entries is None:
            return None
        steps: dict[str, list[InertiaStep]] = {}
        for entry in entries:
            step = _step(entry)
            steps.setdefault(step.inertia.link, []).append(step)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise RecordingError(f"'{path}' is no truth of a recording: {one_line(repr(error))}") from error
    return TrueInertias({link: sorted(found, key=lambda s: s.time_s) for link, found in steps.items()})


def _step(entry: Mapping[str, Any]) -> InertiaStep:
    com = np.asarray(entry["com"], dtype=np.float64).reshape(3)
    moment = np.asarray(entry["inertia_about_com"], dtype=np.float64).reshape(3, 3)
    time_s, mass = float(entry["time_s"]), float(entry["mass"])
    if not (math.isfinite(time_s) and math.isfinite(mass)):
        raise ValueError(f"time {time_s} and mass {mass}, expected finite numbers")
    return InertiaStep(time_s, LinkInertia(str(entry["link"]), mass, com, moment))
