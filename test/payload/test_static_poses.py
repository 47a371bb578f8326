"""Static poses: exact without noise, deviation with it, what is asked for, what is refused."""

import numpy as np
import pytest
from support.standing_robot import GO2, HYQ, SOLO, Standing

from inertial_estimation.payload.com_methods import TILT_RAD as TILT
from inertial_estimation.payload.com_methods import PoseLine, StaticPoses, nearest_point

H = 0.1


def follow(scene, tilts=None, start=None):
    """Run the method on a robot that takes the tilts asked for, or those given one after the other."""
    statics = scene.statics()
    method = StaticPoses(np.zeros(3) if start is None else start, scene.mass)
    tilt, asked = (0.0, 0.0), [None]
    for k in range(600):
        taken = tilt if tilts is None else tilts[min(k // 20, len(tilts) - 1)]
        step = method.update(scene.measure(statics, taken), H)
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
        method.update(scene.measure(statics, (0.02 * k, 0.0)), H)
    assert method.poses == []


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
