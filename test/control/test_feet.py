import numpy as np
import pytest
from scipy.optimize import minimize

from inertial_estimation.control.walking.feet import load_shares, mean_angle

TWO = [np.array([0.0, 0.1]), np.array([0.0, -0.1])]
FOUR = [np.array(p) for p in ((0.3, 0.2), (0.3, -0.2), (-0.3, 0.2), (-0.3, -0.2))]


@pytest.mark.parametrize("pressure", [(0.0, 0.0), (0.05, 0.04), (-0.1, -0.1)])
def test_shares_of_four_points_hold_the_pressure_with_the_least_norm(pressure) -> None:
    shares = load_shares(FOUR, [1.0] * 4, np.array(pressure))
    oracle = minimize(
        lambda s: s @ s,
        np.full(4, 0.25),
        constraints=[
            {"type": "eq", "fun": lambda s: s.sum() - 1.0},
            {"type": "eq", "fun": lambda s: s @ np.array(FOUR) - pressure},
        ],
    ).x
    np.testing.assert_allclose(shares, oracle, atol=1e-6)


@pytest.mark.parametrize(("y", "left"), [(0.1, 1.0), (0.05, 0.75), (0.0, 0.5), (-0.3, 0.0)])
def test_two_feet_share_by_the_lever_rule(y: float, left: float) -> None:
    assert load_shares(TWO, [1.0, 1.0], np.array([0.02, y])) == pytest.approx([left, 1.0 - left])


def test_a_foot_in_the_air_gets_nothing_and_one_that_leaves_no_more_than_its_capacity() -> None:
    assert load_shares(TWO, [0.0, 1.0], np.zeros(2)) == [0.0, 1.0]
    shares = load_shares(TWO, [0.1, 1.0], np.zeros(2))
    assert sum(shares) == pytest.approx(1.0)
    assert shares[0] < 0.2


def test_mean_angle_goes_the_short_way_round() -> None:
    assert abs(mean_angle([3.1, -3.1], [0.5, 0.5])) == pytest.approx(np.pi)
    assert mean_angle([0.2, 0.4], [0.75, 0.25]) == pytest.approx(0.25, abs=1e-3)
