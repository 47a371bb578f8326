"""The referee: rows and spreads, what a comparison shows, what becomes of tasks, the size of the house."""

import math
import pkgutil

import pytest

from benchmarks.referee.parts import PARTS, tasks
from benchmarks.referee.row import Better, Row, comparison_text, differences


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


@pytest.mark.parametrize("part", PARTS)
def test_every_task_is_a_function_that_exists_with_a_name_of_its_own(part: str) -> None:
    found = tasks(part, 5, 3)
    assert len({task.name for task in found}) == len(found) > 0
    for function in {task.function for task in found if part != "size"}:  # it changes the environment
        assert callable(pkgutil.resolve_name(function))
