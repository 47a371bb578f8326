"""The error-state filter's equations against finite differences, and what its covariance promises."""

import math

import numpy as np
import pytest
from scipy.stats import chi2

from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.spatial.rotations import exp_so3, skew
from inertial_estimation.tilt.error_state import (
    ERRORS,
    MotionRows,
    ProcessNoise,
    TiltState,
    Turns,
    measure,
    propagate,
    propagate_covariance,
    tilt_covariance,
)
from inertial_estimation.tilt.initial_alignment import (
    ACCELERATION_SIGMA,
    CONTACT_SIGMA,
    UNKNOWN_SPEED,
    InitialAlignment,
)

UP = np.array([0.0, 0.0, 1.0])
QUIET = ProcessNoise(0.0, 0.0, 0.0, 0.0, 0.0)


def no_turns():
    return Turns(np.zeros(3), np.zeros((3, 3)))


def propagated(state, h, reading, origin=None, axes=None):
    """The state after a step; origin and axes are changed in place."""
    after = copied(state)
    origin = np.zeros(3) if origin is None else origin
    propagate(h, reading, *after[:4], origin, np.eye(3) if axes is None else axes)
    return after


def measured(state, innovations, variance, tail, *, arms=None, turns=None):
    """The state after measurements, and what they show of their noise."""
    after, innovations = copied(state), np.atleast_2d(innovations)
    arms = np.zeros_like(innovations) if arms is None else np.atleast_2d(arms)
    turns = no_turns() if turns is None else turns
    rows = MotionRows(innovations, arms, np.ones(len(innovations)))
    return after, measure(rows, 1, (variance, variance), tail, after, turns)


def copied(state):
    return TiltState(*(part.copy() for part in state))


def random_state(rng):
    z = rng.standard_normal(3)
    A = rng.standard_normal((ERRORS, ERRORS))
    return TiltState(
        rng.standard_normal(3),
        z / np.linalg.norm(z),
        0.1 * rng.standard_normal(3),
        0.3 * rng.standard_normal(3),
        A @ A.T,
    )


def moved(state, d):
    """The true state that differs from the estimated one by an error."""
    z = exp_so3(-d[3:6]) @ state.vertical
    return state._replace(
        velocity=state.velocity + d[:3], vertical=z, bias=state.bias + d[6:9], offset=state.offset + d[9:12]
    )


def error_between(true, state):
    """The error of a state, to first order of the rotation across the vertical."""
    turn = np.cross(true.vertical, state.vertical)
    return np.concatenate(
        [true.velocity - state.velocity, turn, true.bias - state.bias, true.offset - state.offset]
    )


def test_the_covariance_is_propagated_by_the_derivative_of_the_motion():
    rng, h, step = np.random.default_rng(1), 1e-4, 1e-6
    state = random_state(rng)
    reading = np.array([0.3, -0.4, 9.9, 0.0, 0.0, 0.0]) + rng.standard_normal(6)
    end = propagated(state, h, reading)
    propagate_covariance(end, h, reading[3:], QUIET, no_turns())
    F = np.empty((ERRORS, ERRORS))
    for k in range(ERRORS):
        d = step * np.eye(ERRORS)[k]
        ahead, behind = (error_between(propagated(moved(state, s * d), h, reading), end) for s in (1, -1))
        F[:, k] = (ahead - behind) / (2.0 * step)
    # Of a rotation error only what is across the vertical can be seen in the vertical.
    seen = np.eye(ERRORS)
    seen[3:6, 3:6] -= np.outer(end.vertical, end.vertical)
    expected = F @ state.covariance @ F.T
    assert np.allclose(seen @ end.covariance @ seen.T, seen @ expected @ seen.T, atol=1e-5)


def test_a_frame_fixed_in_the_world_is_carried_exactly_in_a_constant_turn():
    """A body that circles: in the world it moves with constant speed round a point, which it carries."""
    rate = np.array([0.0, 0.0, 0.7])
    velocity = np.cross(rate, np.array([0.5, 0.0, 0.0]))  # of the IMU, half a metre from the axis
    force = np.cross(rate, velocity) + np.array([0.0, 0.0, STANDARD_GRAVITY])
    state = TiltState(velocity, np.array([0.0, 0.0, 1.0]), np.zeros(3), np.zeros(3), 0.01 * np.eye(ERRORS))
    origin, axes = np.array([-0.5, 0.0, 0.0]), np.eye(3)
    for _ in range(1000):
        state = propagated(state, 0.002, np.concatenate((force, rate)), origin, axes)
    assert np.allclose(origin, [-0.5, 0.0, 0.0], atol=1e-5)
    assert np.allclose(axes.T, exp_so3(-2.0 * rate), atol=1e-9)


def measurement_matrix(arm):
    """H of dv + p x db of a point, and of db of a sole."""
    H = np.zeros((6, ERRORS))
    H[:3, :3], H[:3, 6:9], H[3:, 6:9] = np.eye(3), skew(arm), np.eye(3)
    return H


def test_an_outlier_of_a_contact_moves_the_state_less_than_a_small_residual():
    state = TiltState(np.zeros(3), np.array([0.0, 0.0, 1.0]), np.zeros(3), np.zeros(3), 1e-4 * np.eye(ERRORS))
    moves = [
        np.linalg.norm(measured(state, np.array([size, 0.0, 0.0]), 1e-4, 3.0)[0].velocity)
        for size in (0.03, 100.0)
    ]
    assert moves[1] < moves[0]


def test_without_tails_a_point_and_a_sole_are_those_of_a_kalman_filter():
    rng = np.random.default_rng(4)
    state = random_state(rng)
    arm, y, r = rng.standard_normal(3), rng.standard_normal(6), 0.3
    H, turns, arms = measurement_matrix(arm), no_turns(), np.array([arm, np.zeros(3)])
    end, _ = measured(state, y.reshape(2, 3), r, math.inf, arms=arms, turns=turns)
    information = np.linalg.inv(state.covariance) + H.T @ H / r
    assert np.allclose(np.linalg.inv(end.covariance), information, rtol=1e-6, atol=1e-6)
    d = end.covariance @ H.T @ y / r
    assert np.allclose(end.velocity - state.velocity, d[:3], atol=1e-9)
    assert np.allclose(end.bias - state.bias, d[6:9], atol=1e-9)
    assert np.allclose(end.offset - state.offset, d[9:], atol=1e-9)
    assert np.allclose(turns.sum, d[3:6], atol=1e-9)
    assert np.allclose(turns.covariance, (state.covariance - end.covariance)[3:6, 3:6], atol=1e-9)


def test_a_factor_of_the_noise_leaves_what_the_offset_of_the_accelerometer_explains():
    """Of a body at rest the offset alone makes the vertical uncertain; without an offset all is noise."""
    rng = np.random.default_rng(5)
    A, slope = rng.standard_normal((3, 3)), rng.standard_normal((3, 3))
    P = np.zeros((ERRORS, ERRORS))
    P[9:, 9:], P[3:6, 9:] = A @ A.T, slope @ A @ A.T
    P[9:, 3:6], P[3:6, 3:6] = P[3:6, 9:].T, slope @ A @ A.T @ slope.T
    assert np.allclose(tilt_covariance(P, 0.25), P[3:6, 3:6])
    P[3:6, 3:6] += np.eye(3)
    assert np.allclose(tilt_covariance(P, 4.0), P[3:6, 3:6] + 3.0 * np.eye(3))
    assert np.allclose(tilt_covariance(np.eye(ERRORS), 4.0), 4.0 * np.eye(3))


def test_an_offset_that_returns_keeps_a_bounded_variance_and_is_forgotten():
    state, drift, k, T = random_state(np.random.default_rng(8)), 0.01, 1.0 / 200.0, 0.1
    noise = ProcessNoise(0.0, 0.0, 0.0, drift**2, k)
    before = state.offset.copy()
    for _ in range(round(1.0 / (k * T))):
        propagate_covariance(state, T, np.zeros(3), noise, no_turns())
    assert np.allclose(state.offset, before / math.e)
    for _ in range(round(9.0 / (k * T))):
        propagate_covariance(state, T, np.zeros(3), noise, no_turns())
    assert np.allclose(state.covariance[9:, 9:], drift**2 / (2.0 * k) * np.eye(3), rtol=1e-3, atol=1e-5)


def test_compiled_kernels_give_the_numbers_of_their_source():
    if not hasattr(measure, "py_func"):
        pytest.skip("numba is not installed, or switched off")
    reading, ends = np.array([0.3, -0.4, 9.9, 0.2, -0.1, 0.5]), []
    for step, correct in ((propagate, measure), (propagate.py_func, measure.py_func)):
        state, turns = random_state(np.random.default_rng(6)), no_turns()
        step(0.005, reading, *state[:4], np.ones(3), np.eye(3))
        propagate_covariance(state, 0.005, reading[3:], ProcessNoise(1e-3, 1e-4, 1e-5, 1e-6, 0.1), turns)
        arms = np.array([[0.1, 0.2, -0.8], [0.0, 0.0, 0.0]])
        correct(MotionRows(np.ones((2, 3)), arms, np.ones(2)), 1, (0.01, 0.02), 3.0, state, turns)
        ends.append(np.concatenate([part.ravel() for part in (*state, *turns)]))
    np.testing.assert_allclose(*ends, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize("contacts", [True, False])
def test_the_alignment_of_the_start_is_as_exact_as_it_says(contacts):
    """Motion and contact velocities are drawn as it believes them; chi-square over many starts."""
    rng, trials, h, steps = np.random.default_rng(7), 300, 0.01, 30
    squares = np.zeros(2)
    for _ in range(trials):
        v_W, a_W, rate = (
            UNKNOWN_SPEED * rng.normal(size=3),
            ACCELERATION_SIGMA * rng.normal(size=3),
            rng.normal(size=3),
        )
        start, alignment = exp_so3(rng.normal(size=3)), InitialAlignment()
        for k in range(steps):
            R = start @ exp_so3(h * (k + 0.5) * rate)
            alignment.propagate(h, rate, R.T @ (a_W + STANDARD_GRAVITY * UP))
            now = start @ exp_so3(h * (k + 1) * rate)
            if contacts and k % 2:
                middle = v_W + h * k * a_W  # of the last two steps
                alignment.add_velocity(2.0 * h, now.T @ middle + CONTACT_SIGMA * rng.normal(size=3))
        velocity, vertical, covariance = alignment.solve()
        error_v = now.T @ (v_W + steps * h * a_W) - velocity
        error_z = np.cross(vertical, now.T @ UP)
        squares += [error_v @ error_v / covariance[0, 0], error_z @ error_z / covariance[1, 1]]
    for square, freedom in zip(squares, (3 * trials, 2 * trials), strict=True):
        assert chi2.ppf(0.001, freedom) < square < chi2.ppf(0.999, freedom)
