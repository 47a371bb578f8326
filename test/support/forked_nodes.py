"""Node processes forked from one that has imported and loaded what they need, most of a node's start.

This module is also that process, the server: it reads a line of JSON for every process to start, and writes
one with its pid, and one with its exit code when it has ended. A forked node runs its entry point with its
own arguments, environment and output, and ends as an interpreter does.
"""

import contextlib
import gc
import importlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

from inertial_estimation.compilation import warm_up

PACKAGE = "inertial_estimation.ros"
NODES = ("tilt_observer", "inertial_ekf", "trunk_payload", "simulator", "whole_body_controller")
OF_A_TEST = {"ROS_DOMAIN_ID", "PYTEST_CURRENT_TEST"}  # variables that differ between the nodes of one server


class ForkedProcess:
    """A node that a server has started, with the methods of subprocess.Popen that tests use."""

    def __init__(self, server: "NodeServer", pid: int) -> None:
        self.pid, self.returncode = pid, None
        self._server = server

    def poll(self) -> "int | None":
        """Return the exit code, None while it runs."""
        if self.returncode is None:
            self.returncode = self._server.exit_code(self.pid, timeout=0.0)
        return self.returncode

    def wait(self, timeout: "float | None" = None) -> int:
        """Wait for the end; return the exit code."""
        if self.returncode is None:
            self.returncode = self._server.exit_code(self.pid, timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired(f"node {self.pid}", timeout)
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """Send SIGKILL unless it has ended."""
        self.send_signal(signal.SIGKILL)


class NodeServer:
    """The other end of the server: starts it with the first node, and ends it with everything it started."""

    def __init__(self) -> None:
        self._process = None
        self._environment = {}
        self._rest = b""
        self._pids, self._codes = [], {}

    def start(self, name: str, arguments: "list[str]", environment: "dict[str, str]", log: Path):
        """Start a node; in a process of its own where its environment is not that of the server."""
        if self._process is None:
            self._environment = environment
            self._process = subprocess.Popen(
                [sys.executable, __file__], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        if _shared(environment) != _shared(self._environment):
            code = f"import sys; from {PACKAGE}.node_runner import {name}; sys.exit({name}())"
            with log.open("w") as output:
                return subprocess.Popen(
                    [sys.executable, "-c", code, *arguments],
                    env=environment,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                )
        job = {"name": name, "arguments": arguments, "environment": environment, "log": str(log)}
        self._process.stdin.write(json.dumps(job).encode() + b"\n")
        self._process.stdin.flush()
        while not self._pids:
            self._read(None)
        return ForkedProcess(self, self._pids.pop())

    def exit_code(self, pid: int, timeout: "float | None") -> "int | None":
        """Return the exit code of a process as soon as it has ended, None when time is up.

        It is returned once: another process may get the same pid later.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while pid not in self._codes:
            left = None if deadline is None else max(deadline - time.monotonic(), 0.0)
            if not self._read(left):
                return None
        return self._codes.pop(pid)

    def close(self) -> None:
        """End the server, which ends its processes."""
        if self._process is not None:
            self._process.communicate()

    def _read(self, timeout: "float | None") -> bool:
        """Read what the server has written; False when there was nothing in time."""
        output = self._process.stdout.fileno()
        if not select.select([output], [], [], timeout)[0]:
            return False
        data = os.read(output, 65536)
        assert data, "the server of the nodes has ended"
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            said = json.loads(line)
            if "code" in said:
                self._codes[said["pid"]] = said["code"]
            else:
                self._pids.append(said["pid"])
        return True


def _shared(environment: "dict[str, str]") -> "dict[str, str]":
    return {name: value for name, value in environment.items() if name not in OF_A_TEST}


def serve() -> "dict | None":
    """Fork a process for every job; return its job in each of them, and None in the server at the end."""
    woken, wake = os.pipe()
    for end in (woken, wake):
        os.set_blocking(end, False)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal, which goes to all: the tests decide
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake)
    running, rest = set(), b""
    while True:
        ready = select.select([0, woken], [], [])[0]
        if woken in ready:
            os.read(woken, 65536)
            _report_ended(running)
        if 0 not in ready:
            continue
        data = os.read(0, 65536)
        if not data:
            for pid in running:
                os.kill(pid, signal.SIGKILL)  # not reaped: the pid is still its own
            return None
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            pid = os.fork()
            if pid == 0:
                _forget_the_server()
                return json.loads(line)
            running.add(pid)
            _say(pid=pid)


def _forget_the_server() -> None:
    """Handle signals as a new interpreter does."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _report_ended(running: "set[int]") -> None:
    for pid in list(running):
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            running.discard(pid)
            _say(pid=pid, code=os.waitstatus_to_exitcode(status))


def _say(**values: int) -> None:
    os.write(1, json.dumps(values).encode() + b"\n")


def run(job: "dict") -> int:
    """Become the node of a job."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    log = os.open(job["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for source, target in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(source, target)
    os.environ.clear()
    os.environ.update(job["environment"])
    sys.argv = ["-c", *job["arguments"]]
    runner = importlib.import_module(f"{PACKAGE}.node_runner")
    return int(getattr(runner, job["name"])())


def main() -> int:
    """Import what the nodes need, load what they have compiled, then serve."""
    os.environ.setdefault("MUJOCO_GL", "disable")  # as the entry point of the simulator does
    for name in NODES:
        with contextlib.suppress(ImportError):  # the node says so itself
            importlib.import_module(f"{PACKAGE}.{name}_node")
    warm_up()
    gc.freeze()
    job = serve()
    return 0 if job is None else run(job)


if __name__ == "__main__":
    sys.exit(main())
