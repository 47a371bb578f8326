"""The exact evidence of a load in `benchmarks.load_ranking`, against dense distributions of all residuals."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import multivariate_t

from benchmarks.load_ranking import log_evidence, shown
from inertial_estimation.estimators.inertial.cause_bank import NoiseScale
from inertial_estimation.models.differentiation import window_weights


def test_the_evidence_of_a_load_is_the_integral_of_dense_student_densities_over_its_mass():
    rng, scale = np.random.default_rng(3), NoiseScale(0.3, 7.0)
    columns, residuals = rng.normal(size=(3, 2, 4, 4)), rng.normal(size=(3, 4))
    factors = 0.4 * rng.normal(size=(2, 3, 3))
    spread = factors @ factors.transpose(0, 2, 1)
    masses = np.linspace(0.05, 6.0, 4001)
    logs = log_evidence(columns, residuals, np.ones(3), scale, masses, -0.5 * masses**2, spread)

    def density(mass, body):
        B = columns[:, body].reshape(12, 4)
        shape = scale.variance * np.eye(12) + mass**2 * B[:, 1:] @ spread[body] @ B[:, 1:].T
        student = multivariate_t(mass * B[:, 0], shape, scale.strength)
        return float(np.exp(-0.5 * mass**2) * student.pdf(residuals.ravel()))

    dense = [quad(density, 0.05, 6.0, args=(body,), limit=200)[0] for body in (0, 1)]
    assert logs[0] - logs[1] == pytest.approx(np.log(dense[0] / dense[1]), abs=1e-3)


def test_a_load_shows_in_a_window_as_the_weights_of_its_mean_say():
    window, times = 0.06, np.linspace(-0.03, 0.03, 6001)
    weights = window_weights(times).mean
    for centre in (-0.04, -0.02, 0.0, 0.013, 0.05):
        loaded = float(weights[times + centre >= 0.0].sum())
        assert shown(np.array([centre]), window)[0] == pytest.approx(loaded, abs=1e-3)
