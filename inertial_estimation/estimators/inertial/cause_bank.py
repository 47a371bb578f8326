"""Bayesian linear regression of one residual on many alternative causes, recursively and all at once.

Cause c predicts the whitened residual r = B_c theta_c + e. Its amplitudes theta have a normal prior and may
walk from one measurement to the next; the noise e is normal with a common unknown scale s^2, of which a
conjugate prior (inverse gamma) knows the usual value. The evidence of a cause is then that of a Student
distribution (Murphy, Machine Learning, 2012, eq. 7.70-7.75, in recursive form):

    log p_c = -(nu_0 + N)/2 log(nu_0 s_0^2 + rss_c) - 1/2 log det_c + constant

rss_c is the sum of squared innovations normalised by their predicted covariance 1 + B P B', det_c the
product of the determinants of these: the Occam factor of amplitudes that the data had to determine. "Noise
larger than stated" is the cause without columns, since the scale is unknown in all of them.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from inertial_estimation.compilation import (
    Column,
    MutableColumn,
    MutableTable,
    Table,
    compiled,
    in_place_of,
    warm_up,
)
from inertial_estimation.errors import NumericalError
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra
from inertial_estimation.spatial.positive_definite import solution_and_determinant


class CauseFit(NamedTuple):
    """The regression on n causes.

    Attributes:
        amplitudes: In units of their prior standard deviations, shape (n, d).
        covariance: Of the amplitudes, in units of s^2, shape (n, d, d).
        rss: Normalised innovations squared, summed, shape (n,).
    """

    amplitudes: Array
    covariance: Array
    rss: Array


@dataclass(frozen=True, slots=True)
class NoiseScale:
    """Prior of the variance of whitened residuals.

    Attributes:
        variance: Usual value s_0^2.
        strength: Number nu_0 of residuals that this knowledge is worth.
    """

    variance: float
    strength: float


class CauseBank:
    """Amplitudes and evidence of causes with the same number of columns.

    Attributes:
        amplitudes: In units of their prior standard deviations, shape (n, d).
        covariance: Of the amplitudes, in units of s^2, shape (n, d, d).
        rss: Normalised innovations squared, summed, shape (n,).
        log_det: Logarithm of det_c, shape (n,).
    """

    def __init__(self, causes: int, columns: int) -> None:
        """Begin with amplitudes known to be zero.

        Args:
            causes: Number n of causes.
            columns: Number d of columns of each.
        """
        self.amplitudes: Array = np.zeros((causes, columns))
        self.covariance: Array = np.zeros((causes, columns, columns))
        self.rss: Array = np.zeros(causes)
        self.log_det: Array = np.zeros(causes)
        self._information: Array = np.zeros((causes, columns, columns))
        self._identity = np.eye(columns)
        warm_up()

    def feed(self, columns: Array, residual: Array, weight: float, walk: float) -> None:
        """Add one measurement.

        With F = w B'B and b = w B'(r - B theta), P becomes (P^-1 + F)^-1 = (1 + P F)^-1 P and theta moves
        by P b.

        Args:
            columns: Whitened columns B in units of the amplitudes' prior deviations, shape (n, m, d).
            residual: Whitened residual r, shape (m,).
            weight: Number w of independent measurements that this one counts for.
            walk: Variance of the amplitudes' change since the last measurement, in units of s^2.
        """
        amplitudes, covariance = np.empty_like(self.amplitudes), np.empty_like(self.covariance)
        m, d = columns.shape[1:]
        if not _feed(
            (np.ascontiguousarray(columns).reshape(-1, d), np.ascontiguousarray(residual)),
            (self.amplitudes, self.covariance.reshape(-1, d)),
            (weight, walk),
            (amplitudes, covariance.reshape(-1, d)),
            (self._information.reshape(-1, d), self.rss, self.log_det),
        ):
            raise NumericalError(f"the amplitudes of {len(amplitudes)} causes in {m} rows have no solution")
        self.amplitudes, self.covariance = amplitudes, covariance

    @property
    def fit(self) -> CauseFit:
        """The regression as it is now."""
        return CauseFit(self.amplitudes, self.covariance, self.rss)

    def log_det_constant(self, variance: float) -> Array:
        """Return the logarithm of the Occam factors' determinants of constant amplitudes, shape (n,).

        Args:
            variance: Usual variance of the residuals, of which the prior of the amplitudes is the inverse.
        """
        logs: Array = np.log(np.linalg.det(self._identity + self._information / variance))
        return logs

    def log_evidence(self, total: float, scale: NoiseScale, log_det: Array) -> Array:
        """Return the logarithm of the evidence up to a constant, shape (n,).

        Args:
            total: Number N of independent residuals seen, weights included.
            scale: Prior of the noise.
            log_det: Logarithm of the Occam factors' determinants, shape (n,).
        """
        evidence: Array = log_student(self.rss, total, scale) - 0.5 * log_det
        return evidence


Measurement = tuple[Array, Array]  # whitened columns one cause below the other, (n m, d), and residual, (m,)
Amplitudes = tuple[Array, Array]  # shape (n, d), and their covariances one below the other, shape (n d, d)
Sums = tuple[Array, Array, Array]  # information one below the other, (n d, d), `rss` and `log_det`, (n,)


def corrected(
    measurement: Measurement, before: Amplitudes, numbers: tuple[float, float], after: Amplitudes, sums: Sums
) -> bool:
    """Add one measurement to n causes, as `CauseBank.feed`; return whether the equations have a solution.

    Args:
        measurement: The measurement.
        before: Amplitudes before it.
        numbers: Weight of the measurement, and variance of the amplitudes' change since the last one.
        after: Amplitudes after it; written.
        sums: What is added to.
    """
    residual, (weight, walk), (n, d) = measurement[1], numbers, before[0].shape
    columns = measurement[0].reshape(n, -1, d)
    transposed, identity = columns.transpose(0, 2, 1), np.eye(d)
    error = residual - (columns @ before[0][:, :, None])[:, :, 0]
    F = weight * (transposed @ columns)
    b = weight * (transposed @ error[:, :, None])
    P = before[1].reshape(n, d, d) + walk * identity
    widened = identity + P @ F
    P = linear_algebra.solve(widened, P)
    P = 0.5 * (P + P.transpose(0, 2, 1))
    step = P @ b
    after[0][:], after[1][:] = before[0] + step[:, :, 0], P.reshape(-1, d)
    sums[0][:] += F.reshape(-1, d)
    sums[1][:] += np.maximum(weight * (error**2).sum(axis=1) - (b * step).sum(axis=(1, 2)), 0.0)
    sums[2][:] += np.log(np.maximum(np.linalg.det(widened), 1.0))
    return True


@in_place_of(corrected)
def _corrected(
    measurement: Measurement, before: Amplitudes, numbers: tuple[float, float], after: Amplitudes, sums: Sums
) -> bool:
    (columns, residual), (weight, walk) = measurement, numbers
    m, (n, d) = len(residual), before[0].shape
    for i in range(n):
        rows, B = slice(d * i, d * i + d), columns[m * i : m * i + m]
        turned = np.ascontiguousarray(B.T)
        error = residual - np.dot(B, before[0][i])
        F, b = weight * np.dot(turned, B), weight * np.dot(turned, error)
        P = before[1][rows] + walk * np.eye(d)
        P, determinant, regular = solution_and_determinant(np.eye(d) + np.dot(P, F), P)
        if not regular:
            return False
        P = 0.5 * (P + P.T)
        step = np.dot(P, b)
        after[0][i], after[1][rows] = before[0][i] + step, P
        sums[0][rows] += F
        sums[1][i] += max(weight * np.dot(error, error) - np.dot(b, step), 0.0)
        sums[2][i] += math.log(max(determinant, 1.0))
    return True


@compiled
def _feed(
    measurement: tuple[Table, Column],
    before: tuple[Table, Table],
    numbers: tuple[float, float],
    after: tuple[MutableTable, MutableTable],
    sums: tuple[MutableTable, MutableColumn, MutableColumn],
) -> bool:
    """Add one measurement, as `corrected`."""
    return corrected(measurement, before, numbers, after, sums)


def log_student(rss: Array, total: float, scale: NoiseScale) -> Array:
    """Return -(nu_0 + N)/2 log(1 + rss / (nu_0 s_0^2)).

    Args:
        rss: Normalised innovations squared, summed.
        total: Number N of independent residuals.
        scale: Prior of the noise.
    """
    prior = scale.strength * scale.variance
    value: Array = -0.5 * (scale.strength + total) * np.log1p(rss / prior)
    return value
