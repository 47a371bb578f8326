import numpy as np
import pytest

from inertial_estimation.control.references import RATE_HOLD, SmoothReference

H = 0.003
MAX_RATE, MAX_ACCELERATION = 2.0, 8.0


def positions(reference: SmoothReference, n: int) -> np.ndarray:
    found = []
    for _ in range(n):
        reference.step(H)
        found.append(reference.position.copy())
    return np.array(found)


@pytest.mark.parametrize("jump", [1e-3, 0.02, 0.5, 3.0])
def test_a_jump_is_approached_within_the_bounds_without_overshoot(jump: float) -> None:
    reference = SmoothReference(np.zeros(2), MAX_RATE, MAX_ACCELERATION)
    reference.set_target(np.array([jump, -jump]))
    path = positions(reference, 1000)
    rates = np.diff(path, axis=0, prepend=0.0) / H
    accelerations = np.diff(rates, axis=0, prepend=0.0) / H
    assert np.abs(path).max() <= jump + 1e-12
    assert np.abs(rates).max() <= MAX_RATE + 1e-9
    assert np.abs(accelerations).max() <= 1.25 * MAX_ACCELERATION  # the last step lands on the target
    np.testing.assert_array_equal(path[-1], [jump, -jump])
    np.testing.assert_array_equal(reference.rate, 0.0)


def test_a_jump_takes_about_the_shortest_time() -> None:
    reference = SmoothReference(np.zeros(1), MAX_RATE, MAX_ACCELERATION)
    reference.set_target(np.ones(1))
    arrival = H * np.argmax(positions(reference, 1000)[:, 0] == 1.0)
    assert arrival == pytest.approx(1.0 / MAX_RATE + MAX_RATE / MAX_ACCELERATION, abs=0.05)


def test_a_target_slower_than_the_bounds_is_followed_without_lag() -> None:
    reference = SmoothReference(np.zeros(1), MAX_RATE, MAX_ACCELERATION)
    lag, acceleration_error = [], []
    for k in range(1500):
        t = k * H
        target = 0.5 * np.sin(2.0 * t)
        reference.set_target(np.array([target]), np.array([np.cos(2.0 * t)]))
        reference.step(H)
        lag.append(abs(reference.position[0] - target))
        acceleration_error.append(abs(reference.acceleration[0] + 2.0 * np.sin(2.0 * t)))
    assert max(lag[500:]) < 1e-12
    assert max(acceleration_error[500:]) < 0.01
    assert max(lag) > 1e-3  # it had to catch up first


def test_the_rate_of_a_target_that_is_not_renewed_runs_out() -> None:
    reference = SmoothReference(np.zeros(1), MAX_RATE, MAX_ACCELERATION)
    reference.set_target(np.zeros(1), np.array([0.02]))
    reference.step(H)
    assert reference.rate[0] == pytest.approx(0.02)
    path = positions(reference, int(3 * RATE_HOLD / H))
    assert reference.rate[0] == 0.0
    assert path[-1, 0] == 0.0
