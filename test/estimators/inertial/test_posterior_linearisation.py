"""The covariance that is reported is that of the posterior, also where the map to parameters is curved."""

import numpy as np
import pytest
from support.inertial_scenes import MEMORY, ArmScene

from inertial_estimation.estimators.inertial.linear_kalman import LinearKalman
from inertial_estimation.estimators.inertial.log_cholesky_ekf import LogCholeskyEkf
from inertial_estimation.estimators.inertial.posterior_linearisation import CurvedPosterior
from inertial_estimation.estimators.inertial.prior import PriorSigma

WIDE = PriorSigma(mass=0.3, com=0.03, radii=0.2, friction=np.zeros(0))
WIDER = PriorSigma(mass=0.3, com=0.05, radii=0.4, friction=np.zeros(0))
VAGUE = PriorSigma(mass=2.0, com=0.2, radii=1.0, friction=np.zeros(0))
SECOND = 1_000_000_000
DRAWS = 20_000


@pytest.fixture(scope="module")
def scene():
    return ArmScene(links=("panda_link7",))


def drawn(scene, seed, kind=LogCholeskyEkf, prior=WIDE):
    """Return a filter at nominal; the scene's body is drawn from its prior."""
    scene.rng = np.random.default_rng(seed)
    filter_ = kind(scene.bodies, prior, scene.gate(enabled=False), MEMORY)
    x_true = filter_.x + filter_.prior_factor @ scene.rng.normal(size=len(filter_.x))
    scene.truth = list(filter_._body_map(x_true.reshape(-1, 10))[0])
    return filter_


class BruteForce:
    """The posterior of one body given equations, by importance sampling; it knows nothing of the filter."""

    def __init__(self, scene, filter_, equations, rng, around, spread):
        information = sum(e.regressor.T @ e.regressor for e in equations) / scene.sigma_torque**2
        pull = sum(e.regressor.T @ e.value for e in equations) / scene.sigma_torque**2
        chi_square = rng.chisquare(6.0, DRAWS) / 6.0  # heavy tails: a Student distribution
        z = rng.normal(size=(DRAWS, 10)) / np.sqrt(chi_square)[:, None]
        self.x = around + 1.1 * z @ np.linalg.cholesky(spread).T
        self.pi = filter_.parameters_at(self.x)
        phi = self.pi @ scene.bodies[0].to_joint.T
        from_nominal = (self.x - filter_._x_nominal) @ np.linalg.inv(filter_.prior_factor).T
        fit = 0.5 * ((phi @ information) * phi).sum(axis=1) - phi @ pull
        drawn_log = -8.0 * np.log1p((z**2).sum(axis=1) / 6.0)
        log_weight = -0.5 * (from_nominal**2).sum(axis=1) - fit - drawn_log
        weight = np.exp(log_weight - log_weight.max())
        self.weight = weight / weight.sum()
        assert 1.0 / (self.weight**2).sum() > 0.2 * DRAWS

    def moments(self, values, about=None):
        mean = self.weight @ values
        deviation = values - (mean if about is None else about)
        return mean, (deviation * self.weight[:, None]).T @ deviation


def walked_moments(scene, filter_, equations, about):
    """Second moments of the parameters of a posterior by a random walk (Metropolis et al. 1953)."""
    information = sum(e.regressor.T @ e.regressor for e in equations) / scene.sigma_torque**2
    pull = sum(e.regressor.T @ e.value for e in equations) / scene.sigma_torque**2
    to_joint, whiten = scene.bodies[0].to_joint, np.linalg.inv(filter_.prior_factor)

    def cost(x):
        pi = filter_.parameters_at(x[None])[0]
        phi, off = to_joint @ pi, whiten @ (x - filter_._x_nominal)
        return 0.5 * phi @ information @ phi - phi @ pull + 0.5 * off @ off, pi

    rng, x = np.random.default_rng(0), filter_.x
    lowest, pi = cost(x)
    step, found = 0.4 * np.linalg.cholesky(filter_.P), []
    for k in range(DRAWS):
        trial = x + step @ rng.normal(size=len(x))
        higher, pi_trial = cost(trial)
        if np.log(rng.random()) < lowest - higher:
            x, lowest, pi = trial, higher, pi_trial
        found.append((x, pi))
        if k in (2000, 6000):
            seen = np.array([x for x, _ in found[k // 2 :]])
            step = 0.6 * np.linalg.cholesky(np.cov(seen.T) + 1e-9 * np.eye(len(x)))
    deviation = np.array([pi for _, pi in found[DRAWS // 2 :]]) - about
    return deviation.T @ deviation / len(deviation)


def test_mean_and_covariance_are_those_of_a_brute_force_posterior(scene):
    filter_ = drawn(scene, 1)
    equations = [scene.equation() for _ in range(30)]
    for equation in equations:
        filter_.update(equation, 0.003)
    posterior = CurvedPosterior(filter_, 0.1)
    posterior.converge(filter_.state)
    rng = np.random.default_rng(0)
    oracle = BruteForce(scene, filter_, equations, rng, posterior.mean, posterior.covariance)
    mean, covariance = oracle.moments(oracle.x)
    sigma = np.sqrt(np.diag(covariance))
    assert np.abs((posterior.mean - mean) / sigma).max() < 0.3
    assert np.abs((filter_.x - mean) / sigma).max() > 0.35, "the most probable state is another one"
    np.testing.assert_allclose(np.sqrt(np.diag(posterior.covariance)), sigma, rtol=0.15)
    estimate, moments = posterior.parameters_of(filter_.state)
    _mean, expected = oracle.moments(oracle.pi, about=estimate[0])
    np.testing.assert_allclose(np.sqrt(np.diag(moments[0])), np.sqrt(np.diag(expected)), rtol=0.2)


@pytest.mark.parametrize("seed", [3, 13, 24])
def test_repetitions_that_do_not_converge_stay_near_the_posterior(scene, seed):
    """Under so wide a prior they leave it: deviations were reported that are hundreds of times too large."""
    filter_ = drawn(scene, seed, prior=VAGUE)
    equations = [scene.equation() for _ in range(40)]
    for equation in equations:
        filter_.update(equation, 0.003)
    posterior = CurvedPosterior(filter_, 0.1)
    posterior.converge(filter_.state)
    estimate, moments = posterior.parameters_of(filter_.state)
    expected = walked_moments(scene, filter_, equations, estimate[0])
    ratio = np.sqrt(np.diag(moments[0]) / np.diag(expected))
    assert ratio.min() > 0.8
    assert ratio.max() < 1.5


@pytest.mark.monte_carlo
def test_two_sigma_hold_as_many_second_moments_as_they_should(scene):
    """A few equations: of most moments the data say little, and the map curves over the prior."""
    honest, linear = [], []
    for seed in range(150):
        filter_ = drawn(scene, seed, prior=WIDER)
        posterior = CurvedPosterior(filter_, 0.1)
        for k in range(2):
            filter_.update(scene.equation(), 0.003)
            posterior.update(filter_.state, k * 3_000_000)
        errors = (filter_.body_parameters()[0] - np.array(scene.truth)) ** 2
        moments = posterior.parameters_of(filter_.state)[1]
        for found, covariances in ((honest, moments), (linear, filter_.body_parameters()[1])):
            found.append(errors[:, 4:] < 4.0 * covariances[:, range(4, 10), range(4, 10)])
    assert 0.94 <= np.mean(honest) <= 0.99
    assert np.mean(linear) < 0.92, "the linear covariance is too small"


def test_a_linear_filter_and_a_prior_keep_their_own_covariance(scene):
    filter_ = drawn(scene, 2, LinearKalman)
    posterior = CurvedPosterior(filter_, 0.1)
    for k in range(5):
        filter_.update(scene.equation(), 0.003)
        posterior.update(filter_.state, k * SECOND)
        np.testing.assert_array_equal(posterior.mean, filter_.x)
        np.testing.assert_array_equal(posterior.parameters_of(filter_.state)[1], filter_.body_parameters()[1])


def test_a_covariance_that_jumps_is_followed_at_once_and_a_small_change_once_a_period(scene):
    filter_ = drawn(scene, 3)
    for _ in range(300):
        filter_.update(scene.equation(), 0.003)
    posterior = CurvedPosterior(filter_, 0.1)
    posterior.update(filter_.state, 0)
    filter_.update(scene.equation(), 0.003)
    for k in range(1, 12):  # one step each, until it has converged
        posterior.update(filter_.state, k)
    certain = posterior.sigma_mass[0]
    filter_.update(scene.equation(), 0.003)
    posterior.update(filter_.state, SECOND // 20)
    assert posterior.sigma_mass[0] == certain
    posterior.update(filter_.state, SECOND // 5)
    assert 0.9 * certain < posterior.sigma_mass[0] < certain
    filter_.admit_change(0)
    posterior.update(filter_.state, SECOND // 5 + 1)
    assert posterior.sigma_mass[0] > 10.0 * certain


def test_steps_of_updates_reach_what_all_of_them_at_once_do(scene):
    filter_ = drawn(scene, 5)
    for _ in range(20):
        filter_.update(scene.equation(), 0.003)
    at_once, by_step = CurvedPosterior(filter_, 0.1), CurvedPosterior(filter_, 0.1)
    at_once.converge(filter_.state)
    filter_.x = filter_.x.copy()  # a new state, of the same numbers
    for k in range(9):
        by_step.update(filter_.state, k)
    np.testing.assert_allclose(by_step.sigma_mass, at_once.sigma_mass, rtol=1e-3)
    after = by_step.covariance
    by_step.update(filter_.state, 10)
    assert by_step.covariance is after, "no step is left"


def test_a_state_that_cannot_be_linearised_keeps_the_covariance_of_the_filter(scene):
    filter_ = drawn(scene, 4)
    posterior = CurvedPosterior(filter_, 0.1)
    filter_.update(scene.equation(), 0.003)
    filter_.P = filter_.P - 2.0 * filter_.P.max() * np.eye(10)
    posterior.update(filter_.state, 0)
    np.testing.assert_array_equal(posterior.parameters_of(filter_.state)[1], filter_.body_parameters()[1])
