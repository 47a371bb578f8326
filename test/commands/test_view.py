"""`view` is the viewer itself: what ends the command ends the viewer."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from inertial_estimation.commands.main import main


def test_a_signal_to_the_command_ends_the_viewer(tmp_path: Path) -> None:
    """A stand-in for the package of the viewer, whose own launcher starts a second process."""
    package = tmp_path / "rerun_cli"
    package.mkdir()
    (package / "__init__.py").touch()
    viewer = package / "rerun"
    viewer.write_text('#!/bin/sh\necho "$$ $*"\nexec sleep 60\n')
    viewer.chmod(0o755)
    recording = tmp_path / "robot.rrd"
    recording.touch()
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-m", "inertial_estimation.commands.main", "view", str(recording)]
    process = subprocess.Popen(
        command, env={**os.environ, "PYTHONPATH": path}, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline().split() == [str(process.pid), str(recording)]
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30.0) == -signal.SIGTERM
    finally:
        process.kill()
        process.communicate()


def test_without_the_viewer_its_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    assert main(["view", str(tmp_path / "robot.rrd")]) == 1
    assert "pip install 'inertial_estimation[view]'" in capsys.readouterr().err
