"""Weights of mass and place of a load against sampled integrals of the likelihood."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from inertial_estimation.estimators.inertial.cause_bank import CauseBank, NoiseScale
from inertial_estimation.estimators.inertial.load_prior import LoadPrior

VARIANCE, ROWS = 1.0, 60
SCALE = NoiseScale(VARIANCE, 1e9)  # the noise is known
UNIT = 4.0


def bank_with(amplitude, precision, seed=0):
    """A regression that has seen rows of one load with mass and first moment as given."""
    rng = np.random.default_rng(seed)
    columns = precision * rng.normal(size=(1, ROWS, 4))
    bank = CauseBank(1, 4)
    bank.feed(columns, columns[0] @ np.asarray(amplitude), 1.0, 1.0 / VARIANCE)
    return bank


def weights(bank, *, carried=0.0, own=2.0, spread=0.1):
    prior = LoadPrior(np.array([own]), np.array([carried]), spread**2 * np.eye(3)[None], UNIT)
    mass, place = prior.log_mass, prior.log_place
    return float(mass(bank.fit, ROWS, SCALE)[0]), float(place(bank.fit, ROWS, SCALE)[0])


@pytest.mark.parametrize("place", [(0.05, 0.0, -0.05), (0.3, 0.1, 0.0)])
def test_the_weight_of_a_place_is_the_ratio_of_the_sampled_evidences(place):
    mass, spread = 0.6, 0.1
    bank = bank_with([mass, *(mass * np.array(place))], precision=3.0)
    mean, P = bank.amplitudes[0], bank.covariance[0]
    information = np.linalg.inv(P) - np.eye(4)  # without the prior of the regression
    centre = np.linalg.solve(information, np.linalg.solve(P, mean))
    rng = np.random.default_rng(3)
    m = rng.normal(mean[0], np.sqrt(P[0, 0]), 200_000)
    h = np.abs(m)[:, None] * spread * rng.normal(size=(200_000, 3))

    def evidence(first_moments):
        error = np.column_stack((m, first_moments)) - centre
        return np.exp(-0.5 * np.einsum("ni,ij,nj->n", error, information, error)).mean()

    expected = np.log(evidence(h) / evidence(rng.normal(size=(200_000, 3))))
    assert weights(bank, spread=spread)[1] == pytest.approx(expected, abs=0.35)
    density = multivariate_normal.logpdf(mean[1:], cov=P[1:, 1:] + np.eye(3))
    assert np.isfinite(density)


def test_a_place_near_the_body_weighs_more_than_one_far_from_it():
    near, far = (weights(bank_with([0.5, r, 0.0, 0.0], precision=5.0))[1] for r in (0.02, 0.3))
    assert near > 1.0 > far


def test_a_body_loses_what_it_carries_but_hardly_its_own_mass():
    put_on, taken_off = bank_with([0.3, 0.0, 0.0, 0.0], 20.0), bank_with([-0.3, 0.0, 0.0, 0.0], 20.0)
    assert weights(put_on)[0] == pytest.approx(np.log(2.0), abs=0.01)
    assert weights(taken_off, carried=UNIT * 0.3)[0] == pytest.approx(np.log(2.0), abs=0.1)
    assert weights(taken_off, own=3.0)[0] == pytest.approx(np.log(2e-4), abs=0.1)
    assert weights(taken_off, own=1.0)[0] < np.log(1e-6)
