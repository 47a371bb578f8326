"""Evidence of linear models with Gaussian priors, the one measure by which hypotheses are compared.

A hypothesis predicts readings y = X x + noise with a prior x ~ N(m, P). With noise of standard deviation s
the probability of the readings is

    ln p(y | s) = -1/2 (N ln s^2 + ln det(I + P X'X / s^2) + (r'r - r'X (X'X + s^2 P^-1)^-1 X'r) / s^2)

with r = y - X m, taken at the most probable s (evidence approximation; MacKay, Neural Computation 4, 1992).
The determinant is the price of what could explain anything. Readings are smoothed, so only a share of them
counts as independent.
"""

import math
from typing import NamedTuple

import numpy as np

from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra

INDEPENDENT = 0.5  # share of the windows that count as independent
NOISE = np.geomspace(0.03, 2.0, 7)  # shares of the rms of the readings; no description is better
SIGMAS = 4.0  # standard deviations of a number that is certain
CERTAIN = 9.0  # log odds of what is certain, after the log of the number of rivals
ALIKE = 0.05  # share of the best one's log odds, within which others are alike
MOST_CORRELATION = 0.95  # of neighbouring windows
CREDIBLE = 3.0  # deviations of a prior beyond which nothing is
FARTHEST = -20.0  # of a normal variable


class Fit(NamedTuple):
    """A linear model at the most probable size of the noise, for n series at once."""

    log: Array  # log evidence, shape (n,)
    left: Array  # rms of what is left, shape (n,)
    x: Array  # coefficients, shape (n, c)
    covariance: Array  # of the coefficients, shape (n, c, c)


def most_probable(y: Array, X: Array, mean: Array, prior: Array, sizes: Array = NOISE) -> Fit:
    """Explain readings y, shape (N, n), by columns X, shape (N, n, c), with noise of the most probable size.

    The coefficients are expected at `mean` with deviations `prior`, shape (c,) or (n, c).
    """
    n, c = X.shape[1:]
    mean, prior = np.broadcast_to(mean, (n, c)), np.broadcast_to(prior, (n, c))
    r, own = y - np.einsum("ijc,jc->ij", X, mean), np.moveaxis(X * prior, 1, 0)  # coefficients of size one
    across = own.transpose(0, 2, 1)
    information, U = linear_algebra.eigh(INDEPENDENT * across @ own)
    b = INDEPENDENT * (U.transpose(0, 2, 1) @ across @ r.T[:, :, None])[..., 0]
    power, variances = INDEPENDENT * np.sum(r**2, axis=0), np.square(sizes)[:, None]
    seen = 1.0 + np.maximum(information, 0.0) / variances[:, :, None]
    explained = np.sum(b**2 / seen, axis=2) / variances
    log = -0.5 * INDEPENDENT * len(y) * np.log(variances) - 0.5 * np.log(seen).sum(axis=2)
    log -= 0.5 * (power - explained) / variances
    best, every = np.argmax(log, axis=0), np.arange(n)
    U, size = prior[:, :, None] * U, 1.0 / seen[best, every]  # of the priors, along each axis
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


def without(r: Array, X: Array, variance: float) -> Array:
    """Return what of readings r, shape (N, m), of some noise, is left by columns X, shape (N, m, c).

    Their amplitudes have the size one a priori, and none is `CREDIBLE` times as large.
    """
    columns = X.reshape(-1, X.shape[2])
    M = columns.T @ columns / variance + np.eye(X.shape[2])
    x = linear_algebra.solve(M, columns.T @ r.ravel() / variance)
    left: Array = r - X @ np.clip(x, -CREDIBLE, CREDIBLE)
    return left


def typical(left: Array) -> float:
    """Return the rms of residuals, shape (N,), but for the largest tenth: impacts, feet that slip."""
    return float(np.sqrt(np.mean(left[left <= np.quantile(left, 0.9)] ** 2)))


def independent(left: Array, count: float, power: float = 0.0) -> float:
    """Return how many of residuals, shape (N, m), count as independent: n (1 - rho) / (1 + rho).

    rho is the correlation of neighbouring windows over their power (of fitted ones: as it was before);
    what is wrong with a model lasts longer than noise.
    """
    power = power or max(float(np.sum(left**2)), 1e-12)
    rho = min(max(float(np.sum(left[1:] * left[:-1])) / power, 0.0), MOST_CORRELATION)
    return max(count * (1.0 - rho) / (1.0 + rho), 2.0)


def log_share(left: float, count: float, floor: float) -> float:
    """Return the log evidence of residuals of some size, relative to that of the readings: -n ln left."""
    return -INDEPENDENT * count * math.log(max(left, floor))


def dissipates(fit: Fit, power: Array, most: float) -> Array:
    """Return the log of the odds by which friction takes energy from the motion, shape (n,).

    With the mean power P of the fitted friction, a normal variable of deviation s, the prior that P is not
    negative adds ln 2 Phi(P / s); `power` is that of each column over its coefficient, shape (n, c), and
    `most` the largest odds against, as friction is part of no prediction.
    """
    taken = np.einsum("jc,jc->j", fit.x, power)
    sigma = np.sqrt(np.maximum(np.einsum("ja,jab,jb->j", power, fit.covariance, power), np.finfo(float).tiny))
    z = np.maximum(taken / sigma, FARTHEST)
    twice = np.array([math.erfc(-one / math.sqrt(2.0)) for one in z.tolist()])
    odds: Array = np.maximum(np.log(twice), -most)
    return odds
