"""Child processes that all end when their parent's context ends, also after an error."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from inertial_estimation.errors import InertialEstimationError

PR_SET_PDEATHSIG = 1  # linux/prctl.h
_prctl = ctypes.PyDLL(None).prctl if sys.platform == "linux" else None


class ProcessGroup(AbstractContextManager["ProcessGroup"]):
    """Starts processes and, on leaving the context, ends them with SIGTERM, then with SIGKILL.

    On Linux they also end when this process is killed, and when the thread that started them ends.
    """

    def __init__(self, folder: Path, *, patience_s: float = 5.0) -> None:
        """Write their output into `folder`; `patience_s` is the time from SIGTERM to SIGKILL [s]."""
        self._folder, self._patience_s = folder, patience_s
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._terminated = False

    def start(self, name: str, command: list[str], **environment: str) -> "subprocess.Popen[bytes]":
        """Start one process with further environment variables; its output goes to the file NAME.log."""
        parent = os.getpid()

        def end_with_parent() -> None:  # after a fork: no call that needs a lock of another thread
            if _prctl is not None:
                _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
                if os.getppid() != parent:  # the parent has already ended, so that no signal will arrive
                    os._exit(1)

        with (self._folder / f"{name}.log").open("wb") as log:
            self._processes[name] = process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, **environment},
                start_new_session=True,  # Ctrl-C in the terminal reaches only the parent, which ends them
                preexec_fn=end_with_parent,
            )
        return process

    def check(self) -> None:
        """Raise an InertialEstimationError, with the last output of the process, if one has ended."""
        for name, process in self._processes.items():
            if process.poll() is not None:
                words = self._log(name)[-2000:] or "it has printed nothing"
                raise InertialEstimationError(f"{name} ended with code {process.returncode}: {words}")

    def terminate(self) -> None:
        """Send SIGTERM to all processes; the end of the context waits for them."""
        if not self._terminated:  # a second signal would interrupt the shutdown that the first has begun
            self._terminated = True
            for process in self._processes.values():
                process.terminate()  # has no effect on a process that has ended

    def output(self) -> str:
        """Return the output of all processes, each after its name."""
        logs = {name: self._log(name) for name in self._processes}
        return "\n".join(f"{name}: {log}" for name, log in logs.items() if log)

    def __exit__(self, *_error: Any) -> None:
        try:
            self.terminate()
            deadline = time.monotonic() + self._patience_s
            while time.monotonic() < deadline and any(p.poll() is None for p in self._processes.values()):
                time.sleep(0.01)
        finally:  # also when interrupted while waiting
            for process in self._processes.values():
                process.kill()
            for process in self._processes.values():
                process.wait()

    def _log(self, name: str) -> str:
        return (self._folder / f"{name}.log").read_text(encoding="utf-8", errors="replace").strip()
