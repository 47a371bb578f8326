"""What was learned is said again at the new mean: the posterior is that of all data at once."""

import numpy as np
import pytest
from scipy.optimize import least_squares
from support.inertial_scenes import MEMORY, ArmScene

from inertial_estimation.estimators.inertial import inertial_filter
from inertial_estimation.estimators.inertial.log_cholesky_ekf import LogCholeskyEkf
from inertial_estimation.estimators.inertial.prior import PriorSigma
from inertial_estimation.spatial.log_cholesky import parameters_from_log_cholesky

WIDE = PriorSigma(mass=0.5, com=0.05, radii=0.3, friction=np.zeros(0))


def batch_mean(filter_, scene, equations, convention, start):
    """Maximum a posteriori of all equations at once, by a solver that knows nothing of the filter."""
    whiten_prior = np.linalg.inv(filter_.prior_factor)
    x_nominal = filter_._x_nominal

    def residuals(x):
        pi_C = parameters_from_log_cholesky(x.reshape(-1, 10), convention)
        phi = np.concatenate([b.to_joint @ pi for b, pi in zip(scene.bodies, pi_C, strict=True)])
        data = [(e.regressor @ phi - e.value) / scene.sigma_torque for e in equations]
        return np.concatenate([whiten_prior @ (x - x_nominal), *data])

    return least_squares(residuals, start, xtol=1e-14, ftol=1e-14, gtol=1e-12)


@pytest.mark.parametrize("convention", ["rucker", "foster"])
def test_mean_and_covariance_are_those_of_all_data_at_once(convention, monkeypatch):
    # The filter is relinearised at practically every update.
    monkeypatch.setattr(inertial_filter, "RELINEARISATION_DISTANCE", 1e-5)
    scene = ArmScene(sigma_torque=0.2)
    scene.add_payload(0, 1.0, (0.0, 0.05, 0.02))
    scene.add_payload(1, 2.0, (0.03, 0.0, 0.1))
    filter_ = LogCholeskyEkf(scene.bodies, WIDE, scene.gate(enabled=False), MEMORY, 1.0, convention)
    equations = [scene.equation() for _ in range(40)]
    for equation in equations:
        filter_.update(equation, 0.0)
    batch = batch_mean(filter_, scene, equations, convention, filter_.x)
    sigma = np.sqrt(np.diag(filter_.P))
    assert np.abs((filter_.x - batch.x) / sigma).max() < 1e-3
    information = batch.jac.T @ batch.jac
    relative = np.linalg.eigvals(filter_.P @ information)
    assert np.allclose(relative, 1.0, atol=1e-2)
