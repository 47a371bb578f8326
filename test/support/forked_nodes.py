"""Node processes forked from one that has imported and loaded what they need, most of a node's start.

A forked node runs its entry point with its own arguments, environment and output, and ends as an interpreter
does.
"""

import ctypes
import importlib
import multiprocessing
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from unittest.mock import patch

SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["support.loaded_nodes"])


class ForkedNode:
    """A node as a process; what it prints goes to a file."""

    def __init__(self, name: str, arguments: "list[str]", environment: "dict[str, str]", log: Path) -> None:
        self.killed, self._log = False, log
        log.touch()
        self._process = SERVER.Process(target=_run, args=(name, arguments, environment, log))
        imported = os.pathsep.join([str(Path(__file__).parents[1]), os.environ["PYTHONPATH"]])
        nothing = {"__main__": ModuleType("__main__")}  # of this process the node needs nothing
        with patch.dict(os.environ, PYTHONPATH=imported), patch.dict(sys.modules, nothing):
            self._process.start()

    @property
    def output(self) -> str:
        """What it has printed up to now."""
        return self._log.read_text()

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
        return self._process.exitcode is None

    def send_signal(self, number: int) -> None:
        """Send a signal."""
        os.kill(self._process.pid, number)

    def ends_cleanly(self, number: int = signal.SIGINT) -> None:
        """Send a signal: it must end without an error and without a traceback."""
        self.send_signal(number)
        assert self.wait() == 0, self.output
        assert "Traceback" not in self.output

    def wait(self, timeout: float = 60.0) -> int:
        """Wait for the end; return the exit code."""
        self._process.join(timeout)
        if self.running:
            self.kill()
            raise subprocess.TimeoutExpired(self._log.name, timeout)
        return self._process.exitcode

    def kill(self) -> None:
        """End it in any case."""
        if self.running:
            self.killed = True
            self._process.kill()
            self._process.join()


def _run(name: str, arguments: "list[str]", environment: "dict[str, str]", log: Path) -> None:
    """Become a node."""
    output = os.open(log, os.O_WRONLY)
    for target in (1, 2):
        os.dup2(output, target)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["-c", *arguments]
    code = getattr(importlib.import_module("inertial_estimation.ros.node_runner"), name)()
    ctypes.pythonapi.Py_Exit(code)
