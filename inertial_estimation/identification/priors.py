"""Gaussian prior of the deviations of the parameters from their nominal values.

Deviations of a body are taken about its nominal centre of mass in units of its nominal radius of gyration,
where mass, first and second moments are nearly independent. A load has deviations of its own, from zero.
"""

import numpy as np

from inertial_estimation.identification.identification_config import MethodConfig
from inertial_estimation.identification.parameter_set import ParameterSet
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra

# Standard deviations of the friction parameters of an arm's joint, SI units.
FRICTION_DEVIATIONS = {
    "coulomb": 1.0,
    "viscous": 1.0,
    "offset": 1.0,
    "armature": 0.1,
    "coulomb_slope": 1.0,
    "coulomb_load": 0.1,
}


def prior_factor(parameters: ParameterSet, config: MethodConfig) -> Array:
    """Return upper triangular T such that T x has unit covariance; ||T x||^2 is the cost of the prior.

    Args:
        parameters: The unknowns.
        config: Deviations of mass, centre of mass and radii of gyration.

    Returns:
        Shape (n, n), regular.
    """
    rows = np.zeros(parameters.E.shape)
    for i, body in enumerate(parameters.bodies):
        m, own = body.nominal_J.mass, slice(10 * i, 10 * i + 10)
        shares = [
            config.mass_deviation,
            *3 * [config.com_deviation / body.length],
            *6 * [config.radii_deviation],
        ]
        to_C = linear_algebra.inv(body.to_link) / (m * np.array(shares))[:, None]
        rows[own] = to_C @ parameters.E[own]
    for i in parameters.friction_rows:
        rows[i] = parameters.E[i] / FRICTION_DEVIATIONS[parameters.names[i].rpartition("/")[2]]
    if parameters.payload:
        rows[-10:] = parameters.E[-10:] / parameters.payload.unit[:, None]
    T: Array = np.asarray(np.linalg.qr(rows, mode="r"))
    return T


def posterior_covariance(R: Array, T: Array) -> Array:
    """Return (R'R + T'T)^-1, the covariance of x.

    R x = z + noise are the equations and T x is the prior, noise and prior of unit variance.

    Args:
        R: Factor of the weighted equations, shape (n, n).
        T: Factor of the prior, shape (n, n), regular.
    """
    half = linear_algebra.inv(linear_algebra.triangular_factor(np.vstack((R, T))))
    covariance: Array = half @ half.T
    return covariance


def inflated_covariance(covariance: Array, R: Array, inflation: float) -> Array:
    """Return the covariance of an estimate whose noise has a larger variance than it was weighted by.

    With P = (R'R + T'T)^-1 and noise of variance mu, x = P R'z has P (mu R'R + T'T) P = P + (mu - 1) P R'R P.

    Args:
        covariance: P, shape (n, n).
        R: Factor of the weighted equations, shape (n, n).
        inflation: mu, 1 or more.
    """
    found: Array = covariance @ R.T
    total: Array = covariance + (inflation - 1.0) * found @ found.T
    return total


def typical_deviations(parameters: ParameterSet, config: MethodConfig) -> Array:
    """Return the prior standard deviation of each unknown.

    Args:
        parameters: The unknowns.
        config: Deviations of mass, centre of mass and radii of gyration.

    Returns:
        In the unknowns' units, shape (n,).
    """
    deviations: Array = 1.0 / np.linalg.norm(prior_factor(parameters, config), axis=0)
    return deviations
