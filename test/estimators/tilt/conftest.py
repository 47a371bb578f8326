"""Tests of compiled functions call them directly, where no estimator has compiled them before."""

import pytest

from inertial_estimation.compilation import warm_up


@pytest.fixture(scope="module", autouse=True)
def _compiled():
    warm_up()
