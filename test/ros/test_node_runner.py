"""What a node's executable says before there is a node."""

import re
import sys

import pytest

from inertial_estimation.ros import node_runner


@pytest.mark.parametrize(
    "name", ["simulator", "tilt_observer", "inertial_ekf", "trunk_payload", "whole_body_controller"]
)
def test_help_is_printed_and_no_node_starts(name, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [f"/somewhere/{name}", "--help"])
    monkeypatch.setattr(node_runner, "run_node", lambda *_: pytest.fail("a node was started"))
    assert getattr(node_runner, name)() == 0
    assert capsys.readouterr().out.startswith(f"usage: {name} --ros-args")


@pytest.mark.parametrize(
    ("missing", "said"),
    [("pinocchio", "need Pinocchio"), ("mujoco", "needs MuJoCo"), ("rclpy", "rclpy and the")],
)
def test_what_is_missing_is_named(missing, said, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["simulator"])

    def fail(_name):
        raise ModuleNotFoundError(f"No module named '{missing}'", name=missing)

    monkeypatch.setattr(node_runner.importlib, "import_module", fail)
    assert node_runner.simulator() == 1
    assert re.search(said, capsys.readouterr().err)
