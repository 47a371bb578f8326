"""The error-state filter's equations against finite differences, and what its covariance promises."""

import math

import numpy as np
import pytest

from inertial_estimation.compilation import warm_up
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.spatial.rotations import exp_so3
from inertial_estimation.tilt.error_state import (
    ERRORS,
    Carried,
    ContactNoise,
    Contacts,
    ProcessNoise,
    TiltState,
    measure,
    measure_contacts,
    propagate,
    spread,
)

QUIET = ProcessNoise(0.0, 0.0, 0.0, 0.0)


@pytest.fixture(scope="module", autouse=True)
def kernels():
    """Compiled, as by the filter that calls them."""
    warm_up()


def carried(points=None):
    points = np.zeros((0, 3)) if points is None else points
    return Carried(np.array(points, dtype=float), np.eye(3), np.zeros(3), np.zeros((3, 3)))


def contacts(points, shares):
    """Contacts of feet that do not stand flat."""
    n = len(points)
    return Contacts(np.array(points), np.tile(np.eye(3).ravel(), (n, 1)), np.array(shares), np.zeros(n))


def after(call, state, *arguments):
    """The state after a call that changes one in place."""
    changed = TiltState(*(part.copy() for part in state))
    call(changed, *arguments)
    return changed


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
    end = after(propagate, state, h, reading, carried())
    spread(end, h, reading[3:], QUIET, carried())
    F = np.empty((ERRORS, ERRORS))
    for k in range(ERRORS):
        d = step * np.eye(ERRORS)[k]
        ahead, behind = (
            error_between(after(propagate, moved(state, s * d), h, reading, carried()), end) for s in (1, -1)
        )
        F[:, k] = (ahead - behind) / (2.0 * step)
    # Of a rotation error only what is across the vertical can be seen in the vertical.
    seen = np.eye(ERRORS)
    seen[3:6, 3:6] -= np.outer(end.vertical, end.vertical)
    expected = F @ state.covariance @ F.T
    assert np.allclose(seen @ end.covariance @ seen.T, seen @ expected @ seen.T, atol=1e-5)


def test_a_body_at_rest_stays_at_rest():
    z = np.array([0.6, 0.0, 0.8])
    bias, offset = np.array([0.01, -0.02, 0.03]), np.array([0.1, 0.0, -0.05])
    state = TiltState(np.zeros(3), z, bias, offset, 0.01 * np.eye(ERRORS))
    for _ in range(200):
        reading = np.concatenate((STANDARD_GRAVITY * z + offset, bias))
        propagate(state, 0.005, reading, carried())
    assert np.allclose(state.velocity, 0.0, atol=1e-9)
    assert np.allclose(state.vertical, z, atol=1e-12)


def test_points_fixed_in_the_world_are_carried_exactly_in_a_constant_turn():
    """A body that circles: in the world it moves with constant speed round a point, which it carries."""
    rate = np.array([0.0, 0.0, 0.7])
    velocity = np.cross(rate, np.array([0.5, 0.0, 0.0]))  # of the IMU, half a metre from the axis
    force = np.cross(rate, velocity) + np.array([0.0, 0.0, STANDARD_GRAVITY])
    state = TiltState(velocity, np.array([0.0, 0.0, 1.0]), np.zeros(3), np.zeros(3), 0.01 * np.eye(ERRORS))
    points = carried([[-0.5, 0.0, 0.0]])
    for _ in range(1000):
        propagate(state, 0.002, np.concatenate((force, rate)), points)
    assert np.allclose(points.points[0], [-0.5, 0.0, 0.0], atol=1e-5)
    assert np.allclose(points.rotation, exp_so3(-2.0 * rate), atol=1e-9)


def test_a_contact_residual_is_the_velocity_that_the_filter_lacks():
    rng = np.random.default_rng(2)
    state = random_state(rng)._replace(covariance=1e-4 * np.eye(ERRORS))
    point, T = np.array([0.1, 0.2, -0.8]), 0.02
    dv, db = np.array([0.02, -0.01, 0.005]), np.array([0.01, 0.02, -0.01])
    true = point + T * (np.cross(db, point) - dv)  # relative to where the filter carries it
    seen = contacts(true[None], [1.0])
    noise, forever = ContactNoise(1e-12, 1e-12, 1e12), (1e12, 1e12, 1e-12)
    before = TiltState(*(part.copy() for part in state))
    _, residual = measure_contacts(state, seen, T, noise, forever, 1.0, 1e9, carried([point]))
    assert np.allclose(residual, dv + np.cross(point, db), atol=1e-6)
    found_dv, found_db = state.velocity - before.velocity, state.bias - before.bias
    assert np.allclose(found_dv + np.cross(point, found_db), residual, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("share", [0.2, 1.0])
def test_measurements_never_enlarge_the_covariance(share):
    rng = np.random.default_rng(3)
    state = random_state(rng)
    seen = contacts(rng.standard_normal((2, 3)), [share, 1.0 - share])
    noise, memory = ContactNoise(0.01, 0.01, 1.0), (4.0, 0.1, 1e-4)
    end = after(measure_contacts, state, seen, 0.02, noise, memory, 1.0, 3.0, carried(seen.points + 1e-3))
    lost = state.covariance - end.covariance
    assert np.linalg.eigvalsh(lost).min() > -1e-8
    assert np.linalg.eigvalsh(end.covariance).min() > 0.0


def test_an_outlier_of_a_contact_moves_the_state_less_than_a_small_residual():
    state = TiltState(np.zeros(3), np.array([0.0, 0.0, 1.0]), np.zeros(3), np.zeros(3), 1e-4 * np.eye(ERRORS))
    H, quiet = np.eye(3, ERRORS), 1e-4
    moves = [
        np.linalg.norm(after(measure, state, H, np.array([size, 0.0, 0.0]), quiet, 3.0, carried()).velocity)
        for size in (0.03, 100.0)
    ]
    assert moves[1] < moves[0]


def test_without_tails_a_measurement_is_that_of_a_kalman_filter():
    rng = np.random.default_rng(4)
    state = random_state(rng)
    H, y, r = rng.standard_normal((3, ERRORS)), rng.standard_normal(3), 0.3
    turned = carried()
    end = after(measure, state, H, y, r, math.inf, turned)
    information = np.linalg.inv(state.covariance) + H.T @ H / r
    assert np.allclose(np.linalg.inv(end.covariance), information, rtol=1e-6, atol=1e-6)
    d = end.covariance @ H.T @ y / r
    assert np.allclose(end.velocity - state.velocity, d[:3], atol=1e-9)
    assert np.allclose(end.offset - state.offset, d[9:], atol=1e-9)
    assert np.allclose(turned.turn, d[3:6], atol=1e-9)
    assert np.allclose(turned.turn_variance, (state.covariance - end.covariance)[3:6, 3:6], atol=1e-9)
