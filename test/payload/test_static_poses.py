"""Static poses: exact without noise, deviation with it, what is asked for, what is refused."""

import numpy as np
import pytest
from support.standing_robot import GO2, HYQ, SOLO, Standing

from inertial_estimation.payload.com_methods import TILT_RAD as TILT
from inertial_estimation.payload.com_methods import StaticPoses

H = 0.1


def follow(scene, tau_sigma=0.0, seed=0, tilts=None, offset=(0.0, 0.0), start=None):
    """Run the method on a robot that takes the tilts asked for, or those given one after the other."""
    rng, statics = np.random.default_rng(seed), scene.statics()
    method = StaticPoses(1.0, np.zeros(3) if start is None else start, scene.mass)
    tilt, asked = (0.0, 0.0), [None]
    for k in range(600):
        taken = tilt if tilts is None else tilts[min(k // 20, len(tilts) - 1)]
        taken = (taken[0] + offset[0], taken[1] + offset[1])
        error = tau_sigma * rng.standard_normal(scene.robot.n_joints)
        step = method.update(scene.measure(statics, taken, tau_error=error), H)
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


def test_stated_deviation_is_that_of_repeated_runs() -> None:
    """Chi-square 99.9 % bounds of 30 runs; deviations are estimated from seven degrees of freedom: wider."""
    scene = Standing()
    runs = [follow(scene, tau_sigma=1.0, seed=seed)[0] for seed in range(30)]
    errors = np.array([run.com_B - scene.com for run in runs])
    variance = np.mean([run.sigma_B**2 for run in runs], axis=0)
    ratio = np.mean(errors**2, axis=0) / variance
    assert np.all((ratio > 0.3) & (ratio < 2.5)), ratio
    assert variance[2] > 5.0 * variance[0]  # z is seen through the sine of the tilt


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
    method = StaticPoses(1.0, np.zeros(3), scene.mass)
    for k in range(25):
        method.update(scene.measure(statics, (0.02 * k, 0.0)), H)
    assert method.poses == []
