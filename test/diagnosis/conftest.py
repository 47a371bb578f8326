"""Recordings that the tests of the diagnosis share."""

import pytest
from support.recorded_robots import recorded


@pytest.fixture(scope="session")
def panda():
    return recorded("panda", 12.0)


@pytest.fixture(scope="session")
def talos():
    return recorded("talos", 8.0)
