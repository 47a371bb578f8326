"""The invariant filter against the theory it rests on: exact error propagation, Bayes' rule, convergence."""

import numpy as np
import pytest
from scipy.linalg import expm
from support.observer_simulation import Body, angle, vec

from inertial_estimation.estimators.tilt.invariant_ekf import (
    InvariantEkf,
    InvariantEkfConfig,
    propagated,
    transition,
)
from inertial_estimation.estimators.tilt.tilt_observer import GravityFallbackConfig

FEET_W = np.array([[0.3, 0.2, -0.5], [-0.3, 0.2, -0.5], [0.3, -0.2, -0.5]])


def element(R, columns):
    X = np.eye(3 + columns.shape[1])
    X[:3, :3], X[:3, 3:] = R, columns
    return X


def wedge(xi):
    W = np.zeros((2 + len(xi) // 3, 2 + len(xi) // 3))
    x, y, z = xi[:3]
    W[:3, :3] = [[0, -z, y], [z, 0, -x], [-y, x, 0]]
    W[:3, 3:] = xi[3:].reshape(-1, 3).T
    return W


def random_state(rng, n):
    return expm(wedge(np.concatenate([rng.normal(size=3), np.zeros(6 + 3 * n)])))[:3, :3], rng.normal(
        size=(3, 2 + n)
    )


def make(**config):
    return InvariantEkf(InvariantEkfConfig(**config), GravityFallbackConfig())


@pytest.mark.parametrize("seed", range(3))
def test_the_error_propagates_exactly_by_its_linear_law_however_large_it_is(seed):
    """The log-linear property: exp(xi) of any size becomes exp(Phi xi), whatever state and readings are."""
    rng = np.random.default_rng(seed)
    n, h, w, f = 2, 0.02, rng.normal(size=3), 9.0 * rng.normal(size=3)
    R, columns = random_state(rng, n)
    xi = 0.8 * rng.normal(size=9 + 3 * n)
    wrong = expm(wedge(xi)) @ element(R, columns)
    after = element(*propagated(R, columns, h, w, f))
    wrong_after = element(*propagated(wrong[:3, :3], wrong[:3, 3:], h, w, f))
    expected = expm(wedge(transition(h, n) @ xi))
    np.testing.assert_allclose(wrong_after @ np.linalg.inv(after), expected, atol=1e-10)


def stand(observer, body, duration, h=0.01, start=0.0, feet=(True, True, True)):
    """A body that sways and turns above feet that stand; those not in use are not seen."""
    for k in range(round(duration / h)):
        middle, end = start + (k + 0.5) * h, start + (k + 1) * h
        R, p = body.rotation(end), body.position(end)
        seen = [vec(R.T @ (foot - p)) if used else None for foot, used in zip(FEET_W, feet, strict=True)]
        observer.see_feet(seen)
        observer.step(h, vec(body.rate(middle)), vec(body.force(middle)), vec(body.velocity_I(end)))
    return start + duration


def test_converges_on_a_moving_body_while_feet_come_and_go():
    body, observer = Body(3), make()
    wrong = body.vertical(0.0) + np.array([0.2, -0.1, 0.0])
    observer.initialise(vec(body.velocity_I(0.0) + 0.3), vec(wrong))
    end = stand(observer, body, 1.5, feet=(True, True, False))
    for feet in ((False, True, True), (True, False, True), (True, True, False)):
        end = stand(observer, body, 0.5, start=end, feet=feet)
        assert np.linalg.eigvalsh(observer.P).min() > -1e-12
    assert angle(observer.x2, body.vertical(end)) < 0.01
    np.testing.assert_allclose(observer.x1, body.velocity_I(end), atol=0.03)
    np.testing.assert_allclose(observer.R @ observer.R.T, np.eye(3), atol=1e-12)


def test_a_foot_that_stands_still_leaves_yaw_and_position_unknown():
    observer = make()
    stand(observer, Body(sway=0.0, turn=0.0), 2.0)
    sigma_yaw_before = observer.P[2, 2]
    stand(observer, Body(sway=0.0, turn=0.0), 2.0)
    assert observer.P[2, 2] > sigma_yaw_before  # grows by the gyroscope's noise alone
    assert observer.P[2, 2] == pytest.approx(2.0 * sigma_yaw_before, rel=0.05)
    assert observer.tilt_variance < 0.1 * 0.03**2


def test_the_vertical_can_be_set_and_the_velocity_is_kept():
    body, observer = Body(1), make()
    stand(observer, body, 0.5)
    velocity = observer.x1
    observer.restore((0.1, 0.0, 1.0))
    set_to = observer.x2
    observer.see_feet([None] * 3)
    observer.step(1e-9, (0.0, 0.0, 0.0), vec(body.force(0.5)), velocity)
    assert angle(observer.x2, set_to) < 1e-6
    np.testing.assert_allclose(observer.x1, velocity, atol=1e-6)


def test_the_correction_turns_the_vertical_beyond_the_gyroscope():
    observer, h = make(), 0.01
    observer.initialise((0.0, 0.0, 0.0), (0.1, 0.0, 1.0))
    stand(observer, Body(sway=0.0, turn=0.0), 0.05)
    before = np.array(observer.x2)
    stand(observer, Body(sway=0.0, turn=0.0), h)
    expected = before + h * np.cross(observer.correction, before)
    np.testing.assert_allclose(observer.x2, expected / np.linalg.norm(expected), atol=1e-6)
    assert angle(observer.x2, (0, 0, 1)) < angle(before, (0, 0, 1))
