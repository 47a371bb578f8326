"""Monte Carlo: errors are as large as the filter says, within two-sided chi-square bounds.

The run on TALOS, raw sensors through the pipeline, is a row of `python -m benchmarks.referee`.
"""

import numpy as np
import pytest
from scipy.stats import binom, chi2
from support.inertial_scenes import MEMORY, ArmScene

from inertial_estimation.inertial.comparison_filters import LinearKalman, LogCholeskyEkf
from inertial_estimation.inertial.config import PriorConfig
from inertial_estimation.inertial.filter import InformationFilter
from inertial_estimation.inertial.posterior import Unknowns

pytestmark = pytest.mark.monte_carlo
SEEDS = 50
UPDATES = 60
CAD = PriorConfig(mass=0.2, com=0.02, radii=0.1)


def information(scene, prior):
    """The filter with the stated noise, which is the true one."""
    noise = scene.noise()
    noise.adapting = False
    return InformationFilter(Unknowns(scene.bodies, prior), noise)


def kalman(scene, prior):
    return LinearKalman(Unknowns(scene.bodies, prior), memory=MEMORY, gated=False)


def learn(filter_, block):
    """NIS of a measurement before it is learned."""
    H = block.A @ filter_.posterior.at.D
    y, S = filter_.innovation(block), H @ filter_.posterior.P @ H.T + block.noise
    (filter_.learn if isinstance(filter_, InformationFilter) else filter_.update)(block)
    return y @ np.linalg.solve(S, y)


def drawn(filter_, scene):
    """A true state from the prior, which becomes the truth of the scene."""
    P = filter_._prior if isinstance(filter_, LogCholeskyEkf) else filter_.unknowns.prior_covariance
    x_true = filter_.posterior.x + np.linalg.cholesky(P) @ scene.rng.normal(size=len(P))
    at = filter_._at(x_true) if isinstance(filter_, LogCholeskyEkf) else filter_.unknowns.at(x_true)
    scene.truth = list(at.pi_C)
    return x_true


def bounds(dof):
    return chi2.ppf([0.025, 0.975], dof * SEEDS) / SEEDS


def monte_carlo(kind, links):
    """Truth drawn from the prior; white torque noise. Returns final NEES, NIS at three times."""
    nees, nis = [], []
    scene = ArmScene(links=links)
    for seed in range(SEEDS):
        scene.rng = np.random.default_rng(seed)
        filter_ = kind(scene, CAD)
        x_true = drawn(filter_, scene)
        per_update = [learn(filter_, scene.block()[0]) for _ in range(UPDATES)]
        error = filter_.posterior.x - x_true
        nees.append(error @ np.linalg.solve(filter_.posterior.P, error))
        nis.append(per_update[UPDATES // 4 :: UPDATES // 4])
    return np.mean(nees), np.mean(nis, axis=0)


def test_nees_and_nis_of_the_linear_filter_are_chi_square():
    links = ("panda_link5", "panda_link7")
    nees, nis = monte_carlo(kalman, links)
    low, high = bounds(10 * len(links))
    assert low < nees < high
    low, high = chi2.ppf([0.0005, 0.9995], 7 * SEEDS) / SEEDS  # three times at once
    assert np.all((low < nis) & (nis < high))
    low, high = bounds(7 * len(nis)) / len(nis)
    assert low < nis.mean() < high


def test_the_filter_on_information_covers_its_errors():
    """It counts correlations that it cannot exclude: it may be cautious, never bold."""
    nees, _nis = monte_carlo(information, ("panda_link7",))
    assert 0.5 * 10.0 < nees < bounds(10)[1]


@pytest.mark.parametrize("prior", [CAD, PriorConfig(mass=0.5, com=0.05, radii=0.3)])
def test_mass_bands_hold(prior):
    """Two sigma hold 95 % of the masses although Jacobians change much on the way."""
    scene, inside = ArmScene(links=("panda_link5", "panda_link7")), []
    for seed in range(SEEDS):
        scene.rng = np.random.default_rng(seed)
        filter_ = information(scene, prior)
        drawn(filter_, scene)
        for _ in range(UPDATES):
            filter_.learn(scene.block()[0])
        at = filter_.posterior.at
        covariance = filter_.posterior.body_covariances
        masses = np.array([pi[0] for pi in scene.truth])
        inside.append((at.pi_C[:, 0] - masses) ** 2 < 4.0 * covariance[:, 0, 0])
    low, _high = binom.ppf([0.025, 0.975], 2 * SEEDS, 0.9545)
    assert low <= np.sum(inside)
