"""Motions fade in and out exactly, at one time and at many."""

from dataclasses import replace

import numpy as np

from inertial_estimation.models.joint_trajectory import random_sines

MOTION = replace(
    random_sines(np.array([0.3, -1.0]), np.array([0.5, 0.2]), np.random.default_rng(0), fade_s=0.8), end_s=6.0
)


def test_it_is_at_the_centre_and_still_before_and_after() -> None:
    for t in (0.0, 1.0, 6.0, 7.5):
        q, v, a = MOTION.at(t)
        np.testing.assert_allclose(q, MOTION.centre, atol=1e-14)
        np.testing.assert_array_equal(v, 0.0)
        np.testing.assert_allclose(a, 0.0, atol=1e-12)


def test_derivatives_through_both_fades() -> None:
    times, h = np.linspace(0.9, 6.1, 400), 1e-5
    _, v, a = MOTION.at(times)
    (q0, v0, _), (q1, v1, _) = MOTION.at(times - h), MOTION.at(times + h)
    np.testing.assert_allclose((q1 - q0) / (2 * h), v, atol=1e-7)
    np.testing.assert_allclose((v1 - v0) / (2 * h), a, atol=1e-3)  # the third derivative jumps at the fades
