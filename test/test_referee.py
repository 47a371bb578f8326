"""The referee: rows and spreads, what a comparison shows, what becomes of tasks, the size of the house."""

import json
import math
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from benchmarks.referee.__main__ import PARTS, table
from benchmarks.referee.comparison import comparison_text, differences
from benchmarks.referee.recordings import command
from benchmarks.referee.row import Better, Row, exact, over_seeds, share
from benchmarks.referee.size import counted
from benchmarks.referee.task import Task, run

ROOT = Path(__file__).resolve().parents[1]
MODULE = '''"""A module."""

LIMIT, _OFTEN = 3.0, 4
CELL_A, CELL_B = range(2)
NAMES = ("a", "b")


class Thing:
    """A thing."""

    def size(self) -> float:
        # the size
        return LIMIT
'''


def test_a_row_of_seeds_is_their_median_and_its_spread_their_range() -> None:
    row = over_seeds("x", [3.0, 1.0, 2.5], "deg")
    assert (row.value, row.spread, row.better) == (2.5, 2.0, Better.LOWER)
    assert over_seeds("x", [1.0, 1.0, 1.0], "deg", least=0.1).spread == 0.1
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


def test_a_task_that_fails_is_an_answer_and_the_others_go_on() -> None:
    rows = [exact("key", 2.0, "m")]
    tasks = [  # functions that another process can import
        Task("p", "good", partial(list, rows)),
        Task("p", "skipped", partial(command, "replay", "no/such/recording", [], "metrics.json")),
        Task("p", "bad", partial(int, "x")),
        Task("p", "crash", partial(os._exit, 3)),
        Task("p", "alone", partial(list, rows), processes=True),
    ]
    ran = list(run(tasks, 2))
    done = {one.name: one for one in ran}
    assert ran[-1].name == "alone"
    assert done["good"].rows == done["alone"].rows == rows
    assert done["skipped"].failure.startswith("skipped: no recording no/such/recording")
    assert "ValueError: invalid literal" in done["bad"].failure
    assert done["crash"].failure.startswith("crashed")
    assert "not measured: p: bad: no" in table({"p": []}, {"p: bad": "no"})


def test_sizes_are_counted(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text(MODULE)
    found = counted(tmp_path)
    assert {
        name: found[name] for name in ("modules", "classes", "functions", "constants", "cell indices")
    } == {
        "modules": 1,
        "classes": 1,
        "functions": 1,
        "constants": 2,
        "cell indices": 2,
    }
    assert found["code"] == 6


def test_the_size_of_this_checkout_is_stored_and_compared_with_itself(tmp_path: Path) -> None:
    file = tmp_path / "out" / "size.json"
    command_line = [sys.executable, "-m", "benchmarks.referee", "--only", "size", "--seed", "3"]
    said = ""
    for options in ([], ["--against", str(file)]):
        words = [*command_line, "--output", str(file), *options]
        places = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONSAFEPATH": ""}
        ended = subprocess.run(words, cwd=ROOT, env=places, capture_output=True, text=True)
        assert ended.returncode == 0, ended.stderr
        said = ended.stdout
    stored = json.loads(file.read_text())
    found = {row["key"]: row["value"] for row in stored["parts"]["size"]}
    assert stored["seed"] == 3
    assert found["product: lines"] > 10_000
    assert np.isfinite(list(found.values())).all()
    assert said.splitlines()[-1].strip() == "none"


def test_every_part_has_tasks_of_its_own_names() -> None:
    from importlib import import_module

    for part in PARTS:
        tasks = import_module(f"benchmarks.referee.{part}").tasks(5, 3)
        assert tasks
        assert {task.part for task in tasks} == {part}
        assert len({task.name for task in tasks}) == len(tasks)
