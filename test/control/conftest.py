"""The controller needs the extra `sim`; without it its tests are left out."""

import importlib.util

import pytest

from inertial_estimation.compilation import warm_up

NEEDED = ("proxsuite", "mujoco", "example_robot_data")
collect_ignore_glob = [] if all(importlib.util.find_spec(name) for name in NEEDED) else ["test_*.py"]


@pytest.fixture(scope="session", autouse=True)
def compiled_functions() -> None:
    """Compile what has been imported, as a pipeline does when it is built."""
    warm_up()
