"""The frame of the experiments: what a bound means, what the table and the file say, what may be missing."""

import json
import math
import subprocess
import sys
from functools import partial

import numpy as np
import pytest

from inertial_estimation.errors import ConfigurationError, MissingDependencyError
from inertial_estimation.experiments.experiment import Experiment, Trials
from inertial_estimation.experiments.experiment_result import Bound, ExperimentResult, TableRow
from inertial_estimation.experiments.figure_description import Panel, Series, thinned
from inertial_estimation.experiments.registry import EXPERIMENTS, RegisteredExperiment, find_experiment
from inertial_estimation.experiments.result_file import result_document
from inertial_estimation.experiments.result_table import result_lines, verdict
from inertial_estimation.files.outputs import write_json

EXPERIMENT = RegisteredExperiment("falling-apple", "Newton, Fig. 1", "an apple falls", "no.such.module:Apple")


def result() -> ExperimentResult:
    rows = (
        TableRow("fall time", "s", 1.0, spread=0.1, paper=1.25, bound=Bound("<=", 1.5), aim=Bound("<=", 0.5)),
        TableRow("apples", "", 2.0, bound=Bound("==", 1.0)),
        TableRow("never settled", "s", math.nan, bound=Bound("<", 9.0)),
    )
    return ExperimentResult(
        seeds=(0, 1),
        rows=rows,
        per_seed={"fall time": (0.9, math.inf), "count": (np.float64(1.5), 2.0)},
        settings={"height [m]": 5.0, "tree": "old"},
        facts=("it was windy",),
    )


@pytest.mark.parametrize(
    ("relation", "value", "met"),
    [("<=", 1.0, True), ("<", 1.0, False), (">=", 1.0, True), (">", 1.0, False), ("==", 1.0, True)],
)
def test_bound_at_its_own_value(relation: str, value: float, met: bool) -> None:
    assert Bound(relation, 1.0).met(value) is met


@pytest.mark.parametrize("relation", ["<=", "<", ">=", ">", "=="])
def test_not_a_number_keeps_no_bound(relation: str) -> None:
    assert not Bound(relation, 1.0).met(math.nan)


def test_unknown_relation_lists_those_there_are() -> None:
    with pytest.raises(ConfigurationError, match=r"'about', expected one of: <=, <, >=, >, =="):
        Bound("about", 1.0)


def test_table_marks_each_missed_bound_and_aim() -> None:
    lines = result_lines(EXPERIMENT, result())
    (time,) = [line for line in lines if "fall time" in line and "+-" not in line and "*" not in line]
    assert time.split()[2:] == ["1.25", "1", "0.1", "s", "<=", "1.5", "met", "<=", "0.5", "NOT", "MET"]
    (apples,) = [line for line in lines if line.strip().startswith("apples")]
    assert "== 1 NOT MET" in apples
    assert "2 of 3 bounds NOT MET: apples; never settled" in verdict(result())
    assert any("it was windy" in line for line in lines)


def test_result_without_a_missed_bound_says_so() -> None:
    good = ExperimentResult((0,), (TableRow("apples", "", 1.0, bound=Bound("==", 1.0)),))
    assert verdict(good) == "all 1 bounds met"


def test_verdict_ends_with_what_the_bounds_do_not_count() -> None:
    rows = (TableRow("apples", "", 1.0, bound=Bound("==", 1.0)),)
    beaten = ExperimentResult((0,), rows, caveat="a pear fell faster")
    assert verdict(beaten) == "all 1 bounds met; BUT a pear fell faster"
    assert any("pear" in line for line in result_lines(EXPERIMENT, beaten))
    assert result_document(EXPERIMENT, beaten, {})["caveat"] == "a pear fell faster"


def test_quick_is_said_in_table_and_file() -> None:
    assert any("QUICK" in line for line in result_lines(EXPERIMENT, result(), quick=True))
    assert not any("QUICK" in line for line in result_lines(EXPERIMENT, result()))
    assert result_document(EXPERIMENT, result(), {}, quick=True)["quick"] is True


def test_file_gives_back_every_number_and_null_for_what_is_none(tmp_path: object) -> None:
    document = result_document(EXPERIMENT, result(), {"numpy": "1"})
    path = write_json(tmp_path / "apple.json", document)  # type: ignore[operator]
    read = json.loads(path.read_text(encoding="utf-8"))
    document["per_seed"]["fall time"][1] = None
    document["table"][2]["ours"] = None
    assert read == document
    assert read["seeds"] == [0, 1]
    assert read["per_seed"] == {"fall time": [0.9, None], "count": [1.5, 2.0]}
    assert read["table"][0]["bound"] == {"relation": "<=", "value": 1.5, "met": True}
    assert read["table"][2]["ours"] is None
    assert read["bounds_met"] is False


def test_values_per_seed_are_one_for_each() -> None:
    with pytest.raises(ConfigurationError, match="'x' has 1 values, expected one for each of 2 seeds"):
        ExperimentResult((0, 1), (), per_seed={"x": (1.0,)})


def test_unknown_experiment_is_told_with_the_nearest_name() -> None:
    with pytest.raises(ConfigurationError, match="'foster-elbw', did you mean 'foster-elbow'"):
        find_experiment("foster-elbw")


def test_names_are_unique_and_found() -> None:
    assert [find_experiment(experiment.name) for experiment in EXPERIMENTS] == list(EXPERIMENTS)


def test_missing_package_is_named_with_what_to_install() -> None:
    with pytest.raises(MissingDependencyError, match=r"needs the Python package 'no'; pip install"):
        EXPERIMENT.run([0])


def test_no_seeds_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="got no seeds"):
        EXPERIMENT.run([])


class Seeded(Experiment[list[float]]):
    """Its data are its seeds."""

    figure_columns = 2
    quick_seeds = 1

    def simulate(self, trials: Trials) -> list[float]:
        return trials.results([partial(float, seed) for seed in self.seeds], begin=0.5)

    def table(self, data: list[float]) -> list[TableRow]:
        return [TableRow("largest seed", "", max(data))]

    def panels(self, data: list[float]) -> list[Panel]:
        return [Panel("seeds", "place [-]", "seed [-]", (Series("", np.arange(len(data)), np.array(data)),))]

    def per_seed(self, data: list[float]) -> dict[str, tuple[float, ...]]:
        return {"seed": tuple(data)}


def test_experiment_makes_everything_of_what_it_simulated() -> None:
    reported: list[tuple[str, float]] = []
    made = Seeded([3, 4]).run(Trials(progress=lambda what, share: reported.append((what, share))))
    assert (made.seeds, made.rows[0].ours, made.columns) == ((3, 4), 4.0, 2)
    assert made.per_seed == {"seed": (3.0, 4.0)}
    np.testing.assert_array_equal(made.panels[0].series[0].y, [3.0, 4.0])
    assert (made.settings, made.facts, made.caveat) == ({}, (), "")
    counted = [("0 of 2 runs", 0.5), ("1 of 2 runs", 0.75), ("2 of 2 runs", 1.0)]
    assert reported == [*counted, ("done", 1.0)]


def test_trials_of_several_cases_come_back_by_case() -> None:
    reported: list[str] = []
    trials = Trials(progress=lambda what, _share: reported.append(what))
    found = trials.by_case({"signed": [partial(int, "-2"), partial(int, "3")], "none": [], "one": [int]})
    assert found == {"signed": [-2, 3], "none": [], "one": [0]}
    assert reported == [f"{count} of 3 runs" for count in range(4)]


def test_quick_run_uses_no_more_seeds_than_it_says() -> None:
    assert Seeded([3, 4], quick=True).seeds == (3,)
    with pytest.raises(ConfigurationError, match="got no seeds"):
        Seeded([])


def test_every_registered_experiment_is_a_subclass() -> None:
    pytest.importorskip("mujoco")
    pytest.importorskip("proxsuite")
    assert all(issubclass(experiment.load(), Experiment) for experiment in EXPERIMENTS)


def test_registry_loads_no_experiment() -> None:
    code = (
        "import sys\n"
        "for name in ('mujoco', 'proxsuite', 'pinocchio', 'vqf', 'matplotlib'): sys.modules[name] = None\n"
        "from inertial_estimation.experiments.registry import EXPERIMENTS\n"
        "assert EXPERIMENTS and not {e.module for e in EXPERIMENTS} & set(sys.modules)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_thinned_curve_keeps_its_ends_of_the_data() -> None:
    x = np.linspace(0.0, 1.0, 100_001)
    curve = thinned("line", x, 3.0 * x)
    assert len(curve.x) <= 4000
    assert curve.x[0] == 0.0
    assert curve.x[-1] > 0.999
    np.testing.assert_allclose(curve.y, 3.0 * curve.x)


def test_curve_refuses_unequal_lengths_and_unknown_styles() -> None:
    with pytest.raises(Exception, match="shape"):
        Series("a", np.zeros(3), np.zeros(2))
    with pytest.raises(ConfigurationError, match="'wavy', expected one of: line"):
        Series("a", np.zeros(3), np.zeros(3), style="wavy")
