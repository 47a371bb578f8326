"""What is proved of the two-stage observer (Benallegue et al., IV)."""

import numpy as np
import pytest

from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.spatial.rotations import exp_so3
from inertial_estimation.tilt.two_stage import TwoStageConfig, TwoStageState, two_stage_step

GAINS = TwoStageConfig(alpha1=20.0, alpha2=100.0, gamma=3.0)
UP = np.array([0.0, 0.0, 1.0])


def unit(v):
    return v / np.linalg.norm(v)


def swaying(t):
    """Orientation, angular rate and velocity of a body that sways and turns, and its specific force."""
    return exp_so3(np.array([0.3 * np.sin(2.0 * t), 0.2 * np.cos(3.0 * t), 0.5 * t]))


def simulate(state, gains, h=0.002, duration=20.0):
    """Run the observer on exact readings of a swaying body; return its errors over time."""
    position = lambda t: np.array([0.05 * np.sin(3.0 * t), 0.1 * np.sin(2.0 * t), 0.02 * np.cos(4.0 * t)])  # noqa: E731
    errors, e = [], 1e-5
    for k in range(round(duration / h)):
        t0, t1 = k * h, (k + 1) * h
        middle, R1 = 0.5 * (t0 + t1), swaying(t1)
        Rm = swaying(middle)
        turn = swaying(t0).T @ R1
        rate = np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]]) / (
            2.0 * h
        )
        v0, v1 = ((position(t + e) - position(t - e)) / (2.0 * e) for t in (t0, t1))
        force = Rm.T @ ((v1 - v0) / h + STANDARD_GRAVITY * UP)
        state = two_stage_step(state, gains, h, rate, force, R1.T @ v1)
        up = R1.T @ UP
        errors.append(
            [
                np.linalg.norm(x)
                for x in (state.velocity - R1.T @ v1, state.intermediate - up, state.vertical - up)
            ]
        )
    return np.array(errors), state


@pytest.mark.parametrize("seed", range(6))
def test_without_noise_all_errors_vanish_from_any_start(seed):
    rng = np.random.default_rng(seed)
    start = TwoStageState(
        3.0 * rng.standard_normal(3), 2.0 * rng.standard_normal(3), unit(rng.standard_normal(3))
    )
    errors, _ = simulate(start, GAINS)
    assert errors[-1].max() < 2e-3


def test_the_first_stage_has_the_roots_of_its_polynomial():
    """A body at rest: the velocity error decays as the slower root of s^2 + alpha1 s + alpha2."""
    gains, h = TwoStageConfig(alpha1=20.0, alpha2=50.0, gamma=3.0), 0.01
    roots = np.roots([1.0, gains.alpha1, gains.alpha2])
    state = TwoStageState(np.array([1.0, 0.0, 0.0]), UP, UP)
    sizes = []
    for _ in range(300):
        state = two_stage_step(state, gains, h, np.zeros(3), STANDARD_GRAVITY * UP, np.zeros(3))
        sizes.append(np.linalg.norm(state.intermediate - UP))
    rate = np.log(sizes[199] / sizes[99]) / (100 * h)
    assert rate == pytest.approx(roots.max(), rel=1e-3)


def test_the_lyapunov_function_of_the_second_stage_never_increases():
    state = TwoStageState(np.zeros(3), UP, unit(np.array([1.0, 0.0, -0.99])))
    values = []
    for _ in range(500):
        state = two_stage_step(state, GAINS, 0.01, np.zeros(3), STANDARD_GRAVITY * UP, np.zeros(3))
        values.append(1.0 - state.vertical @ UP)
    assert np.all(np.diff(values) <= 1e-12)


def test_without_contact_the_vertical_only_turns_with_the_gyroscope():
    rate = np.array([0.1, -0.3, 0.2])
    state = TwoStageState(np.zeros(3), UP, UP)
    for _ in range(100):
        state = two_stage_step(state, GAINS, 0.01, rate, STANDARD_GRAVITY * state.vertical, None)
    assert np.allclose(state.vertical, exp_so3(-rate) @ UP, atol=1e-9)


def test_a_constant_bias_tilts_it_by_the_stated_sensitivity():
    bias, h = np.array([0.002, 0.0, 0.0]), 0.005
    state = TwoStageState(np.zeros(3), UP, UP)
    for _ in range(4000):
        state = two_stage_step(state, GAINS, h, bias, STANDARD_GRAVITY * UP, np.zeros(3))
    expected = 0.002 * (GAINS.alpha1 / GAINS.alpha2 + 1.0 / GAINS.gamma)
    assert np.linalg.norm(state.vertical - UP) == pytest.approx(expected, rel=0.02)
