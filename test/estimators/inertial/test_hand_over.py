"""Hand-over: no faster than stated, consistent on the way, and it arrives."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inertial_estimation.estimators.inertial.hand_over import HandOver
from inertial_estimation.spatial.inertial_parameters import pseudo_inertia
from inertial_estimation.spatial.log_cholesky import parameters_from_log_cholesky


def body(seed):
    return parameters_from_log_cholesky(np.random.default_rng(seed).normal(0, 0.5, 10))


@given(st.integers(0, 10**6), st.integers(0, 10**6))
@settings(max_examples=40)
def test_every_published_value_is_possible_and_the_rate_is_kept(a, b):
    hand_over = HandOver(body(a), 3.0)
    target, before = body(b), body(a)
    for _ in range(3000):
        published = hand_over.advance(target, 0.01)
        assert np.linalg.eigvalsh(pseudo_inertia(published)).min() > 0.0
        assert abs(published[0] - before[0]) <= 3.0 * 0.01 * (1 + 1e-9)
        before = published
        if np.array_equal(published, target):
            break
    assert np.allclose(published, target)


def test_five_kilograms_take_the_stated_time():
    nominal = body(1)
    target = nominal.copy()
    target[0] += 5.44
    hand_over, steps = HandOver(nominal, 3.0), 0
    while not np.allclose(hand_over.published, target, atol=1e-12):
        hand_over.advance(target, 0.003)
        steps += 1
    assert steps * 0.003 == pytest.approx(5.44 / 3.0, abs=0.01)


def test_reset_returns_to_nominal():
    hand_over = HandOver(body(1), 3.0)
    hand_over.advance(body(2), 0.5)
    hand_over.reset()
    assert np.array_equal(hand_over.published, body(1))
