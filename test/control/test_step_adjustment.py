import numpy as np
import pytest

from inertial_estimation.control.walking.biped_phases import StepAdjustment, uncorrected_error
from inertial_estimation.control.walking.walking_config import WalkingConfig

OMEGA, REACH = 3.3, np.array([0.085, 0.045])
LANDING = np.array([0.15, 0.17, 0.0])  # of the left foot
H = 0.003


@pytest.mark.parametrize("error", [(0.0, 0.08), (0.12, -0.06), (0.01, -0.01)])
def test_error_left_is_that_of_the_best_centre_of_pressure(error: tuple[float, float]) -> None:
    remaining, steps = 0.3, 30000
    oracle = np.array(error)
    for _ in range(steps):  # the centre of pressure follows the error to the edge of the sole
        pushed = np.clip(oracle * (1.0 + 50.0), -REACH, REACH)
        oracle = oracle + remaining / steps * OMEGA * (oracle - pushed)
    left = uncorrected_error(np.array(error), REACH, OMEGA, remaining)
    np.testing.assert_allclose(left, np.where(np.abs(oracle) < 2e-3, 0.0, oracle), atol=3e-3)


def shifted(left_over: tuple[float, float], config: WalkingConfig, remaining: float = 0.4) -> np.ndarray:
    adjustment = StepAdjustment()
    for _ in range(300):
        adjustment.update(config, np.array(left_over), LANDING, remaining, H)
    return adjustment.shift


def test_landing_follows_the_error_that_is_left() -> None:
    np.testing.assert_allclose(shifted((0.05, 0.08), WalkingConfig()), [0.05, 0.08], atol=1e-9)


def test_landing_moves_no_farther_than_allowed_and_feet_keep_their_distance() -> None:
    config = WalkingConfig(step_adjustment=0.1, least_width=0.15)
    np.testing.assert_allclose(shifted((0.5, 0.5), config), [0.1, 0.1], atol=1e-9)
    np.testing.assert_allclose(shifted((-0.5, -0.5), config), [-0.1, -0.02], atol=1e-9)


def test_feet_that_are_nearer_already_stay_so() -> None:
    np.testing.assert_allclose(shifted((0.0, -0.5), WalkingConfig(least_width=0.3)), 0.0, atol=1e-9)


def test_nothing_moves_shortly_before_the_touchdown() -> None:
    np.testing.assert_allclose(shifted((0.05, 0.05), WalkingConfig(), remaining=0.01), 0.0)


def test_landing_moves_smoothly() -> None:
    adjustment, places = StepAdjustment(), []
    for _ in range(300):
        adjustment.update(WalkingConfig(), np.array([0.1, 0.1]), LANDING, 0.4, H)
        places.append(adjustment.shift.copy())
    assert np.abs(np.diff(places, axis=0)).max() < 2.0 * H
