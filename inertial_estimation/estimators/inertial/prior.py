"""Gaussian prior of the inertial filters about the nominal parameters."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from inertial_estimation.estimators.inertial.sensor_states import SensorPrior
from inertial_estimation.models.body_reference import BodyReference
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra
from inertial_estimation.spatial.log_cholesky import log_cholesky_from_parameters, parameters_and_jacobian


@dataclass(frozen=True)
class PriorSigma:
    """Standard deviations of the parameters about their nominal values, in physical terms.

    Attributes:
        mass: Standard deviation of the logarithm of the mass, approximately relative.
        com: Standard deviation of each component of the centre of mass [m].
        radii: Relative standard deviation of the three radii of gyration, and of the shear between them.
        friction: Standard deviation of each friction parameter, in its unit, shape (n_friction,).
        nominal_friction: Nominal value of each friction parameter; None for all zero.
        sensors: The errors of the sensors.
    """

    mass: float
    com: float
    radii: float
    friction: Array
    nominal_friction: Array | None = None
    sensors: SensorPrior = field(default_factory=SensorPrior)


def prior_covariance(prior: PriorSigma, bodies: Sequence[BodyReference], jacobians: Sequence[Array]) -> Array:
    """Map the prior, stated in Rucker's coordinates about nominal, into the coordinates of a filter.

    Args:
        prior: Standard deviations in physical terms.
        bodies: The bodies, in the order of the state.
        jacobians: Derivative of each body's nominal parameters in C by the filter's coordinates, (10, 10).

    Returns:
        Covariance of the state: bodies, friction, errors of the sensors, shape (n, n).
    """
    n = 10 * len(bodies)
    linear = np.concatenate((prior.friction, prior.sensors.sigmas))
    P = np.zeros((n + len(linear),) * 2)
    for i, (body, G) in enumerate(zip(bodies, jacobians, strict=True)):
        sigma = np.array([0.5 * prior.mass] + 6 * [prior.radii] + 3 * [prior.com / body.length])
        theta = log_cholesky_from_parameters(body.nominal_C)[None]
        _pi, G_theta = parameters_and_jacobian(theta)
        L = linear_algebra.solve(G, G_theta[0] * sigma)
        P[10 * i : 10 * i + 10, 10 * i : 10 * i + 10] = L @ L.T
    P[n:, n:] = np.diag(linear**2)
    return P
