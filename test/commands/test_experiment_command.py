"""The command: one line for an error, table printed, files written, a missed bound said aloud."""

import json
import math
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from support.worker_calls import sums

from inertial_estimation.commands.main import main
from inertial_estimation.errors import ModelError
from inertial_estimation.experiments import registry
from inertial_estimation.experiments.registry import Experiment
from inertial_estimation.experiments.result import ExperimentResult, Trials, row
from inertial_estimation.figures import Level, Panel, Series, Span

GOOD = Experiment("apple", "Newton, Fig. 1", "an apple falls", "fake_fruit:apple", seeds=3)
BAD = Experiment("pear", "Newton, Fig. 2", "a pear fails", "fake_fruit:pear")


def apple(trials: Trials) -> ExperimentResult:
    """Fall in two seconds."""
    trials.progress("falling", 0.5)
    return fallen(trials, 2.0)


def fallen(trials: Trials, fall_time: float) -> ExperimentResult:
    x = np.linspace(0.0, 1.0, 50)
    curves = (
        Series("truth", x, 1.0 - x, "reference"),
        Series("estimate", x, np.where(x > 0.9, np.nan, 1.0 - x), low=0.9 - x, high=1.1 - x),
    )
    spans, levels = (Span(0.2, 0.4, "wind"),), (Level(0.1, "ground"),)
    panel = Panel("height", "time [s]", "height [m]", curves, spans, levels)
    rows = [row("fall time", "s", fall_time, bound="<= 1"), row("never", "s", [math.nan] * len(trials.seeds))]
    return ExperimentResult(trials.seeds, rows, panels=(panel, panel))


def pear(trials: Trials) -> ExperimentResult:
    """Cannot be simulated."""
    raise ModelError("the pear has no stalk")


def cherry(trials: Trials) -> ExperimentResult:
    """Fall in a time that is computed by other processes."""
    return fallen(trials, sum(total for total, _column in trials.by_seed(sums)))


@pytest.fixture(autouse=True)
def two_experiments(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = ModuleType("fake_fruit")
    fake.apple, fake.pear, fake.cherry = apple, pear, cherry  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "fake_fruit", fake)
    monkeypatch.setattr(registry, "EXPERIMENTS", (BAD, GOOD))


def test_missed_bound_is_said_and_is_no_error(tmp_path: Path, ran) -> None:
    printed = ran("experiment", "apple", "--output", tmp_path / "new").out
    assert "<= 1 NOT MET" in printed
    assert "1 of 1 bounds NOT MET" in printed
    document = json.loads((tmp_path / "new" / "apple.json").read_text())
    assert document["seeds"] == [0, 1, 2]
    assert document["table"][1]["values"] == [None, None, None]
    assert set(document["versions"]) >= {"numpy", "mujoco", "python"}
    page = (tmp_path / "new" / "apple.html").read_text()
    assert all(text in page for text in ("fall time", "NOT MET", 'class="graph"'))


def test_number_of_jobs_changes_no_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cherry = Experiment("cherry", "Newton, Fig. 3", "a cherry falls", "fake_fruit:cherry", seeds=3)
    monkeypatch.setattr(registry, "EXPERIMENTS", (cherry,))
    for jobs in ("1", "2"):
        assert main(["experiment", "cherry", "--jobs", jobs, "--output", str(tmp_path / jobs)]) == 0
    assert (tmp_path / "1" / "cherry.json").read_bytes() == (tmp_path / "2" / "cherry.json").read_bytes()


def test_all_goes_on_after_a_failure_and_ends_with_an_error(tmp_path: Path, ran) -> None:
    said = ran("experiment", "all", "--output", tmp_path, code=1).err
    assert "pear: FAILED: the pear has no stalk" in said
    assert (tmp_path / "apple.json").is_file()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["plum"], "no experiment 'plum'; there are pear, apple, all"),
        ([], "--list"),
        (["pear"], "the pear has no stalk"),
    ],
)
def test_error_is_one_line(arguments: list[str], said: str, tmp_path: Path, refused) -> None:
    assert said in refused("experiment", *arguments, "--output", tmp_path)
