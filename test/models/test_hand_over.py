"""Hand-over: no faster than stated, consistent on the way, and it arrives."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inertial_estimation.models.hand_over import HandOver
from inertial_estimation.spatial.inertial_parameters import pseudo_inertia
from inertial_estimation.spatial.log_cholesky import parameters_from_log_cholesky


class OneBody(HandOver):
    """Hand-over of a single body, parameters of shape (10,), at a rate of 3 kg/s."""

    def __init__(self, nominal):
        super().__init__(nominal[None])

    def advance(self, target, dt):
        return super().advance(target[None], 3.0 * dt)[0]


def body(seed):
    return parameters_from_log_cholesky(np.random.default_rng(seed).normal(0, 0.5, 10))


@given(st.integers(0, 10**6), st.integers(0, 10**6))
@settings(max_examples=40)
def test_every_published_value_is_possible_and_the_rate_is_kept(a, b):
    hand_over = OneBody(body(a))
    target, before = body(b), body(a)
    most = np.abs(pseudo_inertia(target - before)).max() / (3.0 * 0.01)  # mass and moments at the full rate
    for _ in range(int(most) + 2):
        published = hand_over.advance(target, 0.01)
        assert np.linalg.eigvalsh(pseudo_inertia(published)).min() > 0.0
        assert abs(published[0] - before[0]) <= 3.0 * 0.01 * (1 + 1e-9)
        before = published
        if np.array_equal(published, target):
            break
    assert np.allclose(published, target)


def moment_steps(nominal, target, dt=0.001):
    """Time to arrive [s], and the share of the way made in the first step."""
    hand_over = OneBody(nominal)
    first = np.linalg.norm(hand_over.advance(target, dt) - nominal) / np.linalg.norm(target - nominal)
    steps = 1
    while not np.allclose(hand_over.published, target, rtol=0.0, atol=1e-12):
        hand_over.advance(target, dt)
        steps += 1
    return steps * dt, first


MASS = 2.0
BALL = np.array([MASS, 0, 0, 0, *(MASS * np.array([1.0, 0.0, 1.0, 0.0, 0.0, 1.0]))])  # about its centre


def test_a_centre_of_mass_that_moves_alone_is_handed_over_as_the_mass_at_the_gyration_radius():
    """A first moment of 1.2 kg times the gyration radius takes as long as 1.2 kg."""
    target = BALL.copy()
    target[2] += 1.2
    arrival, _first = moment_steps(BALL, target)
    assert arrival == pytest.approx(1.2 / 3.0, abs=0.002)


@pytest.mark.parametrize("moment", [2.5, 40.0])
def test_moments_count_at_most_as_the_mass_of_the_body(moment):
    target = BALL.copy()
    target[1] += moment
    _arrival, first = moment_steps(BALL, target)
    assert first == pytest.approx(3.0 * 0.001 / MASS)


def test_a_change_of_mass_is_limited_even_where_the_body_is_lighter():
    """The cap at the body's own mass holds for moments alone: 10 kg onto 2 kg take 10 kg of time."""
    target = BALL.copy()
    target[0] += 10.0
    arrival, first = moment_steps(BALL, target)
    assert arrival == pytest.approx(10.0 / 3.0, abs=0.002)
    assert first == pytest.approx(3.0 * 0.001 / 10.0)


def test_each_of_several_bodies_moves_as_it_would_alone():
    nominal, target = (np.array([body(seed + k) for k in range(3)]) for seed in (1, 7))
    together = HandOver(nominal).advance(target, 0.03)
    alone = [OneBody(start).advance(end, 0.01) for start, end in zip(nominal, target, strict=True)]
    assert np.allclose(together, alone, rtol=1e-14, atol=0.0)
