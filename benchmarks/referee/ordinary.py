"""Ordinary robots, as strangers bring them: each case is right or wrong.

A case is a function in one of the modules below with the decorator `case`: it gets a folder of its own, makes
a small input by itself, runs the package on it as its user does, and returns what is wrong, or nothing.
"""

import importlib
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.referee.row import Better, Row
from benchmarks.referee.task import Task

PART = "ordinary"
MODULES = (
    "ordinary_descriptions",
    "ordinary_units",
    "ordinary_streams",
    "ordinary_sources",
    "ordinary_masses",
)
Check = Callable[[Path], str]


CASES: dict[str, dict[str, Check]] = {}  # by module and name


def case(name: str) -> Callable[[Check], Check]:
    """Register a case of the module in which it stands."""

    def registered(check: Check) -> Check:
        CASES.setdefault(check.__module__.rpartition(".")[2], {})[name] = check
        return check

    return registered


def tasks(_seed: int, _count: int) -> list[Task]:
    """Return the cases by module; their inputs are the same in every run."""
    return [Task(PART, name.replace("_", " "), partial(rows_of, name), 40.0) for name in MODULES]


def rows_of(module: str) -> list[Row]:
    """Run the cases of a module: 1 is right, 0 wrong."""
    importlib.import_module(f"benchmarks.referee.{module}")
    rows = []
    for name, check in CASES[module].items():
        with tempfile.TemporaryDirectory() as folder:
            try:
                wrong = check(Path(folder))
            except Exception as error:  # a case that cannot be run is not right
                wrong = f"{type(error).__name__}: {error}"
        rows.append(Row(name, float(not wrong), "right", Better.HIGHER, note=wrong.replace("\n", " ")[:160]))
    return rows
