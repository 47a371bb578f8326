"""Runs one long call beside the steps of a node: in a process of its own, at the lowest priority."""

import os
import pickle
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Callable
from typing import Generic, TypeVar

ResultT = TypeVar("ResultT")
CODE = (
    "import os, pickle, sys; os.nice(19); "
    "result = pickle.load(sys.stdin.buffer)(); pickle.dump(result, sys.stdout.buffer)"
)


class SeparateProcess(Generic[ResultT]):
    """A call that another process executes; called itself, it returns the result, or None until there is one.

    The process ends with this object. Where it fails, the call is executed here.
    """

    def __init__(self, call: Callable[[], ResultT]) -> None:
        """Start the process.

        Args:
            call: What to execute; it and its result, which must be short, are pickled.
        """
        self._call = call
        environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}  # loading compiled functions takes longer
        with tempfile.TemporaryFile() as given:
            pickle.dump(call, given, protocol=pickle.HIGHEST_PROTOCOL)
            given.seek(0)
            self._process = subprocess.Popen(
                [sys.executable, "-c", CODE],
                stdin=given,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=environment,
            )
        weakref.finalize(self, _end, self._process)

    def __call__(self) -> ResultT | None:
        """Return the result; None while the process is at work."""
        code = self._process.poll()
        if code is None:
            return None
        if code:  # the interpreter does not find the package, or there is no memory
            return self._call()
        assert self._process.stdout is not None
        result: ResultT = pickle.load(self._process.stdout)
        return result


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.communicate()
