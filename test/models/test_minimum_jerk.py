"""The minimum-jerk blend: at rest at both ends, and derivatives that are derivatives."""

import numpy as np
import pytest

from inertial_estimation.models.joint_trajectory import minimum_jerk


def test_it_goes_from_zero_to_one_at_rest_at_both_ends() -> None:
    assert minimum_jerk(0.0) == (0.0, 0.0, 0.0)
    assert minimum_jerk(1.0) == pytest.approx((1.0, 0.0, 0.0))
    assert minimum_jerk(0.5)[0] == pytest.approx(0.5)


def test_derivatives_agree_with_central_differences() -> None:
    u, step = np.linspace(0.05, 0.95, 19), 1e-5
    _s, slope, curvature = minimum_jerk(u)
    np.testing.assert_allclose(
        slope, (minimum_jerk(u + step)[0] - minimum_jerk(u - step)[0]) / (2 * step), atol=1e-8
    )
    after, before = minimum_jerk(u + step)[1], minimum_jerk(u - step)[1]
    np.testing.assert_allclose(curvature, (after - before) / (2 * step), atol=1e-7)
