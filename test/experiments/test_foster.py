"""The Foster experiments, shortened: they run, and their measures measure what they say."""

import math

import numpy as np
import pytest

pytest.importorskip("mujoco")
pytest.importorskip("proxsuite")
pytest.importorskip("example_robot_data")

from inertial_estimation.experiments.foster_torso import (
    followed_share,
    smallest_eigenvalue,
    touchdown_deviation,
)
from inertial_estimation.experiments.registry import find_experiment
from inertial_estimation.signals import LinkInertia

pytestmark = pytest.mark.experiment


@pytest.mark.parametrize(
    "name", ["foster-elbow", "foster-pelvis", "foster-curl", "foster-gating", "foster-consistency"]
)
def test_quick_run_gives_a_table_and_panels(name: str) -> None:
    result = find_experiment(name).run([0], quick=True)
    assert result.panels
    assert all(math.isfinite(row.ours) for row in result.rows if "jump" not in row.quantity)


def test_eigenvalue_tells_a_possible_body() -> None:
    box = LinkInertia("l", 2.0, np.array([5.0, 0.0, 0.0]), np.diag([0.5, 0.6, 0.7]))
    needle = LinkInertia("l", 2.0, np.zeros(3), np.diag([1.0, 0.1, 0.2]))  # breaks the triangle inequality
    assert smallest_eigenvalue(box) == pytest.approx((0.5 + 0.6 - 0.7) / 2.0)
    assert smallest_eigenvalue(needle) < 0.0
    assert smallest_eigenvalue(LinkInertia("l", -1.0, np.zeros(3), np.eye(3))) < 0.0


def test_deviation_is_looked_for_around_touchdowns_only() -> None:
    times = np.linspace(0.0, 10.0, 1001)
    mass = np.where(np.abs(times - 7.0) < 0.02, 25.0, 17.0)
    truth = np.full(1001, 17.0)
    assert touchdown_deviation(times, mass, truth, np.array([7.0])) == pytest.approx(8.0)
    assert touchdown_deviation(times, mass, truth, np.array([3.0])) == 0.0


def test_share_followed_counts_what_is_left_after_half_a_second() -> None:
    times = np.linspace(0.0, 4.0, 4001)
    truth = np.where(times < 2.0, 15.0, 20.0)
    lagging = np.where(times < 2.3, 15.0, 19.0)
    np.testing.assert_allclose(followed_share(times, lagging, truth), [0.8])
    np.testing.assert_allclose(followed_share(times, np.where(times < 2.6, 15.0, 20.0), truth), [0.0])
    spike = lagging + np.where(np.abs(times - 2.5) < 5e-4, -1.0, 0.0)
    np.testing.assert_allclose(followed_share(times, spike, truth), [0.8], atol=0.003)
    np.testing.assert_allclose(followed_share(times, spike, truth, mean_over_s=0.0), [0.6])
