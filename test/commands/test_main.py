"""The dispatcher: one line for an error, help that lists the commands, lazy imports."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from inertial_estimation.commands import command_lines
from inertial_estimation.commands import main as dispatcher
from inertial_estimation.commands.main import COMMANDS, command_parser, main
from inertial_estimation.commands.terminal import progress_bar


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["reply"], "did you mean 'replay'?"),
        (["play", "--remp", "/a:=/b"], "no option '--remp', did you mean '--remap'?"),
        (["play"], "required: BAG"),
        (["play", "b", "--remap", "imu"], "'imu' is no remapping, expected from:=to"),
        (["play", "b", "--remap", "a:="], "'a:=' is no remapping"),
        (["play", "b", "--rate", "0"], "--rate: is '0', expected a number, more than 0"),
        (["convert", "t", "--map", "a", "--output", "b", "--rate", "inf"], "is 'inf', expected a number"),
        (["convert", "t", "--map", "a", "--output", "b", "--stor", "sqlite"], "did you mean 'sqlite3'?"),
        (["tune", "b", "--config", "c", "--vary", "v", "--output", "o", "--trials", "0"], "at least 1"),
        (["export", "r", "--output", "o", "--samples", "1.5"], "expected a whole number, at least 0"),
    ],
)
def test_what_is_wrong_in_a_command_line_is_named_in_one_line(arguments: list[str], said: str, capsys):
    with pytest.raises(SystemExit, match=r"^2$"):
        main(arguments)
    printed = capsys.readouterr()
    (line,) = printed.err.splitlines()
    assert said in line
    assert not printed.out


def test_remapped_names_are_absolute_with_or_without_a_slash() -> None:
    args = command_parser("play").parse_args(["bag", "--remap", "imu/data:=/torso/imu", "--remap", "/a:=b"])
    assert args.remap == [("/imu/data", "/torso/imu"), ("/a", "/b")]


def test_help_lists_every_command_and_loads_no_library() -> None:
    code = (
        "import sys\n"
        "from inertial_estimation.commands.main import COMMANDS, command_parser, main\n"
        "code = main([])\n"
        "assert all(command_parser(name).format_help() for name in COMMANDS)\n"
        "heavy = {'numpy', 'pinocchio', 'matplotlib', 'mujoco', 'proxsuite', 'rclpy', 'rosbags'}\n"
        "found = (heavy | {'rich', 'tqdm', 'yaml'}) & set(sys.modules)\n"
        "sys.exit(str(found) if found or code != 2 else 0)\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert all(f"  {name} " in ended.stdout for name in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_examples_of_the_help_are_command_lines(command: str) -> None:
    text = command_parser(command).description.partition("Examples:\n")[2].replace("\\\n", "")
    examples = [shlex.split(line) for line in text.splitlines()]
    assert examples
    for example in examples:
        assert example[:2] == ["inertial-estimation", command]
        command_parser(command).parse_args(example[2:])


def test_options_name_what_there_is() -> None:
    """The options load no library, so they repeat some names and numbers of what they choose from."""
    from inertial_estimation.configuration.pipelines import CONFIG_CLASSES
    from inertial_estimation.identification.methods import METHODS
    from inertial_estimation.recordings.bag_writer import STORAGES
    from inertial_estimation.setup_assistant.robot_kind import Kind
    from inertial_estimation.synthetic.synthetic_robots import SYNTHETIC_ROBOTS

    assert tuple(METHODS) == command_lines.METHODS
    assert tuple(CONFIG_CLASSES) == command_lines.ESTIMATORS
    assert tuple(kind.value for kind in Kind) == command_lines.KINDS
    assert command_lines.STORAGES == STORAGES
    assert sorted(SYNTHETIC_ROBOTS) == list(command_lines.ROBOTS)


def test_progress_in_a_pipe_is_lines(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    now = 0.0
    monkeypatch.setattr("inertial_estimation.commands.terminal.time.monotonic", lambda: now)
    with progress_bar("replay", 60.0, "s") as show:
        for now in range(1, 26):
            show(2.0 * now)
    written = capsys.readouterr().err
    assert "\r" not in written
    assert written.splitlines() == [
        "replay: 33 % (20.0 of 60.0 s, 10 s)",
        "replay: 67 % (40.0 of 60.0 s, 20 s)",
    ]


def test_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, refused) -> None:
    def fail(_name: str) -> None:
        raise ModuleNotFoundError("no", name="rosbags")

    monkeypatch.setattr(dispatcher.importlib, "import_module", fail)
    assert "'rosbags'" in refused("play", "bag")


def test_commands_load_without_ros_and_without_matplotlib() -> None:
    code = (
        "import sys\n"
        "sys.modules['rclpy'] = sys.modules['matplotlib'] = None\n"
        "from inertial_estimation.commands import demo, experiment, replay, synthesize\n"
        "from inertial_estimation.commands.main import main\n"
        "sys.exit(main(['demo']) - 1)\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    (line,) = ended.stderr.splitlines()
    assert "pip install" in line


def test_an_error_of_the_system_is_one_line(monkeypatch: pytest.MonkeyPatch, ran) -> None:
    """Such as a recording that is deleted while it is read."""
    from inertial_estimation.commands import play

    def run(_args: object) -> int:
        print("first results")
        raise FileNotFoundError(2, "No such file or directory", "/bag/a.mcap")

    monkeypatch.setattr(play, "run", run)
    expected = "inertial-estimation play: [Errno 2] No such file or directory: '/bag/a.mcap'"
    assert ran("play", "bag", code=1) == ("first results\n", f"{expected}\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_output_that_cannot_be_printed_is_one_line() -> None:
    command = [sys.executable, "-m", "inertial_estimation.commands.main", "experiment", "--list"]
    with open("/dev/full", "w") as full:
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    expected = "inertial-estimation experiment: [Errno 28] No space left on device\n"
    assert (ended.returncode, ended.stderr) == (1, expected)
