"""The point nearest to noisy lines: its stated deviation has the degrees of freedom the lines leave."""

import numpy as np
import pytest

from inertial_estimation.payload.com_methods import PoseLine, nearest_point

COM = np.array([0.1, -0.05, 0.2])
SIGMA = 0.01
FIVE = ((0.0, 0.0), (0.3, 0.0), (-0.3, 0.0), (0.0, 0.3), (0.0, -0.3))


def solved(rng, tilts, before=COM):
    """Lines through the centre of mass, each moved by white noise of one size across itself."""
    lines = []
    for tilt in np.tan(tilts):
        n = np.append(tilt, 1.0) / np.linalg.norm(np.append(tilt, 1.0))
        point = COM + SIGMA * rng.normal(size=3)
        lines.append(PoseLine(n, point - (point @ n) * n))
    return nearest_point(lines, before, 0.05)


@pytest.mark.parametrize("tilts", [FIVE, FIVE[:2], 3 * FIVE[1:]], ids=["five", "two", "twelve"])
def test_the_residual_is_the_noise_of_one_line_whatever_their_number(tilts):
    """Mean of squares over many trials within 4 standard deviations of its chi-square."""
    rng, trials = np.random.default_rng(0), 600
    squares = [solved(rng, tilts).residual ** 2 for _ in range(trials)]
    bound = 4.0 * np.sqrt(2.0 / (trials * (2 * len(tilts) - 3)))
    assert np.mean(squares) / SIGMA**2 == pytest.approx(1.0, abs=bound)


def test_stated_deviations_are_those_of_the_errors():
    """Normalised squared errors of each component; their common denominator has seven degrees of freedom."""
    rng = np.random.default_rng(1)
    solutions = [solved(rng, FIVE) for _ in range(1500)]
    errors, variances = (np.array([getattr(s, n) for s in solutions]) for n in ("com_B", "sigma_B"))
    ratio = np.mean((errors - COM) ** 2, axis=0) / np.mean(variances**2, axis=0)
    np.testing.assert_allclose(ratio, 1.0, atol=0.16)  # 4 standard deviations of 1500 squares
    assert variances[:, 2].mean() > 2.0 * variances[:, 0].mean(), "z is seen through the sine of the tilt"


def test_parallel_lines_take_two_unknowns_and_leave_the_third_as_it_was():
    rng, before = np.random.default_rng(2), np.array([0.0, 0.0, 0.7])
    found = [solved(rng, [(0.0, 0.0)] * 4, before) for _ in range(600)]
    assert {s.com_B[2] for s in found} == {0.7}
    assert all(np.isinf(s.sigma_B[2]) and np.isfinite(s.sigma_B[:2]).all() for s in found)
    mean_square = np.mean([s.residual**2 for s in found]) / SIGMA**2
    assert mean_square == pytest.approx(1.0, abs=4.0 * np.sqrt(2.0 / (600 * 6)))
    assert max(s.spread for s in found) < 1e-9


def test_one_line_leaves_nothing_to_tell_its_noise_by():
    solution = solved(np.random.default_rng(3), [(0.1, 0.2)])
    assert np.isnan(solution.residual)
    assert np.isinf(solution.sigma_B).all()
