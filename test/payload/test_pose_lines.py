"""The point nearest to noisy lines: its stated deviation has the degrees of freedom the lines leave."""

import numpy as np
import pytest

from inertial_estimation.payload.com_methods import PoseLine, nearest_point

COM = np.array([0.1, -0.05, 0.2])
SIGMA = 0.01
FIVE = ((0.0, 0.0), (0.3, 0.0), (-0.3, 0.0), (0.0, 0.3), (0.0, -0.3))


def direction(tilt):
    n = np.array([np.tan(tilt[0]), np.tan(tilt[1]), 1.0])
    return n / np.linalg.norm(n)


def lines(rng, tilts, sigma=SIGMA):
    """Lines through the centre of mass, each moved by white noise of one size across itself."""
    found = []
    for n in map(direction, tilts):
        point = COM + sigma * rng.normal(size=3)
        found.append(PoseLine(n, point - (point @ n) * n))
    return found


@pytest.mark.parametrize("tilts", [FIVE, FIVE[:2], 3 * FIVE[1:]], ids=["five", "two", "twelve"])
def test_the_residual_is_the_noise_of_one_line_whatever_their_number(tilts):
    """Mean of squares over many trials within 4 standard deviations of its chi-square."""
    rng, trials = np.random.default_rng(0), 600
    squares = [nearest_point(lines(rng, tilts), np.zeros(3), 0.01).residual ** 2 for _ in range(trials)]
    freedom = 2 * len(tilts) - 3
    bound = 4.0 * np.sqrt(2.0 / (trials * freedom))
    assert np.mean(squares) / SIGMA**2 == pytest.approx(1.0, abs=bound)


def test_stated_deviations_are_those_of_the_errors():
    """Normalised squared errors of each component; their common denominator has seven degrees of freedom."""
    rng, trials = np.random.default_rng(1), 1500
    solutions = [nearest_point(lines(rng, FIVE), np.zeros(3), 0.01) for _ in range(trials)]
    errors = np.array([s.com_B - COM for s in solutions])
    variances = np.array([s.sigma_B**2 for s in solutions])
    ratio = np.mean(errors**2, axis=0) / np.mean(variances, axis=0)
    np.testing.assert_allclose(ratio, 1.0, atol=0.16)  # 4 standard deviations of 1500 squares
    assert np.mean(variances[:, 2]) > 5.0 * np.mean(variances[:, 0])


def test_parallel_lines_take_two_unknowns_and_leave_the_third_as_it_was():
    rng, before = np.random.default_rng(2), np.array([0.0, 0.0, 0.7])
    upright = [(0.0, 0.0)] * 4
    found = [nearest_point(lines(rng, upright), before, 0.05) for _ in range(600)]
    assert {s.com_B[2] for s in found} == {0.7}
    assert all(np.isinf(s.sigma_B[2]) and np.isfinite(s.sigma_B[:2]).all() for s in found)
    mean_square = np.mean([s.residual**2 for s in found]) / SIGMA**2
    assert mean_square == pytest.approx(1.0, abs=4.0 * np.sqrt(2.0 / (600 * 6)))
    assert max(s.spread for s in found) < 1e-9


def test_one_line_leaves_nothing_to_tell_its_noise_by():
    (solution,) = (nearest_point(lines(np.random.default_rng(3), [(0.1, 0.2)]), COM, 0.05),)
    assert np.isnan(solution.residual)
    assert np.isinf(solution.sigma_B).all()
