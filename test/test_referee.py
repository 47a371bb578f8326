"""The referee: rows and spreads, what a comparison shows, what becomes of tasks, the size of the house."""

import json
import math
import pkgutil
from functools import partial

import numpy as np
import pytest

from benchmarks.referee import __main__ as referee
from benchmarks.referee.parts import PARTS, tasks
from benchmarks.referee.row import Better, Row, comparison_text, differences, figure, share, table
from benchmarks.referee.task import Task, run


def test_a_row_of_seeds_is_their_median_and_its_spread_their_range() -> None:
    row = figure("x", [3.0, 1.0, 2.5], "deg")
    assert (row.value, row.spread, row.better) == (2.5, 2.0, Better.LOWER)
    assert figure("x", [1.0, 1.0, 1.0], "deg", least=0.1).spread == 0.1
    assert figure("x", -5.0, tolerance=0.1).spread == 0.5
    assert Row.of(json.loads(json.dumps(row.as_dict))) == row


def test_the_spread_of_a_share_is_binomial_and_never_zero() -> None:
    assert share("x", [True] * 20).value == 100.0
    assert share("x", [True] * 20).spread > 2.0
    many = share("x", [True, False] * 5000)
    assert many.spread == pytest.approx(0.5, rel=0.01)


def test_differences_within_the_spread_are_left_out_and_worse_ones_come_first() -> None:
    before = {
        "a": [Row("small", 1.0, "", spread=0.5), Row("better", 5.0, ""), Row("worse", 5.0, "", Better.HIGHER)]
    }
    before["a"] += [Row("gone", 1.0, ""), Row("lost", 1.0, "")]
    after = {"a": [Row("small", 1.4, ""), Row("better", 4.0, ""), Row("worse", 2.0, "", Better.HIGHER)]}
    after["a"] += [Row("new", 1.0, ""), Row("lost", math.nan, "")]
    assert [one.after.key for one in differences(before, after)] == ["lost", "worse", "better"]
    text = comparison_text(before, after, "earlier")
    assert text.index("lost") < text.index("worse  a: worse") < text.index("better a: better")
    assert "only here: a: new" in text
    assert "only there: a: gone" in text
    assert comparison_text(after, after, "it").endswith("none")


def test_a_task_that_fails_is_an_answer_and_the_others_go_on(monkeypatch) -> None:
    monkeypatch.setenv("INERTIAL_ESTIMATION_DATASETS", "/no/such/folder")
    task, rows = partial(Task, "p"), [figure("key", 2.0, "m")]
    ran = list(
        run(
            [
                task("alone", "builtins:list", (rows,), alone=True),
                task("good", "builtins:list", (rows,)),
                task("skipped", "benchmarks.referee.recordings:marker"),
                task("bad", "builtins:int", ("x",)),
                task("crash", "os:_exit", (3,)),
            ],
            2,
        )
    )
    done = {one.task.name: one for one in ran}
    assert ran[-1].task.name == "alone"
    assert done["good"].rows == done["alone"].rows == rows
    assert done["skipped"].failure.startswith("skipped: no recording talos_calibration")
    assert "ValueError: invalid literal" in done["bad"].failure
    assert done["crash"].failure.startswith("crashed")
    assert "not measured: p: bad: no" in table({"p": []}, {"p: bad": "no"})


def test_the_size_of_this_checkout_is_stored_and_compared_with_an_earlier_one(tmp_path, capsys) -> None:
    file, earlier = tmp_path / "out" / "size.json", tmp_path / "earlier.json"
    lines = Row("product: lines", 1.0, "", Better.LOWER)
    earlier.write_text(json.dumps({"commit": "abc", "parts": {"size": [lines.as_dict]}}))
    words = ["--only", "size", "--task", "size", "--seed", "3", "--output", str(file)]
    assert referee.main([*words, "--against", str(earlier)]) == 0
    stored = json.loads(file.read_text())
    found = {row["key"]: row["value"] for row in stored["parts"]["size"]}
    assert stored["seed"] == 3
    assert found["product: lines"] > 10_000
    assert np.isfinite(list(found.values())).all()
    assert "worse  size: product: lines" in capsys.readouterr().out


@pytest.mark.parametrize("part", PARTS)
def test_every_task_is_a_function_that_exists_with_a_name_of_its_own(part: str) -> None:
    found = tasks(part, 5, 3)
    assert len({task.name for task in found}) == len(found) > 0
    for function in {task.function for task in found if part != "size"}:  # it changes the environment
        assert callable(pkgutil.resolve_name(function))
