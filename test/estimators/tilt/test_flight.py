"""No foot in contact: exact ballistics of a tumbling body, and what gravity alone corrects."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support.observer_simulation import Body, G, angle, run, vec

from inertial_estimation.estimators.tilt.first_stage_observer import FirstStageConfig, FirstStageObserver
from inertial_estimation.estimators.tilt.hua_observer import HuaConfig, HuaObserver
from inertial_estimation.estimators.tilt.r3s2_observer import R3S2Config, R3S2Observer
from inertial_estimation.estimators.tilt.tilt_observer import GravityFallbackConfig
from inertial_estimation.estimators.tilt.two_stage_observer import TwoStageConfig, TwoStageObserver

H = 0.01
ZERO, UP = (0.0, 0.0, 0.0), (0.0, 0.0, 1.0)
OBSERVERS = {
    "two_stage": lambda fallback: TwoStageObserver(TwoStageConfig(20.0, 100.0, 1.0), fallback),
    "first_stage": lambda fallback: FirstStageObserver(FirstStageConfig(20.0, 100.0), fallback),
    "r3s2": lambda fallback: R3S2Observer(R3S2Config(20.0, 100.0), fallback),
    "hua": lambda fallback: HuaObserver(HuaConfig(20.0, 20.0, 100.0), fallback),
}
every_observer = pytest.mark.parametrize("kind", OBSERVERS)


def make(kind, **fallback):
    return OBSERVERS[kind](GravityFallbackConfig(**fallback))


def fly(observer, body, start, duration):
    """Advance without contact by readings at the middle of each step; return the end."""
    for k in range(round(duration / H)):
        middle = start + (k + 0.5) * H
        observer.step(H, vec(body.rate(middle)), vec(body.force(middle)), None)
    return start + duration


@every_observer
@pytest.mark.parametrize("steps", [1, 7])
def test_a_tumbling_body_in_free_fall_is_followed_exactly_in_any_number_of_steps(kind, steps):
    """v(t) = v0 - g t in the world and a constant rate in the body: nothing is left to discretise."""
    rate, v_W, duration = np.array([3.0, -2.0, 1.0]), np.array([0.5, -0.3, 2.0]), 0.35
    observer = make(kind)
    observer.initialise(vec(v_W), UP)
    for _ in range(steps):
        observer.step(duration / steps, vec(rate), ZERO, None)
    R_WI = Rotation.from_rotvec(duration * rate).as_matrix()
    np.testing.assert_allclose(observer.x1, R_WI.T @ (v_W - duration * G), atol=1e-12)
    np.testing.assert_allclose(observer.x2, R_WI[2], atol=1e-12)
    assert not observer.velocity_aided
    assert not observer.gravity_aided
    assert observer.correction == observer.innovation == ZERO


@every_observer
def test_a_turn_in_flight_is_still_there_after_landing(kind):
    """Half a second through the air while the body turns: no state may hold the vertical of before."""
    body, observer = Body(4, turn=1.0), make(kind, gain=0.0)
    observer.initialise(vec(body.velocity_I(0.0)), vec(body.vertical(0.0)))
    landing = fly(observer, body, run(observer, body, 0.5, h=H), 0.5)
    assert angle(body.vertical(0.5), body.vertical(landing)) > 0.3
    errors = []
    run(
        observer,
        body,
        1.0,
        h=H,
        start=landing,
        visit=lambda t: errors.append(angle(observer.x2, body.vertical(t))),
    )
    assert max(errors) < 0.01


@every_observer
def test_landing_takes_the_velocity_of_the_contact(kind):
    """What an unknown push left in the integrated velocity must not be taken for a tilt."""
    observer = make(kind, gain=0.0)
    observer.step(H, ZERO, (100.0, 0.0, 0.0), None)
    for _ in range(100):
        observer.step(H, ZERO, vec(G), ZERO)
    np.testing.assert_allclose(observer.x1, ZERO, atol=1e-12)
    np.testing.assert_allclose(observer.x2, UP, atol=1e-12)


@every_observer
def test_gravity_turns_the_vertical_and_velocity_is_forgotten_at_the_stated_rate(kind):
    gain, duration = 0.5, 2.0
    observer = make(kind, gain=gain)
    observer.initialise((0.2, -0.1, 0.0), (0.02, 0.0, 1.0))
    tilt = angle(observer.x2, UP)
    for _ in range(round(duration / H)):
        observer.step(H, ZERO, vec(G), None)
        assert observer.gravity_aided
    left = np.exp(-gain * duration)
    assert angle(observer.x2, UP) == pytest.approx(left * tilt, rel=1e-3)
    # A tilt d of the estimate lets gravity drive the velocity by g d: x1' = -gain x1 - g d exp(-gain t).
    driven = 0.2 - G[2] * tilt * duration
    np.testing.assert_allclose(observer.x1, [left * driven, -0.1 * left, 0.0], atol=2e-3)


@pytest.mark.parametrize("seed", range(4))
def test_gravity_pulls_the_vertical_to_its_side_by_the_stated_correction(seed):
    """Whatever way the body lies: one step turns x2 by its correction, and many end at the true vertical."""
    rng = np.random.default_rng(seed)
    up = rng.normal(size=3)
    up /= np.linalg.norm(up)
    observer = make("two_stage", gain=5.0)
    observer.initialise(ZERO, vec(up + 0.2 * rng.normal(size=3)))
    before = np.array(observer.x2)
    observer.step(H, ZERO, vec(G[2] * up), None)
    turned = Rotation.from_rotvec(H * np.array(observer.correction)).apply(before)
    np.testing.assert_allclose(observer.x2, turned, atol=1e-12)
    assert angle(observer.x2, up) < angle(before, up)
    for _ in range(400):
        observer.step(H, ZERO, vec(G[2] * up), None)
    assert angle(observer.x2, up) < 1e-8


@every_observer
def test_the_innovation_is_measured_minus_predicted_at_the_middle_of_the_step(kind):
    x1, y_v, rate = np.array([0.3, -0.5, 0.7]), np.array([1.1, 1.3, 1.7]), np.array([5.0, -7.0, 11.0])
    observer = make(kind)
    observer.initialise(vec(x1), UP)
    observer.step(H, vec(rate), vec(G), vec(y_v))
    turned = Rotation.from_rotvec(-0.5 * H * rate).apply(x1)
    np.testing.assert_allclose(observer.innovation, y_v - turned, atol=1e-12)


@every_observer
def test_innovation_and_correction_are_those_of_the_last_step_alone(kind):
    observer = make(kind, gain=0.0)
    observer.initialise(ZERO, (0.1, 0.0, 1.0))
    observer.step(H, ZERO, vec(G), (0.1, -0.2, 0.3))
    assert np.abs(observer.innovation).min() > 0.0
    assert np.linalg.norm(observer.correction) > 0.0
    observer.step(H, ZERO, vec(G), None)
    assert observer.innovation == observer.correction == ZERO
    observer.step(H, ZERO, vec(G), (0.1, -0.2, 0.3))
    assert observer.velocity_aided
    observer.initialise(ZERO, UP)
    assert observer.innovation == observer.correction == ZERO


@pytest.mark.parametrize("excess", [-0.5, 0.5])
def test_the_accelerometer_is_believed_up_to_the_tolerance(excess):
    for beyond, aided in ((0.999, True), (1.001, False)):
        observer = make("two_stage", tolerance=0.5)
        observer.step(H, ZERO, (0.0, 0.0, G[2] + beyond * excess), None)
        assert observer.gravity_aided == aided


def test_a_gain_of_zero_never_uses_gravity():
    observer = make("two_stage", gain=0.0)
    observer.step(H, ZERO, vec(G), None)
    assert not observer.gravity_aided
