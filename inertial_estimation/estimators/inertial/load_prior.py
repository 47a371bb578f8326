"""Probability of the mass and the place of a load on a body, beyond the prior of the regression.

The regression (`cause_bank`) knows mass and first moment of a load as independent and normal, whatever the
body. Here its posterior is weighed with what is known of loads: the integral of the likelihood under the
better prior, relative to the one under the prior of the regression.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from inertial_estimation.estimators.inertial.cause_bank import CauseFit, NoiseScale
from inertial_estimation.estimators.inertial.locator_config import LocatorConfig
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra

LOST = 0.1  # share of a load that may come off in addition to it
OWN_MASS = 0.5  # share of the body's own mass that can come off
RARE = 1e-4  # prior probability that a body loses some of its own mass: a push upwards is far more frequent
PRESSING = 0.1  # share of pushes that press down so steadily that at rest they equal a load
POINT = 1e-6  # smallest variance of the place, in squared units of the expected distance


def log_pressing(age: float, config: LocatorConfig) -> float:
    """Return the log odds of a push that presses down as a load at rest does, against that load, before data.

    On a robot that does not move no data distinguish the two, so only the duration does. A published mass
    that follows a push is worse than one that follows a load late, hence the odds stay the same for
    `steady_push`; afterwards such a push is as rare as any other that has lasted as long.

    Args:
        age: Time since the cause has begun [s].
        config: Durations of pushes.
    """
    lasting = 0.0 if age < config.steady_push else -age / config.push_duration
    return math.log(PRESSING) + lasting


@dataclass(frozen=True, slots=True, eq=False)
class LoadPrior:
    """What is known of a load on each of n bodies before the data.

    Attributes:
        masses: Nominal masses of the bodies [kg], shape (n,).
        carried: Loads that they carry at present and can lose [kg], shape (n,).
        spread: Covariance of the place of a load about the centre of mass of its body, in squared units of
            `lever`, shape (n, 3, 3).
        unit: Unit of the mass in the regression [kg]; that of the first moment is `unit` times `lever`.
    """

    masses: Array
    carried: Array
    spread: Array
    unit: float

    def at(self, bodies: NDArray[np.int64]) -> "LoadPrior":
        """Return the prior of loads on some of the bodies.

        Args:
            bodies: Their numbers, shape (k,).
        """
        return LoadPrior(self.masses[bodies], self.carried[bodies], self.spread[bodies], self.unit)

    @property
    def most_lost(self) -> Array:
        """Largest load that can come off each body [kg], shape (n,)."""
        most: Array = (1.0 + LOST) * np.maximum(self.carried, 0.0)
        return most

    def log_mass(self, fit: CauseFit, total: float, scale: NoiseScale, *, own: bool = True) -> Array:
        """Return the logarithm of the probability of the mass, relative to either sign alike, shape (n,).

        A load has a positive mass, and one that comes off at most that which the body carries; rarely the
        body loses some of its own.

        Args:
            fit: The regression on a load on each body.
            total: Number of independent residuals that it has seen.
            scale: Prior of the noise.
            own: Whether the body can lose some of its own mass.
        """
        covariance = _covariance(fit, total, scale)
        mass = self.unit * fit.amplitudes[:, 0]
        sigma = self.unit * np.sqrt(np.maximum(covariance[:, 0, 0], np.finfo(float).tiny))
        usual: Array = log_ndtr((mass + self.most_lost) / sigma) + np.log(2.0)
        if not own:
            return usual
        rare = log_ndtr((mass + self.most_lost + OWN_MASS * self.masses) / sigma)
        logs: Array = np.logaddexp(usual, rare + np.log(2.0 * RARE))
        return logs

    def log_place(self, fit: CauseFit, total: float, scale: NoiseScale) -> Array:
        """Return the logarithm of the probability of the place, relative to that of any first moment.

        A load of mass m sits on its body, so its first moment h is normal with the covariance m^2 `spread`,
        not with that of the regression, one.

        Args:
            fit: The regression on a load on each body.
            total: Number of independent residuals that it has seen.
            scale: Prior of the noise.

        Returns:
            Shape (n,).
        """
        covariance = _covariance(fit, total, scale)
        h, P = fit.amplitudes[:, 1:], covariance[:, 1:, 1:]
        square = fit.amplitudes[:, 0] ** 2 + covariance[:, 0, 0]
        near = square[:, None, None] * (self.spread + POINT * np.eye(3))
        logs: Array = _log_normal(h, P + near) - _log_normal(h, P + np.eye(3))
        return logs


def _covariance(fit: CauseFit, total: float, scale: NoiseScale) -> Array:
    """Return the covariance of mass and first moment of each load, shape (n, 4, 4)."""
    noise = scale.strength * scale.variance
    variance = (noise + fit.rss) / (scale.strength + total)
    covariance: Array = variance[:, None, None] * fit.covariance
    return covariance


def _log_normal(values: Array, covariances: Array) -> Array:
    """Return the logarithm of normal densities of mean zero without their common constant, shape (n,).

    Args:
        values: Shape (n, d).
        covariances: Shape (n, d, d).
    """
    solved = linear_algebra.solve(covariances, values[:, :, None])[:, :, 0]
    logs: Array = -0.5 * (values * solved).sum(axis=1) - 0.5 * np.log(np.linalg.det(covariances))
    return logs
