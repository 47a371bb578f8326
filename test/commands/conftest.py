"""What tests of several commands do."""

from collections.abc import Callable
from typing import Any

import pytest

from inertial_estimation.commands.main import main


@pytest.fixture
def ran(capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """Runs a command, which must end with a code, and returns what it has printed (out, err)."""

    def run(*words: object, code: int = 0) -> Any:
        capsys.readouterr()
        assert main([str(word) for word in words]) == code
        return capsys.readouterr()

    return run


@pytest.fixture
def refused(ran: Callable[..., Any]) -> Callable[..., str]:
    """Runs a command that must fail with one line on stderr, and returns the line."""

    def run(*words: object, code: int = 1) -> str:
        (line,) = ran(*words, code=code).err.splitlines()
        return line

    return run
