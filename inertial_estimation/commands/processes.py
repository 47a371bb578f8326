"""Child processes that are all ended when the work is done, however it ends."""

import os
import signal
import subprocess
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType

from inertial_estimation.errors import InertialEstimationError

__all__ = ["ProcessGroup"]


class ProcessGroup(AbstractContextManager["ProcessGroup"]):
    """Starts processes, and on leaving asks them to end (SIGINT), then insists (SIGKILL)."""

    def __init__(self, folder: Path, *, patience_s: float = 5.0) -> None:
        """Prepare.

        Args:
            folder: Where their output goes, a file each.
            patience_s: How long they may take to end when asked [s].
        """
        self._folder = folder
        self._patience_s = patience_s
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, command: list[str]) -> "subprocess.Popen[bytes]":
        """Start one process, its output into a file."""
        with (self._folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=_environment(),
                start_new_session=True,  # a Ctrl-C in the terminal reaches us alone, and we end them
            )
        self._processes[name] = process
        return process

    def check(self) -> None:
        """Check that none has failed.

        Raises:
            InertialEstimationError: If one ended with an error; holds its last words.
        """
        for name, process in self._processes.items():
            if process.poll():
                words = self._log(name)[-2000:]
                raise InertialEstimationError(f"{name} ended with code {process.returncode}: {words}")

    def output(self) -> str:
        """Return what they have printed, each after its name."""
        logs = {name: self._log(name) for name in self._processes}
        return "\n".join(f"{name}: {log}" for name, log in logs.items() if log)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        running = [process for process in self._processes.values() if process.poll() is None]
        for process in running:
            process.send_signal(signal.SIGINT)
        for process in running:
            try:
                process.wait(self._patience_s)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _log(self, name: str) -> str:
        return (self._folder / f"{name}.log").read_text(encoding="utf-8", errors="replace").strip()


def _environment() -> dict[str, str]:
    """The environment, with the folder this package is imported from on the path."""
    root = str(Path(__file__).resolve().parents[2])
    paths = [root, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths))}
