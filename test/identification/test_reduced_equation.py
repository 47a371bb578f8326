"""Truncation of the triangular factor."""

import math

import numpy as np

from inertial_estimation.identification.reduced_equation import truncated_factor


def test_truncation_leaves_what_is_above_the_limit() -> None:
    U, V = (np.linalg.qr(np.random.default_rng(k).standard_normal((4, 4)))[0] for k in (0, 1))
    R = (U * [100.0, 20.0, 0.9, 0.01]) @ V.T
    cut = truncated_factor(R, 1e2)
    np.testing.assert_allclose(np.linalg.svd(cut, compute_uv=False), [100.0, 20.0, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(cut @ V[:, :2], R @ V[:, :2], atol=1e-12)
    np.testing.assert_array_equal(truncated_factor(R, math.inf), R)
