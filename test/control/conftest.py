"""Functions of the controller are compiled before its tests."""

import pytest

from inertial_estimation.compilation import warm_up


@pytest.fixture(scope="session", autouse=True)
def compiled_functions() -> None:
    """Compile what has been imported, as a pipeline does when it is built."""
    warm_up()
