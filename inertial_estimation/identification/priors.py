"""Prior of the deviations from the nominal parameters.

A body is compared with its nominal one by the log-determinant divergence of their pseudo-inertias (Lee,
Wensing and Park, "Geometric robot dynamic identification", T-RO 2020),

    w (tr S - log det S),    S = C^-1 J(x) C^-T,    C C' = J_nominal,

convex, the same in every frame and unit, infinite at the boundary of consistent bodies, with a standard
deviation of 1 / (2 sqrt(w)) of the mass near nominal. Its second-order part, ||T x||^2 / 2, is normal.
"""

import numpy as np

from inertial_estimation.identification.parameter_set import ParameterSet
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra
from inertial_estimation.spatial.inertial_parameters import pseudo_inertia

THINNEST_SHARE = 0.1  # of a body's size: a thinner one is a placeholder and expected to be this thick


def body_weight(mass_deviation: float) -> float:
    """Return w, the weight of the divergence, from the relative standard deviation of the masses."""
    return 1.0 / (2.0 * mass_deviation) ** 2


def body_slopes(parameters: ParameterSet) -> tuple[Array, Array]:
    """Return S at nominal and its derivative by the unknowns, of every body, and of a load in its own units.

    S is the identity but for placeholders, bodies much thinner than they are large: there C C' is thicker.

    Returns:
        S(0) of shape (b, 4, 4) and dS/dx of shape (b, n, 4, 4); a load, the last one, has S(0) = 0.
    """
    starts, slopes = [], []
    for i, body in enumerate(parameters.bodies):
        own = slice(10 * i, 10 * i + 10)
        to_C = linear_algebra.inv(body.to_link)
        J = pseudo_inertia(to_C @ parameters.nominal[own])
        m = J[3, 3]
        radii, axes = linear_algebra.eigh(J[:3, :3] / m)
        size = np.hypot(1.0, np.linalg.norm(body.nominal_J.com_F) / body.length)
        thick = J.copy()
        thick[:3, :3] = m * (axes * np.maximum(radii, (THINNEST_SHARE * size) ** 2)) @ axes.T
        C_inv = linear_algebra.inv(linear_algebra.cholesky(thick))
        starts.append(C_inv @ J @ C_inv.T)
        slopes.append(C_inv @ pseudo_inertia((to_C @ parameters.E[own]).T) @ C_inv.T)
    if parameters.payload:
        starts.append(np.zeros((4, 4)))
        slopes.append(pseudo_inertia((parameters.E[-10:] / parameters.payload.unit[:, None]).T))
    return np.array(starts), np.array(slopes)


def linear_rows(parameters: ParameterSet) -> Array:
    """Return the rows of unit variance of what has a normal prior: friction and a load, shape (k, n)."""
    first = 10 * len(parameters.bodies)
    rows: Array = parameters.E[first:].copy()
    count = len(parameters.friction_rows)
    rows[:count] /= parameters.friction_sigma[:, None]
    if parameters.payload:
        rows[count:] /= parameters.payload.unit[:, None]
    return rows


def prior_factor(parameters: ParameterSet, mass_deviation: float) -> Array:
    """Return upper triangular T such that T x has unit covariance; ||T x||^2 is twice the cost of the prior.

    The standard deviation of the masses is relative; T is regular, shape (n, n).
    """
    slopes = body_slopes(parameters)[1][: len(parameters.bodies)]
    bodies = np.sqrt(body_weight(mass_deviation)) * slopes.transpose(0, 2, 3, 1).reshape(-1, slopes.shape[1])
    return linear_algebra.triangular_factor(np.vstack((bodies, linear_rows(parameters))))


def posterior_covariance(R: Array, T: Array) -> Array:
    """Return (R'R + T'T)^-1, the covariance of x.

    R x = z + noise are the equations and T x is the prior, both of unit variance, shape (n, n).
    """
    half = linear_algebra.inv(linear_algebra.triangular_factor(np.vstack((R, T))))
    covariance: Array = half @ half.T
    return covariance


def typical_deviations(parameters: ParameterSet, mass_deviation: float) -> Array:
    """Return the prior standard deviation of each unknown in its unit, shape (n,)."""
    deviations: Array = np.linalg.norm(linear_algebra.inv(prior_factor(parameters, mass_deviation)), axis=1)
    return deviations
