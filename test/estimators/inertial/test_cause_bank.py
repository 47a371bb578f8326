"""The recursive evidence of causes against scipy's multivariate Student distribution of all data at once."""

import numpy as np
from scipy.stats import multivariate_t

from inertial_estimation.estimators.inertial.cause_bank import CauseBank, NoiseScale, log_student

SCALE = NoiseScale(0.3, 7.0)
CAUSES, ROWS, COLUMNS, STEPS = 3, 5, 2, 4


def measurements(seed=0):
    rng = np.random.default_rng(seed)
    columns = rng.normal(size=(STEPS, CAUSES, ROWS, COLUMNS))
    residuals = columns[:, 1] @ np.array([1.5, -0.7]) + 0.5 * rng.normal(size=(STEPS, ROWS))
    return columns, residuals


def walked_covariance(walks, columns):
    """Covariance of all rows of one cause in units of s^2: amplitudes that walk between measurements."""
    stacked = np.zeros((STEPS * ROWS, STEPS * COLUMNS))
    for k in range(STEPS):
        for i in range(k + 1):
            stacked[ROWS * k : ROWS * k + ROWS, COLUMNS * i : COLUMNS * i + COLUMNS] = columns[k]
    steps = np.repeat(walks, COLUMNS)
    return np.eye(STEPS * ROWS) + (stacked * steps) @ stacked.T


def test_the_evidence_is_that_of_a_student_distribution_of_all_data():
    columns, residuals = measurements()
    walks = [4.0, 0.5, 0.0, 0.2]
    bank = CauseBank(CAUSES, COLUMNS)
    for k, walk in enumerate(walks):
        bank.feed(columns[k], residuals[k], 1.0, walk)
    total = STEPS * ROWS
    evidence = bank.log_evidence(total, SCALE, bank.log_det)
    noise = float(log_student(np.array([(residuals**2).sum()]), total, SCALE)[0])

    def log_pdf(covariance):
        return multivariate_t.logpdf(
            residuals.ravel(), shape=SCALE.variance * covariance, df=SCALE.strength, loc=np.zeros(total)
        )

    nothing = log_pdf(np.eye(total))
    for c in range(CAUSES):
        expected = log_pdf(walked_covariance(walks, columns[:, c])) - nothing
        np.testing.assert_allclose(evidence[c] - noise, expected, rtol=1e-9)
    assert np.argmax(evidence) == 1


def test_constant_amplitudes_are_those_of_regularised_least_squares():
    columns, residuals = measurements(1)
    bank = CauseBank(CAUSES, COLUMNS)
    for k in range(STEPS):
        bank.feed(columns[k], residuals[k], 1.0, 9.0 if k == 0 else 0.0)
    for c in range(CAUSES):
        B = columns[:, c].reshape(-1, COLUMNS)
        P = np.linalg.inv(B.T @ B + np.eye(COLUMNS) / 9.0)
        np.testing.assert_allclose(bank.amplitudes[c], P @ B.T @ residuals.ravel(), rtol=1e-9)
        np.testing.assert_allclose(bank.covariance[c], P, rtol=1e-9, atol=1e-12)


def test_a_measurement_that_counts_twice_is_one_fed_twice():
    columns, residuals = measurements(2)
    once, twice = CauseBank(CAUSES, COLUMNS), CauseBank(CAUSES, COLUMNS)
    once.feed(columns[0], residuals[0], 2.0, 1.0)
    twice.feed(columns[0], residuals[0], 1.0, 1.0)
    twice.feed(columns[0], residuals[0], 1.0, 0.0)
    for name in ("amplitudes", "covariance", "rss", "log_det"):
        np.testing.assert_allclose(getattr(once, name), getattr(twice, name), rtol=1e-9, atol=1e-12)
