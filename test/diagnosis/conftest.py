"""Recordings that the tests of the diagnosis share."""

import pytest
from support.recorded_robots import ARMS, recorded


@pytest.fixture(scope="session")
def panda():
    return recorded("panda", 12.0)


@pytest.fixture(scope="session")
def legs():
    """TALOS whose arms and head are locked: where they do not matter, a check takes a third of the time."""
    return recorded("talos", 8.0, locked_joints=ARMS)
