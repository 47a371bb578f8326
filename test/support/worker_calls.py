"""Calls that tests of workers run in other processes, which import them by name."""

import os
import signal
import time
from pathlib import Path

import numpy as np

from inertial_estimation.errors import ConfigurationError


def noted(folder: Path, number: int) -> Path:
    """Note in a file of its own that a call has begun; return the file."""
    file = folder / f"{number}_{os.getpid()}_{time.monotonic_ns()}"
    file.touch()
    return file


def begun(folder: Path, number: int) -> int:
    """How often a call has begun."""
    return len(list(folder.glob(f"{number}_*")))


def sums(seed: int) -> "tuple[float, np.ndarray]":
    """Sums over a column of random numbers, which is a view, and the column."""
    column = np.random.default_rng(seed).normal(size=(3000, 3))[:, 1]
    return float(column @ column), column


def killed_once(folder: Path, number: int, fatal: int) -> int:
    """Return the number; the first run of one call kills its process in the middle."""
    noted(folder, number)
    if number == fatal and begun(folder, number) == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def killed_always(folder: Path, number: int) -> None:
    noted(folder, number)
    os.kill(os.getpid(), signal.SIGKILL)


def slow(folder: Path, number: int) -> None:
    noted(folder, number)
    time.sleep(60.0)


def wrong(number: int) -> None:
    raise ConfigurationError(f"call {number} is wrong")


def wrong_after(folder: Path, number: int) -> None:
    """Raise an error once another call has begun."""
    while not begun(folder, number):
        time.sleep(0.01)
    wrong(number)
