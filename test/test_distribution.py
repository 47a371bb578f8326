"""The whole suite runs in several processes, a part of it in one, and the command line has the last word."""

import importlib.util
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).resolve().parent
_spec = importlib.util.spec_from_file_location("suite_conftest", ROOT / "conftest.py")
suite = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(suite)


def config(**given):
    options = {"numprocesses": None, "dist": "no", "usepdb": False, "collectonly": False, "file_or_dir": []}
    return SimpleNamespace(option=SimpleNamespace(**{**options, "markexpr": "", **given}))


@pytest.mark.parametrize(("processors", "workers"), [(1, 2), (2, 3), (64, 8)])
def test_the_whole_suite_takes_the_processors_there_are(monkeypatch, processors, workers):
    monkeypatch.setattr("os.sched_getaffinity", lambda _pid: set(range(processors)))
    plain = config()
    suite.pytest_cmdline_main(plain)
    assert plain.option.numprocesses == workers
    assert plain.option.dist == "worksteal"


@pytest.mark.parametrize(
    "given", [{"numprocesses": 0}, {"file_or_dir": ["test/spatial"]}, {"usepdb": True}, {"collectonly": True}]
)
def test_otherwise_it_is_left_to_the_command_line(given):
    asked = config(**given)
    suite.pytest_cmdline_main(asked)
    assert (asked.option.numprocesses, asked.option.dist) == (given.get("numprocesses"), "no")


def test_without_xdist_it_runs_in_one_process_and_says_so(monkeypatch):
    without = config()
    del without.option.numprocesses
    suite.pytest_cmdline_main(without)
    assert without.option.dist == "no"
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    assert summary_of(without) == [suite.WITHOUT_XDIST]


def test_monte_carlo_is_not_left_out_in_silence():
    assert summary_of(config(markexpr="not monte_carlo")) == [suite.WITHOUT_MONTE_CARLO]


def summary_of(options):
    lines = []
    suite.pytest_terminal_summary(SimpleNamespace(write_line=lines.append), options)
    return lines
