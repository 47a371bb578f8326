"""Legs of a Go2 and a UR10: held out better than plain least squares, with possible bodies."""

import pytest

from benchmarks.referee.recordings import fitted
from benchmarks.referee.task import SkippedError

BOUNDS = {"Go2, legs in the air": 0.165, "UR10": 0.055}  # plain least squares: 21.8 and 7.6 %


@pytest.mark.parametrize("robot", BOUNDS)
def test_held_out_torques(robot: str) -> None:
    try:
        found = fitted(robot)
    except SkippedError as reason:
        pytest.skip(str(reason))
    assert found["relative_error_validation"] <= BOUNDS[robot]
    assert not any(body["violations"] for body in found["bodies"].values())
