"""Signs of Coulomb friction over windows: those of the velocities, or integrated over the joint states."""

import numpy as np
import pytest

from inertial_estimation.inertial.windows import FrictionSigns
from inertial_estimation.inputs.stream import Ring
from inertial_estimation.models.friction import CoulombDirection, NominalFriction, smooth_sign

MS = 1_000_000
V = slice(2, 4)


def fill(ring, count, begin_ms, seed=0):
    """Append rows of two joints every 4 ms; return their times and velocities."""
    rows = np.random.default_rng(seed).normal(size=(count, 6))
    times = [(begin_ms + 4 * k) * MS for k in range(count)]
    for time, row in zip(times, rows, strict=True):
        ring.append(time, time, row)
    return times, rows[:, V]


def test_without_presliding_the_mean_is_that_of_the_smoothed_signs_of_the_velocities():
    ring, weights = Ring(6), np.full(5, 0.2)
    _times, v = fill(ring, 20, 0)
    signs = FrictionSigns(NominalFriction(smoothing_speed=0.5), ring, V, 0.1)
    signs.follow()
    expected = weights @ smooth_sign(v[8:13], 0.5)
    np.testing.assert_allclose(signs.mean(40 * MS, 8 * MS, weights), expected)


@pytest.mark.parametrize("every", [1, 3, 50])
def test_with_presliding_every_row_is_integrated_once_however_often_they_are_followed(every):
    ring, weights, law = (
        Ring(6, capacity=30),
        np.full(5, 0.2),
        NominalFriction(smoothing_speed=0.5, presliding=0.02),
    )
    signs, direction = FrictionSigns(law, ring, V, 0.1), CoulombDirection(law)
    source = Ring(6)
    _times, v = fill(source, 70, 0)
    for k in range(70):
        ring.append(source.time[k], source.stamp[k], source.rows[k])
        if k % every == 0 and every < 50:
            signs.follow()
    signs.follow()
    if every == 50:
        v = v[40:]  # older rows have given way before they were looked at
    z = np.array([direction.after(row, 0.0 if k == 0 else 0.004) for k, row in enumerate(v)])
    found = signs.mean((69 * 4 - 8) * MS, 8 * MS, weights)
    np.testing.assert_allclose(found, weights @ z[-5:], rtol=1e-12)


def test_after_a_gap_or_with_a_new_clock_the_sign_begins_with_the_velocity():
    law, weights = NominalFriction(smoothing_speed=0.5, presliding=0.02), np.ones(1)
    ring = Ring(6)
    signs = FrictionSigns(law, ring, V, 0.1)
    fill(ring, 10, 0)
    signs.follow()
    _times, v = fill(ring, 1, 1000, seed=1)
    signs.follow()
    np.testing.assert_array_equal(signs.mean(1000 * MS, 0, weights), smooth_sign(v[0], 0.5))
    ring.clear()
    _times, v = fill(ring, 1, 30, seed=2)
    signs.follow()
    np.testing.assert_array_equal(signs.mean(30 * MS, 0, weights), smooth_sign(v[0], 0.5))
