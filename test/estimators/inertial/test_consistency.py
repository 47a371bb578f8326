"""Monte Carlo: errors are as large as the filter says, within two-sided chi-square bounds.

The run on TALOS, raw sensors through the pipeline, is a row of `python -m benchmarks.referee`.
"""

import numpy as np
import pytest
from scipy.stats import binom, chi2
from support.inertial_scenes import MEMORY, ArmScene

from inertial_estimation.estimators.inertial.linear_kalman import LinearKalman
from inertial_estimation.estimators.inertial.log_cholesky_ekf import LogCholeskyEkf
from inertial_estimation.estimators.inertial.prior import PriorSigma

pytestmark = pytest.mark.monte_carlo
SEEDS = 50
UPDATES = 60
CAD = PriorSigma(mass=0.2, com=0.02, radii=0.1, friction=np.zeros(0))


def bounds(dof):
    return chi2.ppf([0.025, 0.975], dof * SEEDS) / SEEDS


def monte_carlo(kind, links):
    """Truth drawn from the prior; white torque noise. Returns final NEES, NIS at three times."""
    nees, nis = [], []
    scene = ArmScene(links=links)
    for seed in range(SEEDS):
        scene.rng = np.random.default_rng(seed)
        filter_ = kind(scene.bodies, CAD, scene.gate(enabled=False), MEMORY)
        x_true = filter_.x + filter_.prior_factor @ scene.rng.normal(size=len(filter_.x))
        scene.truth = list(filter_._body_map(x_true.reshape(-1, 10))[0])
        per_update = [filter_.update(scene.equation(), 0.003).nis for _ in range(UPDATES)]
        error = filter_.x - x_true
        nees.append(error @ np.linalg.solve(filter_.P, error))
        nis.append(per_update[UPDATES // 4 :: UPDATES // 4])
    return np.mean(nees), np.mean(nis, axis=0)


@pytest.mark.parametrize(
    ("kind", "links"),
    [(LinearKalman, ("panda_link5", "panda_link7")), (LogCholeskyEkf, ("panda_link7",))],
)
def test_nees_and_nis_are_chi_square(kind, links):
    nees, nis = monte_carlo(kind, links)
    low, high = bounds(10 * len(links))
    assert low < nees < high
    low, high = chi2.ppf([0.0005, 0.9995], 7 * SEEDS) / SEEDS  # three times at once
    assert np.all((low < nis) & (nis < high))
    low, high = bounds(7 * len(nis)) / len(nis)
    assert low < nis.mean() < high


def test_the_reported_mass_sigma_is_that_of_the_masses():
    scene = ArmScene(links=("panda_link7",))
    ratios = []
    for seed in range(SEEDS):
        scene.rng = np.random.default_rng(seed)
        filter_ = LogCholeskyEkf(scene.bodies, CAD, scene.gate(enabled=False), MEMORY)
        x_true = filter_.x + filter_.prior_factor @ scene.rng.normal(size=10)
        scene.truth = list(filter_._body_map(x_true.reshape(-1, 10))[0])
        for _ in range(20):
            filter_.update(scene.equation(), 0.003)
        pi_C, covariance = filter_.body_parameters()
        ratios.append((pi_C[0, 0] - scene.truth[0][0]) ** 2 / covariance[0, 0, 0])
    low, high = bounds(1)
    assert low < np.mean(ratios) < high


def test_mass_bands_hold_with_wide_priors():
    """Two sigma hold 95 % of the masses although Jacobians change much on the way."""
    wide = PriorSigma(mass=0.5, com=0.05, radii=0.3, friction=np.zeros(0))
    scene, inside = ArmScene(links=("panda_link5", "panda_link7")), []
    for seed in range(SEEDS):
        scene.rng = np.random.default_rng(seed)
        filter_ = LogCholeskyEkf(scene.bodies, wide, scene.gate(enabled=False), MEMORY)
        x_true = filter_.x + filter_.prior_factor @ scene.rng.normal(size=20)
        scene.truth = list(filter_._body_map(x_true.reshape(-1, 10))[0])
        for _ in range(UPDATES):
            filter_.update(scene.equation(), 0.003)
        pi_C, covariance = filter_.body_parameters()
        masses = np.array([pi[0] for pi in scene.truth])
        inside.append((pi_C[:, 0] - masses) ** 2 < 4.0 * covariance[:, 0, 0])
    low, high = binom.ppf([0.025, 0.975], 2 * SEEDS, 0.9545)
    assert low <= np.sum(inside) <= high
