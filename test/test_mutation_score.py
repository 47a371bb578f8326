"""The mutation tool: what it changes and what it leaves."""

import pytest

from benchmarks.mutation_score import mutants

SOURCE = """
from dataclasses import dataclass

__all__ = ["Mean"]


@dataclass
class Settings:
    limit: float = 3.0


class Mean:
    def __init__(self, width: int | None) -> None:
        self.total = 0.0

    def add(self, value: float, limit: float) -> float:
        if value > limit:
            raise ValueError(f"got {value + 1}")
        self.total += value
        self.last = -value
        return max(self.total, 2.0 * limit)
"""
CHANGES = {
    "0.0  ->  1.0",
    "value > limit  ->  value >= limit",
    "value > limit  ->  value <= limit",
    "self.total += value  ->  pass",
    "self.last = -value  ->  pass",
    "-value  ->  value",
    "max  ->  min",
    "2.0  ->  4.0",
    "2.0 * limit  ->  2.0 / limit",
    "2.0 * limit  ->  2.0",
}


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    path = tmp_path_factory.mktemp("mutants") / "mean.py"
    path.write_text(SOURCE)
    return mutants(path)


def test_every_kind_of_fault_is_made_and_declarations_and_messages_are_left(found):
    assert {mutant.text for mutant in found} == CHANGES
    assert len(found) == len(CHANGES)


def test_a_mutant_is_the_module_with_that_one_change(found):
    (mutant,) = (mutant for mutant in found if mutant.text == "max  ->  min")
    names = {"__name__": "mean"}
    exec(mutant.code, names)
    mean = names["Mean"](None)
    assert mean.add(1.0, 4.0) == 1.0
    assert mean.last == -1.0
