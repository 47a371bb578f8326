"""Scores of innovations: least at the noise there is, and not decided by single outliers."""

import numpy as np
import pytest

from inertial_estimation.inertial.estimator import StepOutcome
from inertial_estimation.signals import Decision
from inertial_estimation.tuning.filter_trials import negative_log_likelihood

ROWS = 6


def update(y, sigma, decision=Decision.ACCEPTED):
    variance = np.full(ROWS, sigma**2)
    nis = float(y @ (y / variance))
    return StepOutcome(y, nis, decision, variance, float(np.log(variance).sum()))


def mean_score(innovations, sigma):
    return np.mean([negative_log_likelihood(update(y, sigma)) for y in innovations])


@pytest.mark.parametrize("outliers", [0, 3])
def test_the_likelihood_is_largest_at_the_noise_there_is(outliers):
    innovations = 0.7 * np.random.default_rng(0).normal(size=(2000, ROWS))
    innovations[:outliers] *= 50.0
    sigmas = np.geomspace(0.35, 1.4, 41)
    best = sigmas[np.argmin([mean_score(innovations, sigma) for sigma in sigmas])]
    assert best == pytest.approx(0.7, rel=0.05)


def test_it_is_the_density_of_a_normal_distribution_but_for_outliers():
    y = np.array([0.1, -0.2, 0.3, 0.0, 0.5, -0.4])
    expected = (0.5 * np.sum(y**2) / 0.25 + ROWS * np.log(0.5 * np.sqrt(2.0 * np.pi))) / ROWS
    assert negative_log_likelihood(update(y, 0.5)) == pytest.approx(expected - np.log(0.99) / ROWS, abs=1e-6)


def test_what_was_not_compared_has_no_score():
    y = np.ones(ROWS)
    assert np.isnan(negative_log_likelihood(update(y, 1.0, Decision.CALIBRATING)))
