"""Robots that the tests of the models look at."""

import pytest
from support import example_robots


@pytest.fixture(scope="module")
def talos():
    return example_robots.talos()


@pytest.fixture(scope="module")
def panda():
    return example_robots.panda()


@pytest.fixture(scope="module")
def hyq():
    return example_robots.hyq()
