"""The frame of the experiments: what a bound means, what table and file say, how they are run."""

import json
import math
import subprocess
import sys
from functools import partial

import numpy as np
import pytest

from inertial_estimation.errors import MissingDependencyError
from inertial_estimation.experiments.registry import EXPERIMENTS, Experiment
from inertial_estimation.experiments.result import (
    ExperimentResult,
    Trials,
    keeps,
    result_document,
    result_lines,
    row,
)
from inertial_estimation.figures import Panel, Series
from inertial_estimation.files.outputs import write_json

EXPERIMENT = Experiment("falling-apple", "Newton, Fig. 1", "an apple falls", "no.such.module:apple")
TITLE, SOURCE = "falling-apple: an apple falls", "Newton, Fig. 1"


def result() -> ExperimentResult:
    rows = (
        row("fall time", "s", [0.9, 1.1], paper=1.25, bound="<= 1.5, aim <= 0.5"),
        row("apples", "", 2.0, bound="== 1"),
        row("never settled", "s", [math.nan, 1.0], "max", bound="< 9"),
    )
    return ExperimentResult(seeds=(0, 1), rows=rows, facts=("it was windy",))


@pytest.mark.parametrize(
    ("bound", "kept"), [("<= 1", True), ("< 1", False), (">= 1", True), ("> 1", False), ("== 1", True)]
)
def test_bound_at_its_own_value_and_at_none(bound: str, kept: bool) -> None:
    assert keeps(1.0, bound) is kept
    assert keeps(math.nan, bound) is False
    assert keeps(1.0, "") is None


@pytest.mark.parametrize(
    ("text", "parts"), [(">= 7.3, aim >= 10", (">= 7.3", ">= 10")), ("aim < 2", ("", "< 2")), ("", ("", ""))]
)
def test_bound_and_aim_are_read_from_their_text(text: str, parts: tuple[str, str]) -> None:
    made = row("x", "", 1.0, bound=text)
    assert (made.bound, made.aim) == parts


@pytest.mark.parametrize(
    ("summary", "ours", "spread"),
    [("mean", 2.0, 1.0), ("median", 2.0, 1.0), ("min", 1.0, None), ("max", 3.0, None), ("sum", 4.0, None)],
)
def test_row_summarises_its_values_and_keeps_them(summary: str, ours: float, spread: float | None) -> None:
    made = row("x", "m", [1.0, 3.0], summary)
    assert (made.ours, made.spread, made.values) == (ours, spread, (1.0, 3.0))


def test_table_marks_each_missed_bound_and_aim() -> None:
    lines = result_lines(TITLE, SOURCE, result())
    (time,) = [line for line in lines if "fall time" in line and "+-" not in line and "*" not in line]
    assert time.split()[2:] == ["1.25", "1", "0.1", "s", "<=", "1.5", "met", "<=", "0.5", "NOT", "MET"]
    (apples,) = [line for line in lines if line.strip().startswith("apples")]
    assert "== 1 NOT MET" in apples
    assert "2 of 3 bounds NOT MET: apples; never settled" in result().verdict
    assert any("it was windy" in line for line in lines)


def test_file_gives_back_every_number_and_null_for_what_is_none(tmp_path: object) -> None:
    document = result_document("falling-apple", SOURCE, result(), {"numpy": "1"})
    path = write_json(tmp_path / "apple.json", document)  # type: ignore[operator]
    read = json.loads(path.read_text(encoding="utf-8"))
    assert read["seeds"] == [0, 1]
    assert read["table"][0]["values"] == [0.9, 1.1]
    assert read["table"][0]["bound"] == "<= 1.5"
    assert (read["table"][0]["bound_met"], read["table"][0]["aim_met"]) == (True, False)
    assert (read["table"][2]["ours"], read["table"][2]["values"]) == (None, [None, 1.0])
    assert read["bounds_met"] is False


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
