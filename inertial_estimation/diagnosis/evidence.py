"""Evidence of linear models with Gaussian priors, the one measure by which hypotheses are compared.

A hypothesis predicts readings y = X x + noise with a prior x ~ N(m, P). With noise of standard deviation s
the probability of the readings is

    ln p(y | s) = -1/2 (N ln s^2 + ln det(I + P X'X / s^2) + (r'r - r'X (X'X + s^2 P^-1)^-1 X'r) / s^2)

with r = y - X m, taken at the most probable s (evidence approximation; MacKay, Neural Computation 4, 1992).
The determinant penalises flexible hypotheses, which could explain any readings (Occam factor). Readings are
smoothed, so only a share of them counts as independent.
"""

import math
from typing import NamedTuple

import numpy as np

from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra

INDEPENDENT = 0.5  # share of the windows that count as independent
NOISE = np.geomspace(0.03, 2.0, 7)  # candidate sizes of the noise, shares of the rms of the readings
SIGMAS = 4.0  # standard deviations from zero at which a number is significant
CERTAIN = 9.0  # log odds of a certain hypothesis, beyond the logarithm of the number of alternatives
ALIKE = 0.05  # share of the best log odds within which alternatives cannot be distinguished
MOST_CORRELATION = 0.95  # largest correlation of neighbouring windows that is assumed
CREDIBLE = 3.0  # standard deviations of a prior beyond which a coefficient is not credible
FARTHEST = -20.0  # least argument at which the normal distribution is evaluated


class Fit(NamedTuple):
    """A linear model at the most probable size of the noise, for n series at once."""

    log: Array  # log evidence, shape (n,)
    left: Array  # rms of the residuals, shape (n,)
    x: Array  # coefficients, shape (n, c)
    covariance: Array  # of the coefficients, shape (n, c, c)


def most_probable(y: Array, X: Array, mean: Array, prior: Array, sizes: Array = NOISE) -> Fit:
    """Explain readings y, shape (N, n), by columns X, shape (N, n, c), with noise of the most probable size.

    The coefficients are expected at `mean` with deviations `prior`, shape (c,) or (n, c).
    """
    n, c = X.shape[1:]
    mean, prior = np.broadcast_to(mean, (n, c)), np.broadcast_to(prior, (n, c))
    r, own = y - np.einsum("ijc,jc->ij", X, mean), np.moveaxis(X * prior, 1, 0)  # priors of deviation one
    across = own.transpose(0, 2, 1)
    information, U = linear_algebra.eigh(INDEPENDENT * across @ own)
    b = INDEPENDENT * (U.transpose(0, 2, 1) @ across @ r.T[:, :, None])[..., 0]
    power, variances = INDEPENDENT * np.sum(r**2, axis=0), np.square(sizes)[:, None]
    seen = 1.0 + np.maximum(information, 0.0) / variances[:, :, None]
    explained = np.sum(b**2 / seen, axis=2) / variances
    log = -0.5 * INDEPENDENT * len(y) * np.log(variances) - 0.5 * np.log(seen).sum(axis=2)
    log -= 0.5 * (power - explained) / variances
    best, every = np.argmax(log, axis=0), np.arange(n)
    U, size = prior[:, :, None] * U, 1.0 / seen[best, every]  # posterior over prior variance of each axis
    x = (U @ (b * size / variances[best])[..., None])[..., 0]
    left = np.sqrt(np.mean((r - np.einsum("ijc,jc->ij", X, x)) ** 2, axis=0))
    return Fit(log[best, every], left, x + mean, (U * size[:, None]) @ U.transpose(0, 2, 1))


def gained(S: Array, g: Array, prior: Array) -> tuple[Array, Array, Array]:
    """Return the most probable amplitudes of columns, their covariance, and the log odds for them.

    With noise of size one, information S, gradient g and prior deviations of the columns (or stacks of them)
    the odds are 1/2 g' (S + P^-1)^-1 g - 1/2 ln det(I + P S).
    """
    covariance = linear_algebra.inv(S + np.diag(prior**-2.0))
    x = (covariance @ g[..., None])[..., 0]
    log_det = np.linalg.slogdet(np.eye(len(prior)) + prior[:, None] * S * prior)[1]
    odds: Array = 0.5 * (np.sum(g * x, axis=-1) - log_det)
    return x, covariance, odds


def without_nuisance(r: Array, X: Array, variance: float) -> Array:
    """Return the residual of readings r, shape (N, m), after a fit of nuisance columns X, shape (N, m, c).

    `variance` is that of the noise. Amplitudes have prior deviation one, and are at most `CREDIBLE`.
    """
    columns = X.reshape(-1, X.shape[2])
    M = columns.T @ columns / variance + np.eye(X.shape[2])
    x = linear_algebra.solve(M, columns.T @ r.ravel() / variance)
    left: Array = r - X @ np.clip(x, -CREDIBLE, CREDIBLE)
    return left


def trimmed_rms(left: Array) -> float:
    """Return the rms of residuals, shape (N,), without the largest tenth (impacts, feet that slip)."""
    return float(np.sqrt(np.mean(left[left <= np.quantile(left, 0.9)] ** 2)))


def independent(left: Array, count: float, power: float = 0.0) -> float:
    """Return the number of independent residuals among those of shape (N, m): n (1 - rho) / (1 + rho).

    rho is the correlation of neighbouring windows over `power` (of fitted residuals: that before the fit),
    because errors of a model last longer than noise.
    """
    power = power or max(float(np.sum(left**2)), 1e-12)
    rho = min(max(float(np.sum(left[1:] * left[:-1])) / power, 0.0), MOST_CORRELATION)
    return max(count * (1.0 - rho) / (1.0 + rho), 2.0)


def log_share(left: float, count: float, floor: float) -> float:
    """Return the log evidence of residuals of some size, relative to that of the readings: -n ln left."""
    return -INDEPENDENT * count * math.log(max(left, floor))


def dissipation(fit: Fit, power: Array, most: float) -> Array:
    """Return the log odds that fitted friction dissipation energy, shape (n,).

    The mean power P of the fitted friction is a normal variable of deviation s; the prior that P is not
    negative adds ln 2 Phi(P / s). `power` is the mean power of each column per unit coefficient, shape
    (n, c). `most` bounds the log odds against, because friction is not part of the description.
    """
    dissipated = np.einsum("jc,jc->j", fit.x, power)
    sigma = np.sqrt(np.maximum(np.einsum("ja,jab,jb->j", power, fit.covariance, power), np.finfo(float).tiny))
    z = np.maximum(dissipated / sigma, FARTHEST)
    twice = np.array([math.erfc(-one / math.sqrt(2.0)) for one in z.tolist()])
    odds: Array = np.maximum(np.log(twice), -most)
    return odds
