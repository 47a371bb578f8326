"""Noise of groups of rows, estimated from the innovations.

An innovation y of row i has the variance S = (H P H')_ii + R_ii, with R_ii = s_g^2 R_0,ii. The score of log
s_g^2 is the mean of R_ii / S (y^2 / S - 1) / 2 over rows and blocks, its information that of (R_ii / S)^2 /
2: blocks dominated by uncertain parameters contain little information about the noise. Innovations are
weighted by Student's t with four degrees of freedom; the stated noise counts as PRIOR_S seconds of data.
There are two scales: the one in use, by which blocks are tested and weighted, falls slowly, since motions
with other model errors may follow; the shown one, for covariances, follows the innovations so far. Correlated
innovations of successive blocks contain less information, by (1 + rho) / (1 - rho).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from inertial_estimation.models.measurement_rows import BASE_ROWS, Indices
from inertial_estimation.signals import Array

FREEDOM = 4.0  # of Student's t: residuals of real joints have such tails
PRIOR_S = np.array([[0.3], [0.03]])  # weight of the stated noise in the scales in use, and shown [s]
MEMORY_S = 10.0  # time constant of the statistics [s]
PRIOR_LOG = 1.1  # prior standard deviation of the log of the scale: a factor of three
INDEPENDENT_S = 4.0  # correlation time of model errors of one row [s]
LARGEST = 30.0  # largest factor on a standard deviation; its inverse is the smallest one
FASTEST = 0.4  # largest change of the log variance of a group from one block to the next
GAUSSIAN = 0.766  # mean of weight times squared normalised innovation for Gaussian noise
REPORTED = 1.7  # factor from which a stated noise is reported as too small
REPORTED_LARGE = 5.0  # or as too large: it covers model errors that a clean simulation lacks
KNOWN_S = 2.0  # length of the data after which a wrong stated noise is reported [s]
WHOLE = 0.99  # least share of a row that readings reach, for its innovation to count
PROJECTED = "noise"  # group of rows in the basis of a null space, which changes with the posture
CORRELATION_PRIOR = 20.0  # weight of the prior correlation of zero, in blocks


@dataclass(frozen=True, eq=False)
class EquationBlock:
    """Measurement equations at one time: value = A phi + noise.

    Attributes:
        A: Regressor, with columns of friction and errors of sensors, shape (m, n).
        value: Measured rows, shape (m,).
        noise: Stated covariance of the rows, with static friction, shape (m, m).
        dt: Duration that the equations represent [s].
        time_ns: Time of the measurement [ns].
        at_rest: Whether joints and base are at rest.
        known: Share of each row that missing readings do not reach, shape (m,).
        considered: Columns of considered (Schmidt) parameters with amplitudes N(0, 1), shape (m, k).
        friction: Variance of friction errors, added when causes are compared, shape (m,).
    """

    A: Array
    value: Array
    noise: Array
    dt: float
    time_ns: int = 0
    at_rest: bool = False
    known: Array | float = 1.0
    considered: Array | None = None
    friction: Array | float = 0.0

    @property
    def columns(self) -> Array:
        """All columns, shape (m, n + k)."""
        return self.A if self.considered is None else np.concatenate((self.A, self.considered), axis=1)

    @property
    def reached(self) -> Array:
        """Share of each row that missing readings do not reach, shape (m,)."""
        reached: Array = self.known * np.ones(len(self.value))
        return reached

    def with_friction(self, noise: Array) -> Array:
        """Return a covariance of the rows, shape (m, m), plus the variance of friction errors."""
        covariance: Array = noise.copy()
        covariance.ravel()[:: len(noise) + 1] += self.friction
        return covariance

    @property
    def size(self) -> float:
        """Number of rows, those that missing readings reach counted by their share."""
        return float(self.reached.sum())


def student_weights(q: Array) -> Array:
    """Return the weights of squared normalised innovations, (nu + 1) / (nu + q), at most one.

    Args:
        q: Squares of innovations over their variances.
    """
    weights: Array = np.minimum((FREEDOM + 1.0) / (FREEDOM + q), 1.0)
    return weights


def row_groups(row_names: Sequence[str]) -> tuple[tuple[str, ...], Indices]:
    """Return the parameter that states the noise of each group, and the group of each row, shape (m,).

    Args:
        row_names: Names of the rows.
    """
    parameters = [_parameter(name) for name in row_names]
    names = tuple(dict.fromkeys(parameters))
    return names, np.array([names.index(parameter) for parameter in parameters])


def _parameter(row: str) -> str:
    if row in BASE_ROWS:
        return "noise.base_force" if "force" in row else "noise.base_moment"
    return PROJECTED if row.startswith("projected_") else "noise.torque"


class NoiseScale:
    """Scale of the stated noise of each group of rows, from the innovations of all blocks learned.

    Noise at rest says little about noise in motion, with its impacts, flexible links and errors of
    accelerations. Both are estimated separately, and the larger one is used.

    Attributes:
        names: Parameter that states the noise of each group.
        groups: Group of each row, shape (m,).
        adapting: Whether the estimated scale is used; False: the stated noise.
    """

    def __init__(self, names: tuple[str, ...], groups: Indices) -> None:
        """Start with the stated noise.

        Args:
            names: Parameter that states the noise of each group.
            groups: Group of each row, shape (m,).
        """
        self.names, self.groups, self.adapting = names, groups, True
        belongs = np.equal.outer(groups, np.arange(len(names)))
        self._rows: Array = belongs.sum(axis=0, dtype=float)
        self._averages: Array = belongs / self._rows  # of rows (..., m), over those of each group
        self.reset()

    def reset(self) -> None:
        """Return to the stated noise."""
        self._of_both: Array = np.ones((2, 2, len(self.names)))  # in motion and at rest; used and shown
        self._seconds, self._informed = np.zeros(2), np.zeros((2, 2, len(self.names)))
        self._products: Array = np.zeros(len(self.names))
        self._squares: Array = np.full(len(self.names), CORRELATION_PRIOR)
        self._last: Array | None = None

    def discount(self, share: float) -> None:
        """Keep a share of the statistics, so that the scale follows new innovations faster."""
        self._informed *= share
        self._seconds *= share

    def enlarge(self, factor: Array | float) -> None:
        """Increase the scale by factors on standard deviations, shape (count,)."""
        self._of_both = np.minimum(factor**2 * self._of_both, LARGEST**2)

    @property
    def _largest(self) -> Array:
        """s_g^2 in use and shown, shape (2, count): the larger one of motion and rest."""
        in_motion, at_rest = self._of_both
        largest: Array = np.maximum(in_motion, at_rest if self._seconds[1] > KNOWN_S else 0.0)
        return largest

    @property
    def variance(self) -> Array:
        """s_g^2 in use, shape (count,)."""
        variance: Array = self._largest[0] if self.adapting else np.ones(len(self.names))
        return variance

    @property
    def correlation(self) -> Array:
        """Correlation of successive normalised innovations of each group, shape (count,)."""
        correlation: Array = np.minimum(np.maximum(self._products / self._squares, 0.0), 0.95)
        return correlation

    @property
    def weights(self) -> Array:
        """w_g = 1 / s_g, the root of the weight of the information of each group."""
        weights: Array = self.variance**-0.5
        return weights

    @property
    def cautious_weights(self) -> Array:
        """1 / (s_g sqrt(c_g)) for covariances, with the shown s_g and c_g = (1 + rho) / (1 - rho)."""
        rho = self.correlation
        shown = self._largest[1] if self.adapting else np.ones(len(self.names))
        weights: Array = np.sqrt((1.0 - rho) / (1.0 + rho) / shown)
        return weights

    def scaled(self, noise: Array, variance: Array | None = None) -> Array:
        """Return a stated covariance at the scale in use.

        Args:
            noise: Shape (..., m, m).
            variance: Another scale s_g^2, shape (count,).
        """
        s = np.sqrt(self.variance if variance is None else variance)[self.groups]
        scaled: Array = s[:, None] * noise * s
        return scaled

    def shown(self, block: EquationBlock) -> Array:
        """Return the covariance of a block by what innovations at rest, or in motion, have shown, (m, m).

        At rest they are smaller than the noise in use, which is that of motion until much of it has come.
        """
        return self.scaled(block.noise, self._of_both[int(block.at_rest), 1] if self.adapting else None)

    def uncertainty(self, *, at_rest: bool) -> float:
        """Return the uncertainty factor of the standard deviations, one sigma of its logarithm."""
        informed = 1.0 / PRIOR_LOG**2 + self._seconds[int(at_rest)] * len(self.groups) / INDEPENDENT_S
        return float(np.exp(informed**-0.5))

    def precision(self, dt: float) -> float:
        """Return the inverse variance of the log of a scale that is constant in time.

        Args:
            dt: Duration of a block [s]; each innovation of noise alone adds two.
        """
        innovations = self._informed[:, 1].sum(axis=0) / dt @ self._rows
        return float(PRIOR_LOG**-2 + 2.0 * innovations)

    def see(self, block: EquationBlock, innovation: Array, predicted: Array) -> Array:
        """Update the scales by the innovation of a block before it is learned.

        Args:
            block: The equations.
            innovation: Shape (m,).
            predicted: Variance of the prediction, the diagonal of H P H', shape (m,).

        Returns:
            Student weights of the rows, shape (m,).
        """
        R0 = block.noise.diagonal()
        regime, keep = int(block.at_rest), float(np.exp(-block.dt / MEMORY_S))
        scale, informed = self._of_both[regime], self._informed[regime]
        R = scale[:, self.groups] * R0
        S = predicted + R
        q = innovation**2 / S
        weights, informing = student_weights(q), (block.known > WHOLE) * R / S
        surplus = (informing * (weights * q / GAUSSIAN - 1.0)) @ self._averages
        informed[:] = keep * informed + block.dt * (informing**2 @ self._averages)
        change = block.dt * surplus / (informed + PRIOR_S)
        grown = scale * np.exp(np.minimum(np.maximum(change, -FASTEST), FASTEST))
        scale[:] = np.minimum(np.maximum(grown, LARGEST**-2), LARGEST**2)
        self._seconds[regime] += block.dt
        self._correlate(innovation * np.sqrt(weights[0] / S[0]), informing[0], block.dt)
        used: Array = weights[0]
        return used

    def _correlate(self, y: Array, informing: Array, dt: float) -> None:
        """Update the correlation of successive normalised innovations, weighted by their share of noise."""
        if self._last is not None:
            keep = np.exp(-dt / MEMORY_S)
            product, square = informing * y * self._last, informing * y**2
            self._products = keep * self._products + product @ self._averages
            prior = (1.0 - keep) * CORRELATION_PRIOR
            self._squares = keep * self._squares + square @ self._averages + prior
        self._last = y

    def factors(self) -> dict[str, float]:
        """Return the estimated over the stated standard deviation, by the parameter that states it."""
        return dict(zip(self.names, np.sqrt(self._largest[0]).tolist(), strict=True))

    def report(self, *, too_small: bool) -> str:
        """Return a sentence about noise parameters that are too small or too large; empty if there are none.

        Args:
            too_small: Whether to report those that are too small, or too large.
        """
        if self._seconds.max() < KNOWN_S:
            return ""
        found = self.factors().items()
        wrong = (f for f in found if (f[1] > REPORTED if too_small else f[1] < 1.0 / REPORTED_LARGE))
        return "; ".join(noise_sentence(*one) for one in wrong)


def noise_sentence(parameter: str, seen: float) -> str:
    """Return a sentence about how much too small or too large a stated standard deviation is.

    Args:
        parameter: Name of the parameter.
        seen: Estimated over stated standard deviation.
    """
    if seen >= 1.0:
        return f"{parameter} is about {seen:.1f} times too small"
    return f"{parameter} is about {1.0 / seen:.1f} times too large"
