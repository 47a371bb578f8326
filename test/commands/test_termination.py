"""However a command ends, no process that it started is left."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from inertial_estimation.commands.main import Terminated, unwound_by_signals
from inertial_estimation.commands.processes import ProcessGroup

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
def test_demo_that_is_starting_leaves_no_process(
    demo: "subprocess.Popen[str]", number: signal.Signals
) -> None:
    assert demo.stdout is not None
    assert any("starting 4 nodes" in line for line in demo.stdout), "the demo ended before"
    assert wait_until(lambda: len(children(demo.pid)) >= NODES)
    _end(demo, number)


def _end(demo: "subprocess.Popen[str]", number: signal.Signals) -> None:
    """Send a signal to the demo; it and the processes that it has started end."""
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


def test_interrupted_wait_kills_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True)"
    group = ProcessGroup(tmp_path, patience_s=60.0)
    process = group.start("stubborn", [sys.executable, "-c", f"{code}; time.sleep(60)"])
    assert wait_until(lambda: "up" in group.output())

    def interrupt(_seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("inertial_estimation.commands.processes.time.sleep", interrupt)
    with pytest.raises(KeyboardInterrupt), group:
        pass
    assert process.returncode == -signal.SIGKILL


@pytest.mark.parametrize(
    ("number", "expected"),
    [(signal.SIGTERM, Terminated), (signal.SIGHUP, Terminated), (signal.SIGINT, KeyboardInterrupt)],
)
@pytest.mark.parametrize("converts", [True, False, None])
def test_a_signal_prevails_over_code_that_converts_or_discards_its_exception(number, expected, converts):
    """As numba does while it compiles; a second one does not break the way out."""
    before, closed = signal.getsignal(number), []

    def work():
        try:
            signal.raise_signal(number)
        except BaseException as error:
            if number != signal.SIGINT:
                signal.raise_signal(number)
            closed.append(True)
            if converts:
                raise RuntimeError("lowering failed") from error
            if converts is None:
                raise

    with pytest.raises(expected), unwound_by_signals():
        work()
    assert closed == [True]
    assert signal.getsignal(number) == before


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
