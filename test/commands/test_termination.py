"""However a command ends, no process that it started is left; it talks on a ROS domain of its own."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from inertial_estimation.commands.main import unwound_by_signals
from inertial_estimation.commands.ros_domains import DOMAINS, claimed_domain
from inertial_estimation.errors import InertialEstimationError

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
NODES = 3  # of one run before the simulator starts: it is started and ended as two are
ENDED_WITHIN_S = 60.0  # a few seconds on an idle machine
CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129, signal.SIGKILL: -signal.SIGKILL}


def children(parent: int) -> dict[int, str]:
    """Return the processes a process has started, with the time of their start, which tells pids apart."""
    found = {}
    for folder in Path("/proc").iterdir():
        stat = started(int(folder.name)) if folder.name.isdigit() else None
        if stat is not None and int(stat[1]) == parent:
            found[int(folder.name)] = stat[19]
    return found


def started(pid: int) -> list[str] | None:
    """Return the fields of a process from its state on; None when it is gone or only waits to be reaped."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else fields


def alive(processes: dict[int, str]) -> list[int]:
    now = {pid: started(pid) for pid in processes}
    return [pid for pid, stat in now.items() if stat is not None and stat[19] == processes[pid]]


def wait_until(holds: Callable[[], object], timeout_s: float = 60.0) -> bool:
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        if holds():
            return True
        time.sleep(0.01)
    return bool(holds())


@pytest.fixture(autouse=True)
def usual_handlers() -> Iterator[None]:
    """Those of a terminal, here and in what is started: nohup and `&` in a script let signals be ignored."""
    usual = {signal.SIGHUP: signal.SIG_DFL, signal.SIGINT: signal.default_int_handler}
    before = {number: signal.signal(number, handler) for number, handler in usual.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def demo(tmp_path: Path) -> Iterator["subprocess.Popen[str]"]:
    pytest.importorskip("rclpy")
    command = [sys.executable, "-m", "inertial_estimation.commands.main", "demo", "--no-adaptation"]
    root = Path(__file__).resolve().parents[2]
    process = subprocess.Popen(
        [*command, "--output", str(tmp_path)],
        cwd=root,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    yield process
    process.kill()
    process.communicate()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_demo_that_is_starting_leaves_no_process(demo, number) -> None:
    assert any("starting 4 nodes" in line for line in demo.stdout), "the demo ended before"
    assert wait_until(lambda: len(children(demo.pid)) >= NODES)
    nodes = children(demo.pid)
    demo.send_signal(number)
    rest = demo.communicate(timeout=ENDED_WITHIN_S)[0]
    nodes |= children(demo.pid)  # none: it is gone
    assert demo.returncode == CODES[number], rest
    assert "Traceback" not in rest
    assert wait_until(lambda: not alive(nodes), ENDED_WITHIN_S), f"left: {alive(nodes)}"


def test_ignored_signal_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # what nohup does
    try:
        with unwound_by_signals():
            signal.raise_signal(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("command", ["monitor", "demo --no-adaptation"])
def test_ctrl_c_while_rclpy_is_imported_ends_a_command_without_a_traceback(command, tmp_path):
    """Its modules in C convert what is raised while they are loaded."""
    (tmp_path / "rclpy.py").write_text(
        "import os, signal\n"
        "try:\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    signal.sigtimedwait([], 1.0)\n"
        "except BaseException as error:\n"
        "    raise ImportError('initialization failed') from error\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ["PYTHONPATH"]])}
    ended = subprocess.run(
        [sys.executable, "-m", "inertial_estimation.commands.main", *command.split()],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ended.returncode == 130, ended.stderr
    assert "Traceback" not in ended.stderr


MODULE = "inertial_estimation.commands.ros_domains"
ROOT = Path(__file__).resolve().parents[2]


def test_what_is_claimed_nobody_else_gets():
    """Neither this process nor another, which has no other domain to choose from."""
    with contextlib.ExitStack() as stack:
        claimed = [stack.enter_context(claimed_domain()) for _ in range(3)]
        assert len(set(claimed)) == 3
        assert set(claimed) <= set(DOMAINS)
        taken = claimed[0]
        code = (
            f"from {MODULE} import claimed_domain\n"
            f"with claimed_domain(range({taken}, {taken + 1})) as domain: print(domain)"
        )
        assert f"from {taken} to {taken} are in use" in other_process("-c", code).stderr
        with pytest.raises(InertialEstimationError), claimed_domain(range(taken, taken + 1)):
            pass
    assert other_process("-c", code).stdout.strip() == str(taken), "free again"


def test_a_command_runs_on_a_domain_that_it_keeps_to_its_end(monkeypatch):
    monkeypatch.delenv("ROS_DOMAIN_ID", raising=False)
    code = (
        f"import os; from {MODULE} import claimed_domain; domain = int(os.environ['ROS_DOMAIN_ID'])\n"
        "try:\n"
        "    with claimed_domain(range(domain, domain + 1)): pass\n"
        "except Exception as error: print(error)"
    )
    ran = other_process(str(ROOT / ".ci" / "own_domain.py"), sys.executable, "-c", code)
    assert "are in use" in ran.stdout, ran.stderr


def other_process(*arguments):
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, timeout=60, check=False
    )


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
        assert process.stdout.readline().split() == [str(process.pid), str(recording)]
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30.0) == -signal.SIGTERM
    finally:
        process.kill()
        process.communicate()


def test_without_the_viewer_its_extra_is_named(tmp_path: Path, monkeypatch, refused) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    assert "pip install 'inertial_estimation[view]'" in refused("view", tmp_path / "robot.rrd")
