import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import expm
from support.observer_simulation import Body, angle, run, vec

from inertial_estimation.estimators.tilt.first_stage_observer import FirstStageConfig, FirstStageObserver
from inertial_estimation.estimators.tilt.linear_stage import linear_step
from inertial_estimation.estimators.tilt.tilt_observer import GravityFallbackConfig
from inertial_estimation.estimators.tilt.two_stage_observer import TwoStageConfig, TwoStageObserver
from inertial_estimation.models.imu import STANDARD_GRAVITY as G0

STILL = Body(sway=0.0, turn=0.0)
REST = ((0.0, 0.0, 0.0), (0.0, 0.0, G0), (0.0, 0.0, 0.0))  # rate, force, velocity


def make(alpha1=20.0, alpha2=100.0, gamma=1.0, **fallback):
    return TwoStageObserver(TwoStageConfig(alpha1, alpha2, gamma), GravityFallbackConfig(**fallback))


def set_state(observer, x1, intermediate, x2):
    observer.initialise(vec(x1), vec(x2))
    observer.x2_intermediate = vec(intermediate)


def lyapunov(observer, x1, x2):
    """V of (B 22), in the IMU frame, where norms are those of the world."""
    a1, a2, gamma = observer.config.alpha1, observer.config.alpha2, observer.config.gamma
    z1 = x1 - np.array(observer.x1)
    z2_ = x2 - np.array(observer.x2_intermediate)
    z2 = x2 - np.array(observer.x2)
    return (
        a2 / (8 * a1 * G0) * z1 @ z1
        + (a1 * z1 + G0 * z2_) @ (a1 * z1 + G0 * z2_) / (8 * a1 * G0)
        + a1 * G0 / (4 * a2) * z2_ @ z2_
        + z2 @ z2 / (2 * gamma)
    )


def test_the_first_stage_alone_is_that_of_the_two_stage_observer():
    """Its unconstrained vertical is the same, its output the direction of it, from any start."""
    both = make(20.0, 100.0), FirstStageObserver(FirstStageConfig(20.0, 100.0), GravityFallbackConfig())
    rng = np.random.default_rng(1)
    for observer in both:
        observer.initialise((0.1, -0.4, 0.2), vec(np.array([0.8, -0.6, 0.0])))
    for _ in range(40):
        w, f, y_v = (vec(values) for values in rng.normal(size=(3, 3)))
        for observer in both:
            observer.step(0.01, w, f, y_v)
    two, one = both
    np.testing.assert_allclose(one.x2_free, two.x2_intermediate, atol=1e-12)
    direction = np.array(one.x2_free) / np.linalg.norm(one.x2_free)
    np.testing.assert_allclose(one.x2, direction, atol=1e-12)
    assert angle(one.x2, two.x2) > 0.01


@given(
    st.sampled_from([(100.0, 20.0), (20.0, 100.0), (2.0, 1e4), (1e4, 1.0), (1e-2, 1e-2), (7.0, 12.25)]),
    st.sampled_from([1e-4, 1e-2, 0.3, 5.0]),
)
def test_linear_step_is_the_matrix_exponential(gains, h):
    a1, a2 = gains
    A = np.array([[-a1, -G0], [a2 / G0, 0.0]])
    expected = expm(np.block([[A * h, h * np.eye(2)], [np.zeros((2, 4))]]))
    phi, integral = linear_step(a1, a2, h)
    np.testing.assert_allclose(phi, expected[:2, :2], atol=1e-9 * max(1.0, np.abs(expected).max()))
    np.testing.assert_allclose(integral, expected[:2, 2:], atol=1e-8 * max(1.0, np.abs(expected).max()))


@settings(deadline=None, max_examples=6)
@given(st.integers(0, 1000))
def test_converges_from_random_initial_conditions_on_a_moving_body(seed):
    rng = np.random.default_rng(seed)
    body, observer = Body(seed), make(100.0, 200.0, 5.0)
    x2 = rng.normal(size=3)
    set_state(observer, rng.normal(size=3), 3.0 * rng.normal(size=3), x2 / np.linalg.norm(x2))
    end = run(observer, body, 8.0)
    assert angle(observer.x2, body.vertical(end)) < 2e-4
    np.testing.assert_allclose(observer.x1, body.velocity_I(end), atol=2e-3)
    assert np.linalg.norm(observer.x2) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("h", [0.01, 0.005])
def test_noiseless_data_from_the_true_state_leave_no_error(h):
    body, observer = Body(3), make()
    observer.initialise(vec(body.velocity_I(0.0)), vec(body.vertical(0.0)))
    worst = []
    run(observer, body, 5.0, h=h, visit=lambda t: worst.append(angle(observer.x2, body.vertical(t))))
    assert max(worst) < 5.0 * h**2  # second order: zero in the limit
    assert len(worst) == round(5.0 / h)


@settings(deadline=None, max_examples=10)
@given(st.integers(0, 1000))
def test_lyapunov_function_never_increases(seed):
    rng = np.random.default_rng(seed)
    observer = make(*rng.uniform((5.0, 5.0, 0.3), (100.0, 300.0, 5.0)))
    x2 = rng.normal(size=3)
    set_state(observer, rng.normal(size=3), rng.normal(size=3), x2 / np.linalg.norm(x2))
    values = [lyapunov(observer, np.zeros(3), np.array([0.0, 0.0, 1.0]))]
    for _ in range(3000):
        observer.step(1e-3, *REST)
        values.append(lyapunov(observer, np.zeros(3), np.array([0.0, 0.0, 1.0])))
    assert np.diff(values).max() <= 1e-12
    assert values[-1] < values[0]


@pytest.mark.parametrize(("alpha1", "alpha2", "gamma"), [(100.0, 20.0, 3.0), (20.0, 75.0, 1.0)])
def test_linear_rates_are_the_roots_of_the_polynomial_and_gamma(alpha1, alpha2, gamma):
    """Central differences of one step about the equilibrium give its Jacobian; its log has the rates."""
    h, d = 0.02, 1e-6

    def step(error):
        observer = make(alpha1, alpha2, gamma)
        set_state(observer, (error[0], 0, 0), (error[1], 0, 1), (np.sin(error[2]), 0, np.cos(error[2])))
        observer.step(h, *REST)
        return np.array([observer.x1[0], observer.x2_intermediate[0], observer.x2[0]])

    J = np.stack([(step(d * e) - step(-d * e)) / (2 * d) for e in np.eye(3)], axis=1)
    rates = np.sort(np.log(np.abs(np.linalg.eigvals(J))) / h)
    expected = np.sort([*np.roots([1.0, alpha1, alpha2]).real, -gamma])
    np.testing.assert_allclose(rates, expected, rtol=1e-6)


@pytest.mark.parametrize(("alpha1", "alpha2", "gamma"), [(100.0, 20.0, 3.0), (20.0, 100.0, 1.0)])
def test_constant_gyro_bias_leaves_the_predicted_tilt_error(alpha1, alpha2, gamma):
    observer = make(alpha1, alpha2, gamma)
    bias = 1e-3
    run(observer, STILL, 60.0, h=0.01, bias=np.array([0.0, bias, 0.0]))
    expected = bias * (alpha1 / alpha2 + 1.0 / gamma)
    assert angle(observer.x2, (0, 0, 1)) == pytest.approx(expected, rel=0.02)
    assert observer.bias_sensitivity == pytest.approx(alpha1 / alpha2 + 1.0 / gamma)
    np.testing.assert_allclose(observer.correction, [0.0, bias, 0.0], atol=1e-5)


def test_bias_about_the_vertical_leaves_no_tilt_error():
    observer = make()
    run(observer, STILL, 20.0, h=0.01, bias=np.array([0.0, 0.0, 0.01]))
    assert angle(observer.x2, (0, 0, 1)) < 1e-9


@pytest.mark.parametrize("h", [0.01, 0.1, 1.0])
def test_stiff_gains_and_long_steps_stay_stable(h):
    observer = make(1000.0, 2e4, 50.0)
    set_state(observer, (1.0, -1.0, 0.5), (2.0, 0.0, -1.0), (0.9, 0.3, -0.3))
    for _ in range(200):
        observer.step(h, *REST)
    assert angle(observer.x2, (0, 0, 1)) < 1e-6


def test_one_long_step_equals_many_short_ones_under_constant_rotation():
    rate, force, velocity = (0.4, -0.3, 0.2), (0.5, 0.3, 9.0), (0.1, -0.2, 0.05)
    errors = []
    for n in (1, 4, 16):
        observer = make()
        observer.initialise((0.1, 0.0, 0.0), (0.1, 0.2, 0.97))
        for _ in range(n * 20):
            observer.step(0.02 / n, rate, force, velocity)
        errors.append(np.array(observer.x2))
    assert np.linalg.norm(errors[0] - errors[2]) < 5e-3
    assert np.linalg.norm(errors[1] - errors[2]) < 0.3 * np.linalg.norm(errors[0] - errors[2])


def test_without_contact_gravity_alone_levels_the_tilt_only_near_one_g():
    near, far = make(gain=0.5, tolerance=0.5), make(gain=0.5, tolerance=0.5)
    for observer, force in ((near, (0.0, 0.0, G0)), (far, (0.0, 0.0, 0.3))):
        observer.initialise((0.0, 0.0, 0.0), (0.2, 0.0, 1.0))
        for _ in range(2000):
            observer.step(0.01, (0.0, 0.0, 0.0), force, None)
    assert angle(near.x2, (0, 0, 1)) < 1e-4
    assert angle(far.x2, (0.2, 0, 1)) < 1e-9
    assert near.gravity_aided
    assert not far.gravity_aided
    assert not near.velocity_aided
    assert near.innovation == (0.0, 0.0, 0.0)


def test_a_ballistic_flight_is_followed_and_landing_does_not_disturb():
    observer = make()
    observer.initialise((0.5, 0.0, 2.0), (0.0, 0.0, 1.0))
    for _ in range(40):
        observer.step(0.01, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), None)
    np.testing.assert_allclose(observer.x1, [0.5, 0.0, 2.0 - 0.4 * G0], atol=1e-9)
    for _ in range(100):
        observer.step(0.01, *REST)
    assert angle(observer.x2, (0, 0, 1)) < 1e-6
