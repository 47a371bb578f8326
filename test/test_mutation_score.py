"""The mutation tool: what it changes, what it leaves, and that it finds its modules and tests."""

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
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
def tool():
    spec = importlib.util.spec_from_file_location("mutation_score", ROOT / "benchmarks/mutation_score.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where its dataclass looks for itself
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def found(tool, tmp_path_factory):
    path = tmp_path_factory.mktemp("mutants") / "mean.py"
    path.write_text(SOURCE)
    return tool.mutants(path)


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


def test_the_table_names_modules_and_tests_that_exist(tool):
    for module, tests in tool.TESTS.items():
        assert (ROOT / f"inertial_estimation/{module}.py").is_file(), module
        assert tests
        assert all((ROOT / test).exists() for test in tests), tests
