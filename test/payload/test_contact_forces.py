"""Recursion on contact forces: fixed point, settling time, tilted trunks, noise, convergence, refusals."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.standing_robot import Standing

from inertial_estimation.payload.com_methods import ContactForceRecursion, SampleScatter

H = 0.004
SCENE = Standing()
STATICS = SCENE.statics()
LEVEL = SCENE.measure(STATICS)


def run(method, measured, duration, h=H):
    """Run until the method ends: on one measurement, or on what a function gives at a time."""
    for k in range(round(duration / h)):
        step = method.update(measured(k * h) if callable(measured) else measured, h)
        if step.done or step.refusal:
            break
    return step


def started(com=(0.0, 0.0, 0.0)) -> ContactForceRecursion:
    return ContactForceRecursion(np.array(com), SCENE.mass)


@given(steps=st.lists(st.floats(1e-3, 0.2), min_size=3, max_size=12))
@settings(max_examples=30, deadline=None)
def test_what_is_left_of_an_error_depends_on_time_alone(steps) -> None:
    measurement = LEVEL
    method, once = started(), started()
    for h in steps:
        irregular = method.update(measurement, h)
    for _ in range(100):
        regular = once.update(measurement, sum(steps) / 100)
    np.testing.assert_allclose(irregular.com_B, regular.com_B, atol=1e-9)


@pytest.mark.parametrize("tilt", [(0.0, 0.0), (0.15, -0.25)])
def test_fixed_point_has_no_bias(tilt) -> None:
    measurement = SCENE.measure(STATICS, tilt)
    method = started(SCENE.com + np.array([0.08, -0.05, 0.0]))
    for _ in range(800):
        step = method.update(measurement, 0.3)
    np.testing.assert_allclose(step.com_B, SCENE.com, atol=1e-6)


def test_settles_in_the_time_asked_for_and_says_so() -> None:
    measurement = LEVEL
    method = started()
    start = np.linalg.norm(SCENE.com[:2])
    step = run(method, measurement, 1.0)
    assert np.linalg.norm(step.com_B[:2] - SCENE.com[:2]) == pytest.approx(math.exp(-3.0) * start, rel=0.01)
    assert not step.done
    step = run(method, measurement, 2.0)
    assert step.done
    assert np.linalg.norm(step.com_B[:2] - SCENE.com[:2]) < 5e-4
    assert step.residual < 5e-4
    assert np.isinf(step.sigma_B[2])


def noisy(rng, sigma):
    return LEVEL._replace(forces_W=LEVEL.forces_W + sigma * rng.standard_normal((4, 3)))


def test_stated_deviation_is_the_scatter_of_repeated_runs() -> None:
    """Two-sided chi-square bound, 99.9 %, 40 runs of white noise, x and y each."""
    rng = np.random.default_rng(3)
    errors, sigmas = [], []
    for _ in range(40):
        method = started(SCENE.com)
        for _ in range(500):
            step = method.update(noisy(rng, 2.0), H)
        errors.append((step.com_B - SCENE.com)[:2])
        sigmas.append(step.sigma_B[:2])
    normalised = np.sum((np.array(errors) / np.array(sigmas)) ** 2, axis=0)
    assert np.all((normalised > 17.9) & (normalised < 73.4)), normalised


def test_overlapping_windows_state_no_smaller_deviation_than_they_have() -> None:
    """Means over 12 samples repeat their noise: the mean of many is as uncertain as it is."""
    rng, scatter_of_mean = np.random.default_rng(1), []
    stated = []
    for _ in range(100):
        white = rng.standard_normal(612)
        means = np.convolve(white, np.full(12, 1 / 12), mode="valid")
        scatter, x, gain = SampleScatter(1), 0.0, 0.02
        for k, value in enumerate(means):
            scatter.add(np.array([value]), gain)
            x += max(gain, 1.0 / (k + 1)) * (value - x)
        scatter_of_mean.append(x)
        stated.append(scatter.filtered_covariance(gain)[0, 0])
    true = np.var(scatter_of_mean)
    assert true < np.mean(stated) < 4.0 * true


def sliding(speed):
    """Feet that slide forward under the robot; the measured centre of mass goes with them."""
    return lambda t: LEVEL._replace(points_W=LEVEL.points_W + np.array([speed * t, 0.0, 0.0]))


def test_slow_drift_is_in_the_stated_deviation() -> None:
    speed, times = 0.01, []
    moving = sliding(speed)
    method = started(SCENE.com)
    step = run(method, lambda t: times.append(t) or moving(t), 8.0)
    assert step.done
    whole = (SCENE.mass + LEVEL.legs_mass) / SCENE.mass
    lag = SCENE.com[0] + whole * speed * times[-1] - step.com_B[0]
    assert 1e-3 < lag < 2.0 * step.sigma_B[0]


@pytest.mark.parametrize("speed", [0.05, 0.15])
def test_moving_measurement_is_given_up(speed) -> None:
    step = run(started(SCENE.com), sliding(speed), 12.0)
    assert "still moves" in step.refusal


def test_noise_that_hides_the_answer_is_refused() -> None:
    rng = np.random.default_rng(5)
    step = run(started(), lambda _t: noisy(rng, 40.0), 12.0)
    assert "scatters by" in step.refusal
