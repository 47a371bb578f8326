"""What tests of several commands do."""

from collections.abc import Callable

import pytest

from inertial_estimation.commands.main import main


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Runs a command that must fail with one line on stderr, and returns the line."""

    def run(*arguments: object, code: int = 1) -> str:
        capsys.readouterr()
        assert main([str(word) for word in arguments]) == code
        (line,) = capsys.readouterr().err.splitlines()
        return line

    return run
