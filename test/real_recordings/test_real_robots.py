"""Legs of a Go2 and a UR10: held out better than plain least squares, with possible bodies."""

import pytest

from benchmarks.referee.recordings import ARMS, command
from benchmarks.referee.task import SkippedError

BOUNDS = {"Go2, legs in the air": 0.165, "UR10": 0.055}  # plain least squares: 21.8 and 7.6 %


@pytest.mark.parametrize("robot", BOUNDS)
def test_held_out_torques(robot: str) -> None:
    source, config, split = ARMS[robot]
    options = ["--config", config, "--split", str(split), "--no-figures"]
    try:
        found = command("identify", source, options, "identification.json")
    except SkippedError as reason:
        pytest.skip(str(reason))
    result = found["methods"][found["chosen"]]
    assert result["relative_error_validation"] <= BOUNDS[robot]
    assert not any(body["violations"] for body in result["bodies"].values())
