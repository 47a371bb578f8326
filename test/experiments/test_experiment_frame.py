"""The frame of the experiments: what a bound means, what table and file say, how they are run."""

import json
import math
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from inertial_estimation.errors import MissingDependencyError
from inertial_estimation.experiments.registry import EXPERIMENTS, Experiment
from inertial_estimation.experiments.result import (
    ExperimentResult,
    Trials,
    result_document,
    result_lines,
    row,
)
from inertial_estimation.figures import Panel, Series
from inertial_estimation.files.outputs import write_json

EXPERIMENT = Experiment("falling-apple", "Newton, Fig. 1", "an apple falls", "no.such.module:apple")
TITLE, SOURCE = "falling-apple: an apple falls", "Newton, Fig. 1"


def result() -> ExperimentResult:
    """Bounds at, above and below what was found, by every summary of two values."""
    two = [1.0, 3.0]
    rows = (
        row("fall time", "s", [0.9, 1.1], paper=1.25, bound="<= 1, aim < 1"),
        row("apples", "", 2.0, bound="== 1"),
        row("least", "", two, "min", bound=">= 1"),
        row("largest", "", two, "max", bound="> 3"),
        row("middle", "", two, "median", bound="== 2"),
        row("all", "", two, "sum", bound="aim >= 5"),
        row("never settled", "s", [math.nan, 1.0], "max", bound="< 9"),
    )
    return ExperimentResult(seeds=(0, 1), rows=rows, facts=("it was windy",))


def test_table_and_file_have_every_number_and_mark_each_missed_bound_and_aim(tmp_path: Path) -> None:
    lines = result_lines(TITLE, SOURCE, result())
    (time,) = [line for line in lines if "fall time" in line and "+-" not in line and "*" not in line]
    assert time.split()[2:] == ["1.25", "1", "0.1", "s", "<=", "1", "met", "<", "1", "NOT", "MET"]
    assert "3 of 6 bounds NOT MET: apples; largest; never settled" in result().verdict
    assert any("it was windy" in line for line in lines)
    path = write_json(tmp_path / "apple.json", result_document("falling-apple", SOURCE, result(), {}))
    read = json.loads(path.read_text(encoding="utf-8"))
    assert (read["seeds"], read["bounds_met"]) == ([0, 1], False)
    columns = ("ours", "bound_met", "aim_met")
    assert [tuple(entry[name] for name in columns) for entry in read["table"]] == [
        (1.0, True, False),
        (2.0, False, None),
        (1.0, True, None),
        (3.0, False, None),
        (2.0, True, None),
        (4.0, None, False),
        (None, False, None),
    ]
    assert read["table"][6]["values"] == [None, 1.0]


def test_missing_package_is_named_with_what_to_install() -> None:
    with pytest.raises(MissingDependencyError, match=r"needs the Python package 'no'; pip install"):
        EXPERIMENT.run([0])


def seeded(trials: Trials) -> ExperimentResult:
    """Return the seeds as the values of a row."""
    found = trials.results([partial(float, seed) for seed in trials.seeds])
    panel = Panel("seeds", "place [-]", "seed [-]", (Series("", np.arange(len(found)), np.array(found)),))
    return ExperimentResult(trials.seeds, [row("largest seed", "", found, "max")], panels=[panel])


def test_experiment_gets_seeds_and_reports_its_progress() -> None:
    reported: list[tuple[str, float]] = []
    experiment = Experiment("seeds", "", "", f"{__name__}:seeded")
    made = experiment.run([3, 4], lambda what, share: reported.append((what, share)))
    assert (made.seeds, made.rows[0].ours, made.rows[0].values) == ((3, 4), 4.0, (3.0, 4.0))
    np.testing.assert_array_equal(made.panels[0].series[0].y, [3.0, 4.0])
    counted = [("0 of 2 runs", 0.0), ("1 of 2 runs", 0.5), ("2 of 2 runs", 1.0)]
    assert reported == [*counted, ("done", 1.0)]
    assert experiment.run([3, 4], quick=True).seeds == (3,)


def test_every_registered_experiment_can_be_loaded() -> None:
    pytest.importorskip("mujoco")
    pytest.importorskip("proxsuite")
    assert all(callable(experiment.load()) for experiment in EXPERIMENTS)


def test_experiments_load_the_build_without_wide_vectors() -> None:
    code = (
        "import sys, inertial_estimation.experiments, proxsuite\n"
        "assert 'proxsuite.proxsuite_pywrap' in sys.modules\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
