"""The dispatcher: one line for an error, help that lists the commands, lazy imports."""

import subprocess
import sys

import pytest

from inertial_estimation.commands import main as dispatcher
from inertial_estimation.commands.main import COMMANDS, main
from inertial_estimation.configuration.config_lookup import find_config
from inertial_estimation.errors import ConfigurationError


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    printed = capsys.readouterr().out
    assert all(f"  {name} " in printed for name in COMMANDS)


def test_unknown_command_lists_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["reply"])
    assert stop.value.code == 2
    assert "replay" in capsys.readouterr().err


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["version"]) == 0
    assert capsys.readouterr().out.strip()


@pytest.mark.parametrize("command", ["replay", "synthesize", "experiment", "demo", "play", "version"])
def test_every_command_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"])
    assert stop.value.code == 0
    assert f"inertial-estimation {command}" in capsys.readouterr().out


def test_missing_package_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_name: str) -> None:
        raise ModuleNotFoundError("no", name="rosbags")

    monkeypatch.setattr(dispatcher.importlib, "import_module", fail)
    assert main(["replay"]) == 1
    error = capsys.readouterr().err
    assert "'rosbags'" in error
    assert len(error.splitlines()) == 1


@pytest.mark.parametrize("command", ["replay", "synthesize", "version", "experiment", "demo"])
def test_command_loads_without_ros_and_without_matplotlib(command: str) -> None:
    code = (
        "import sys\n"
        "sys.modules['rclpy'] = sys.modules['matplotlib'] = None\n"
        f"import inertial_estimation.commands.{command}\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_demo_without_ros_says_what_to_install() -> None:
    code = (
        "import sys\n"
        "sys.modules['rclpy'] = None\n"
        "from inertial_estimation.commands.main import main\n"
        "sys.exit(main(['demo', '--no-live']))\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "pip install" in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


def test_config_by_name_and_by_path(tmp_path: object) -> None:
    assert find_config("icub").name == "icub.yaml"
    path = find_config("talos")
    assert find_config(str(path)) == path
    with pytest.raises(ConfigurationError, match=r"no parameter file 'hal': .* robots .*icub.*panda.*talos"):
        find_config("hal")
