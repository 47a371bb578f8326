"""The scale of the noise: what innovations of known statistics make of it."""

import re

import numpy as np
import pytest

from inertial_estimation.inertial.noise import NoiseScale, RowBlock, row_groups, student_weights

ROWS = ("torque joint_1", "torque joint_2", "base_force_x", "base_force_y")
STATED = np.diag([0.25, 0.04, 4.0, 9.0])
DT = 0.05


def seen(innovations, *, scale=None, predicted=0.0, at_rest=False):
    """The scale after innovations in units of the stated deviation, shape (k, 4)."""
    scale = NoiseScale(*row_groups(ROWS)) if scale is None else scale
    sigma = np.sqrt(STATED.diagonal())
    for y in innovations:
        block = RowBlock(np.zeros((4, 1)), np.zeros(4), STATED, DT, at_rest=at_rest)
        weights = scale.see(block, sigma * y, predicted * STATED.diagonal())
        assert weights.shape == (4,)
    return scale


def normal(count, size=1.0, seed=0):
    return size * np.random.default_rng(seed).normal(size=(count, 4))


def test_rows_that_share_a_parameter_share_a_scale():
    assert row_groups(ROWS)[0] == ("noise.torque", "noise.base_force")
    assert row_groups(ROWS)[1].tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize("size", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("predicted", [0.0, 0.5])
def test_the_scale_is_that_of_the_innovations_beyond_what_was_predicted(size, predicted):
    y = normal(1500) * np.sqrt(size**2 + predicted)
    found = seen(y, predicted=predicted).factors()
    for deviation, used in found.values():
        assert deviation == used == pytest.approx(size, rel=0.15)


def test_outliers_hardly_count():
    y = normal(1500)
    y[::50] *= 100.0
    assert seen(y).factors()["noise.torque"][0] == pytest.approx(1.1, abs=0.15)
    assert student_weights(np.array([0.0, 1.0, 1e4])) == pytest.approx([1.0, 1.0, 5.0 / 10004.0])


def test_groups_differ_and_the_old_is_forgotten_in_ten_seconds():
    y = normal(1500)
    y[:, :2] *= 3.0
    scale = seen(y)
    assert scale.variance == pytest.approx([9.0, 1.0], rel=0.3)
    seen(normal(round(10.0 / DT), seed=1), scale=scale)
    middle = scale.variance[0]
    seen(normal(round(60.0 / DT), seed=2), scale=scale)
    assert 1.2 < middle < 6.0
    assert scale.variance[0] == pytest.approx(1.0, rel=0.3)


def test_rest_does_not_hide_the_noise_of_motion():
    scale = seen(normal(300, 3.0))
    seen(normal(300, 0.3, seed=1), scale=scale, at_rest=True)
    assert scale.factors()["noise.torque"][0] == pytest.approx(3.0, rel=0.2)
    for size, at_rest in ((3.0, False), (0.3, True)):  # what the NIS compares an innovation with
        block = RowBlock(np.zeros((4, 1)), np.zeros(4), STATED, DT, at_rest=at_rest)
        assert scale.shown(block) == pytest.approx(size**2 * STATED, rel=0.4)


@pytest.mark.parametrize("rho", [0.0, 0.6])
def test_correlated_innovations_count_less_in_covariances(rho):
    y = normal(3000)
    for k in range(1, len(y)):
        y[k] = rho * y[k - 1] + np.sqrt(1.0 - rho**2) * y[k]
    scale = seen(y)
    assert scale.correlation == pytest.approx([rho, rho], abs=0.15)
    expected = np.sqrt((1.0 - scale.correlation) / (1.0 + scale.correlation)) * scale.weights
    assert scale.cautious_weights == pytest.approx(expected, rel=0.1)


def test_doubt_falls_with_the_data():
    scale = seen(normal(0))
    first = scale.uncertainty(at_rest=False)
    assert first == pytest.approx(3.0, rel=0.05)
    seen(normal(200), scale=scale)
    seconds = 200 * DT * 4 / 4.0  # of four rows, of which four seconds count as one
    assert scale.uncertainty(at_rest=False) == pytest.approx(np.exp((1.0 / 1.1**2 + seconds) ** -0.5))
    assert scale.uncertainty(at_rest=True) == first


@pytest.mark.parametrize(
    ("size", "too_small", "said"),
    [
        (3.0, True, "noise.torque is about 3.* times too small; noise.base_force is about"),
        (3.0, False, "^$"),
        (1.2, True, "^$"),
        (0.3, False, "^$"),
        (0.1, False, "noise.torque is about (9|10|11).* times too large"),
    ],
)
def test_a_wrong_stated_noise_is_reported_from_two_seconds_on(size, too_small, said):
    scale = seen(normal(30, size))
    assert scale.report(too_small=too_small) == ""
    seen(normal(1000, size, seed=1), scale=scale)
    assert re.search(said, scale.report(too_small=too_small))


def test_without_adaptation_the_stated_noise_is_used_and_the_other_one_shown():
    scale = NoiseScale(*row_groups(ROWS))
    scale.adapting = False
    seen(normal(600, 3.0), scale=scale)
    deviation, used = scale.factors()["noise.torque"]
    assert (deviation, used) == (pytest.approx(3.0, rel=0.2), 1.0)
    assert scale.scaled(STATED) == pytest.approx(STATED)
