"""Centre of mass by contact forces and by static poses: exact without noise, deviations with it, refusals."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.standing_robot import GO2, HYQ, SOLO, Standing

from inertial_estimation.payload.com_methods import TILT_RAD as TILT
from inertial_estimation.payload.com_methods import (
    ContactForceRecursion,
    PoseLine,
    SampleScatter,
    StaticPoses,
    nearest_point,
)

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


def test_a_deviation_is_stated_after_a_quarter_of_the_settling_time():
    method = started()
    known = [np.isfinite(method.update(LEVEL, 0.125).sigma_B).tolist() for _ in range(3)]
    assert known == [[False] * 3, [True, True, False], [True, True, False]]


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


POSE_H = 0.1


def follow(scene, tilts=None, start=None):
    """Run the method on a robot that takes the tilts asked for, or those given one after the other."""
    statics = scene.statics()
    method = StaticPoses(np.zeros(3) if start is None else start, scene.mass)
    tilt, asked = (0.0, 0.0), [None]
    for k in range(600):
        taken = tilt if tilts is None else tilts[min(k // 20, len(tilts) - 1)]
        step = method.update(scene.measure(statics, taken), POSE_H)
        tilt = step.tilt or (0.0, 0.0)
        if asked[-1] != step.tilt:
            asked.append(step.tilt)
        if step.done or step.refusal:
            break
    return step, asked


@pytest.mark.parametrize("kind", [HYQ, SOLO, GO2], ids=lambda kind: kind[0])
def test_all_three_components_are_exact_without_noise(kind) -> None:
    scene = Standing(kind, load=0.2 if kind is SOLO else 5.0, point=(-0.2, 0.1, 0.3))
    step, asked = follow(scene)
    assert step.done
    np.testing.assert_allclose(step.com_B, scene.com, atol=1e-9)
    assert step.residual < 1e-9
    t = TILT
    assert asked == [None, (0.0, 0.0), (t, 0.0), (-t, 0.0), (0.0, t), (0.0, -t), None]
    assert step.tilt is None


def test_tilted_by_hand_without_following_anything() -> None:
    by_hand = [(0.0, 0.0), (0.1, 0.1), (0.0, -0.2), (0.2, 0.0), (-0.15, 0.0)]
    scene = Standing()
    step, _ = follow(scene, tilts=by_hand)
    assert step.done
    np.testing.assert_allclose(step.com_B, scene.com, atol=1e-9)


def test_base_that_does_not_tilt_is_refused_and_keeps_what_it_could_not_see() -> None:
    scene, start = Standing(), np.array([0.0, 0.0, 0.123])
    step, _ = follow(scene, tilts=[(0.0, 0.0)], start=start)
    assert "the base did not tilt: 1 poses" in step.refusal
    assert not step.done
    np.testing.assert_allclose(step.com_B, [*scene.com[:2], 0.123], atol=1e-9)
    assert np.isinf(step.sigma_B[2])


def test_samples_while_it_tilts_make_no_pose_of_their_own() -> None:
    scene, statics = Standing(), Standing().statics()
    method = StaticPoses(np.zeros(3), scene.mass)
    for k in range(25):
        step = method.update(scene.measure(statics, (0.02 * k, 0.0)), POSE_H)
    assert method.poses == []
    assert step.sigma_B.tolist() == 3 * [np.inf]


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


@pytest.mark.parametrize(("times", "spread"), [(1, 0.9), (9, 0.9), (1, 1.1), (9, 1.1)])
def test_poses_far_enough_apart_show_the_height_however_often_they_are_taken(times, spread):
    """Lines through one point, of two poses apart by the least spread of 0.05, or a tenth less or more."""
    tilts = [np.array([sign * np.sin(0.05 * spread), 0.0, np.cos(0.05 * spread)]) for sign in (1.0, -1.0)]
    lines = [PoseLine(n, COM - (COM @ n) * n) for n in tilts]
    found = nearest_point(times * lines, np.zeros(3), 0.05)
    assert found.com_B[2] == pytest.approx(COM[2] if spread > 1.0 else 0.0, abs=1e-9)


def test_one_line_leaves_nothing_to_tell_its_noise_by():
    solution = solved(np.random.default_rng(3), [(0.1, 0.2)])
    assert np.isnan(solution.residual)
    assert np.isinf(solution.sigma_B).all()
