"""Ordinary robots, as users bring them: each case is right or wrong.

A case is a function in one of the modules `ordinary_*` with the decorator `case` of its module: it gets a
separate folder, generates a small input, runs the package on it as a user does, and returns the problem as a
text, empty if there is none.
"""

import importlib
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.referee.commands import ran
from benchmarks.referee.gait_sensors import gait_recording
from benchmarks.referee.gaits import quadruped, readings_of, tilt_errors
from benchmarks.referee.readings import written
from benchmarks.referee.row import Better, Row

Check = Callable[[Path], str]
ROBOT, LENGTH_S, COUNTED_FROM_S = "go2", 8.0, 4.0  # 2 s of rest, 1 s of fading in
PERIOD_S = 0.02  # nearly every interval of this length has to contain an estimate


class Cases(dict[str, Check]):
    """The cases of a module by name, and the decorator that registers them."""

    def __call__(self, name: str) -> Callable[[Check], Check]:
        """Return a decorator that registers a function under a name."""

        def registered(check: Check) -> Check:
            self[name] = check
            return check

        return registered


def rows_of(module: str) -> list[Row]:
    """Run the cases of a module: 1 is right, 0 wrong."""
    rows = []
    cases: Cases = importlib.import_module(f"benchmarks.referee.{module}").case
    for name, check in cases.items():
        with tempfile.TemporaryDirectory() as folder:
            try:
                wrong = check(Path(folder))
            except Exception as error:  # a case that cannot be run is not right
                wrong = f"{type(error).__name__}: {error}"
        rows.append(Row(name, float(not wrong), "right", Better.HIGHER, note=wrong.replace("\n", " ")[:160]))
    return rows


@cache
def trot() -> tuple[Any, Any]:
    """Return the readings of the sensors of a trotting Go2, and the same as a recording."""
    setup, readings = readings_of(ROBOT, "trot", 0, LENGTH_S)
    return readings, gait_recording(setup, readings)


def tilt_rms(recording: Any, readings: Any, overrides: Sequence[tuple[str, Any]] = ()) -> float:
    """Return the rms error of the tilt in motion [deg]; NaN with estimates in less than 95 % of the time."""
    error, _sigma = tilt_errors(ROBOT, quadruped(ROBOT)[1], readings, overrides, recording)
    counted = readings.times_s > COUNTED_FROM_S
    periods = (readings.times_s[counted] / PERIOD_S).astype(int)
    given = np.unique(periods[np.isfinite(error[counted])])
    if len(given) < 0.95 * len(np.unique(periods)):
        return np.nan
    return float(np.sqrt(np.nanmean(error[counted] ** 2)))


@cache
def clean() -> float:
    """Return the rms error of the tilt from the unchanged recording of the trot [deg]."""
    readings, recording = trot()
    return tilt_rms(recording, readings)


def worse(recording: Any, *overrides: tuple[str, Any], factor: float = 1.25, least: float = 0.03) -> str:
    """Return a text if the tilt error exceeds `factor` times that of the clean trot plus `least` [deg]."""
    error = tilt_rms(recording, trot()[0], overrides)
    return "" if error <= factor * clean() + least else f"tilt {error:.3f} deg, clean {clean():.3f} deg"


def replayed(recording: Any, folder: Path, *options: str) -> tuple[int, str]:
    """Replay a recording or a bag for the tilt alone; return the exit code and the output."""
    bag = recording if isinstance(recording, Path) else written(recording, folder / "bag")
    given = ("--config", ROBOT, "--only", "tilt_observer", "--no-figures", *options)
    if not any("contact.source" in option for option in options):
        given += ("--param", "tilt_observer.contact.source=wrench")
    return ran("replay", bag, *given, "--output", folder / "replay")


def text_of(found: Sequence[dict[str, str]]) -> str:
    """Return sentences and remedies of findings as one text."""
    return " ".join(f"{one['sentence']} {one['remedy']}" for one in found)
