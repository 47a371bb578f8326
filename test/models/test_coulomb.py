"""The direction of Coulomb friction: by the speed, or after some travel."""

import numpy as np
import pytest

from inertial_estimation.models.coulomb import CoulombDirection, CoulombLaw, smooth_sign

DT = 1e-3


def test_smooth_sign_is_odd_bounded_and_saturates():
    v = np.linspace(-1, 1, 201)
    sign = smooth_sign(v, 0.02)
    assert np.allclose(sign, -sign[::-1])
    assert np.all(np.diff(sign) >= 0)
    assert sign[-1] == pytest.approx(1.0)


def there_and_back(steps=400):
    """Two joints that go one way at constant speed, then back; the second ten times slower."""
    v = np.concatenate((np.full(steps, 0.5), np.full(steps, -0.5)))
    return np.column_stack((v, 0.1 * v))


def test_without_presliding_the_speed_alone_decides():
    v = np.random.default_rng(0).normal(size=(50, 3))
    np.testing.assert_array_equal(CoulombDirection(CoulombLaw(0.05)).along(v, DT), smooth_sign(v, 0.05))


def test_after_a_reversal_friction_is_zero_at_the_travel_times_log_two_whatever_the_speed():
    law = CoulombLaw(smoothing_speed=1e-4, presliding=2e-3)
    v = there_and_back()
    z = CoulombDirection(law).along(v, DT)
    for joint in range(2):
        past = np.flatnonzero(z[400:, joint] < 0.0)[0]
        travel = abs(v[-1, joint]) * DT * (past + 1)
        assert travel == pytest.approx(law.presliding * np.log(2.0), abs=1.01 * abs(v[-1, joint]) * DT)


def test_how_a_motion_is_sampled_or_cut_does_not_change_it():
    law = CoulombLaw(1e-4, 2e-3)
    v = there_and_back()
    whole = CoulombDirection(law).along(v, DT)
    twice = CoulombDirection(law).along(np.repeat(v, 2, axis=0), DT / 2)[1::2]
    np.testing.assert_allclose(twice, whole, atol=1e-9)
    cut = CoulombDirection(law)
    np.testing.assert_array_equal(np.vstack([cut.along(part, DT) for part in np.split(v, 8)]), whole)


def test_it_stays_within_one_and_follows_a_steady_slide():
    rng = np.random.default_rng(1)
    v = np.cumsum(rng.normal(size=(2000, 4)), axis=0) * 0.01
    z = CoulombDirection(CoulombLaw(0.02, 1e-3)).along(v, DT)
    assert np.abs(z).max() <= 1.0
    assert CoulombDirection(CoulombLaw(0.02, 1e-3)).along(np.full((500, 1), -0.3), DT)[
        -1, 0
    ] == pytest.approx(-1.0)


def test_a_robot_at_rest_keeps_its_direction_under_the_noise_of_a_sensor():
    law = CoulombLaw(0.02, 1e-3)
    direction = CoulombDirection(law)
    direction.along(np.full((500, 1), 0.3), DT)
    noise = 0.001 * np.random.default_rng(2).normal(size=(200, 1))
    assert direction.along(noise, DT)[-1, 0] > 0.7


def test_a_motion_begun_anew_starts_by_the_speed():
    direction = CoulombDirection(CoulombLaw(0.02, 1e-2))
    direction.along(np.full((500, 1), 0.3), DT)
    direction.reset()
    assert direction.after(np.array([-0.3]), DT)[0] == pytest.approx(-1.0, abs=1e-6)
