import numpy as np
import pytest
from support.observer_simulation import Body, angle, run, vec

from inertial_estimation.estimators.tilt.hua_observer import HuaConfig, HuaObserver
from inertial_estimation.estimators.tilt.r3s2_observer import R3S2Config, R3S2Observer
from inertial_estimation.estimators.tilt.tilt_observer import GravityFallbackConfig
from inertial_estimation.estimators.tilt.two_stage_observer import TwoStageConfig, TwoStageObserver

STILL = Body(sway=0.0, turn=0.0)


def r3s2(k1v=20.0, k1r=100.0):
    return R3S2Observer(R3S2Config(k1v, k1r), GravityFallbackConfig())


def hua(k1v=10.0, k2v=10.0, k1r=100.0):
    return HuaObserver(HuaConfig(k1v, k2v, k1r), GravityFallbackConfig())


@pytest.mark.parametrize("make", [r3s2, hua])
@pytest.mark.parametrize("seed", range(5))
def test_converges_from_random_initial_conditions_on_a_moving_body(make, seed):
    rng = np.random.default_rng(seed)
    body, observer = Body(seed), make()
    observer.initialise(vec(rng.normal(size=3)), vec(rng.normal(size=3)))
    end = run(observer, body, 20.0)
    assert angle(observer.x2, body.vertical(end)) < 5e-4
    np.testing.assert_allclose(observer.x1, body.velocity_I(end), atol=5e-4)


@pytest.mark.parametrize("make", [r3s2, hua])
def test_a_small_error_decays_at_the_slowest_rate(make):
    observer = make(100.0, *([100.0] if make is hua else []), 20.0)
    observer.initialise((0.0, 0.0, 0.0), (0.01, 0.0, 1.0))
    run(observer, STILL, 1.0, h=0.01)
    before = angle(observer.x2, (0, 0, 1))
    run(observer, STILL, 4.0, h=0.01)
    rate = np.log(before / angle(observer.x2, (0, 0, 1))) / 4.0
    assert rate == pytest.approx(observer.convergence_rate, rel=0.02)


@pytest.mark.parametrize("make", [r3s2, hua])
def test_constant_gyro_bias_leaves_the_predicted_tilt_error(make):
    observer = make()
    run(observer, STILL, 8.0, h=0.002, bias=np.array([1e-3, 0.0, 0.0]))
    assert angle(observer.x2, (0, 0, 1)) == pytest.approx(1e-3 * observer.bias_sensitivity, rel=0.02)
    np.testing.assert_allclose(observer.correction, [1e-3, 0.0, 0.0], atol=1e-5)


def test_hua_without_its_second_gain_is_the_r3s2_observer():
    body = Body(2)
    a, b = r3s2(50.0, 40.0), hua(50.0, 0.0, 40.0)
    for observer in (a, b):
        observer.initialise((0.1, 0.2, 0.0), (0.3, 0.1, 0.9))
        run(observer, body, 3.0)
    np.testing.assert_allclose(a.x2, b.x2, atol=1e-12)


def test_order_of_convergence_is_that_of_the_paper():
    """With the gains of B V-A the two-stage observer is the fastest and Hua's the slowest."""
    two_stage = TwoStageObserver(TwoStageConfig(100.0, 200.0, 3.0), GravityFallbackConfig())
    left = []
    for observer in (two_stage, r3s2(100.0, 20.0), hua(100.0, 100.0, 20.0)):
        observer.initialise((0.0, 0.0, 0.0), (np.sin(0.2), 0.0, np.cos(0.2)))
        run(observer, STILL, 4.0, h=0.01)
        left.append(angle(observer.x2, (0, 0, 1)))
    assert left == sorted(left)


@pytest.mark.parametrize("make", [r3s2, hua])
def test_stiff_gains_stay_stable_at_long_steps(make):
    observer = make(500.0, *([500.0] if make is hua else []), 100.0)
    observer.initialise((1.0, 0.0, 0.0), (0.5, 0.5, 0.5))
    for _ in range(3000):
        observer.step(0.1, (0.0, 0.0, 0.0), (0.0, 0.0, 9.80665), (0.0, 0.0, 0.0))
    assert angle(observer.x2, (0, 0, 1)) < 1e-6
