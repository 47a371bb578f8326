"""Noise of groups of rows, adapted to the innovations that are seen.

The stated covariance R_0 of the measurement is scaled, R = D R_0 D, by one factor s_g for all rows of a
group g that share a noise parameter. With the innovation y and its covariance S = H P H' + R, the
expectation of the squared noise of row i given y is, by the marginal of that row,

    E[e_i^2 | y_i] = R_ii (1 + R_ii / S_ii (y_i^2 / S_ii - 1)),

one step of expectation maximisation: its mean over a group, relative to R_0, estimates s_g^2. Where the
parameters are still unknown (S much larger than R) an innovation says nothing about the noise, and the
estimate stays. A plain y_i^2 - (H P H')_ii has the same expectation but is negative half of the time there.

The estimate is a mean over `noise_adaptation.window` of accepted and rejected measurements, since a gate on
mis-stated noise rejects one-sidedly. One normalised innovation counts at most `LARGEST`, and the filter's
watch may excuse suspect data as those of a fault: up to `MOST_EXCUSED` seconds, and `SHARE_EXCUSED` of all
time.

The factor in use follows the estimate at once where it rises: noise stated too small makes the gate reject
good data. It falls with a longer time constant, because noise at rest is smaller than in motion, and noise
stated too large only slows learning down.

The gate judges by the NIS that is seen: its bound is the quantile of a scaled chi-square distribution with
the mean and variance of the NIS (Welch-Satterthwaite), where that is larger than with Gaussian noise.
"""

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from inertial_estimation.compilation import (
    Column,
    MutableColumn,
    MutableTable,
    Table,
    compiled,
    warm_up,
)
from inertial_estimation.estimators.inertial.filter_values import FilterUpdate
from inertial_estimation.estimators.inertial.nis_spread import NisSpread
from inertial_estimation.estimators.inertial.noise_config import NoiseAdaptationConfig
from inertial_estimation.models.dynamics_measurement import LinearEquation
from inertial_estimation.models.measurement_rows import BASE_ROWS
from inertial_estimation.signals import Array

LARGEST = 9.0  # a single normalised innovation squared counts at most as three sigma: an outlier is no noise
PERIOD = 0.02  # between two innovations that count: windows overlap, so closer ones tell the same [s]
FIRST = 0.05  # weight of the stated noise at the start, as time of data [s]
MOST_EXCUSED = 2.0  # time of suspect data that need not be noise [s]
SHARE_EXCUSED = 0.1  # of all time, the same in the long run
LOOSEST = 8.0  # factor on the gate's bound for noise below the stated one, as `watch.suspect` by default
REPORTED = 30.0  # largest factor that is reported
YOUNG = 0.5  # time of data below which one bad reading would weigh too much in the NIS seen [s]


class AdaptiveNoise:
    """Estimates the noise of groups of rows and scales the stated covariance by it.

    Attributes:
        config: Time constants and limits.
        gate_factor: Factor of the gate's chi-square bound that the NIS seen calls for, >= 1.
    """

    def __init__(self, row_names: Sequence[str], quantile: float, config: NoiseAdaptationConfig) -> None:
        """Begin with the stated noise.

        Args:
            row_names: Names of the measurement rows.
            quantile: Quantile of the gate.
            config: Time constants and limits.
        """
        self.config = config
        groups = _groups(row_names)
        self._names = tuple(groups)
        self._group_of = np.empty(len(row_names))
        for i, rows in enumerate(groups.values()):
            self._group_of[rows] = i
        self._used_scales = np.ones((len(row_names),) * 2)
        warm_up()
        self._spread = NisSpread(len(row_names), quantile)
        self._used: Array = np.ones(len(groups))
        self._scales: Array | None = None
        self._factors: Mapping[str, tuple[float, float]] | None = None  # since the last change
        self.reset()

    def reset(self) -> None:
        """Return to the stated noise."""
        self._estimate: Array = np.ones(len(self._names))
        self._seen = FIRST
        self._waited = self._excuse = 0.0
        self._spread.reset()
        self._use_stated()

    @property
    def is_settled(self) -> bool:
        """Whether a whole window of data has been seen."""
        return self._seen >= self.config.window

    def factors(self) -> Mapping[str, tuple[float, float]]:
        """Return the standard deviation seen and used over the stated one, by the parameter of the rows."""
        if self._factors is None:
            sqrt, lowest, highest = math.sqrt, REPORTED**-2, REPORTED**2
            self._factors = {
                name: (sqrt(min(max(seen, lowest), highest)), sqrt(used))
                for name, seen, used in zip(
                    self._names, self._estimate.tolist(), self._used.tolist(), strict=True
                )
            }
        return self._factors

    def too_small(self, nis_factor: float) -> str:
        """Return which noise parameters are too small; empty if none is, or too few data have been seen.

        Args:
            nis_factor: Factor of the variance from which on it is reported.
        """
        return self._sentences(lambda variance: variance > nis_factor)

    def too_large(self, nis_factor: float) -> str:
        """Return which noise parameters are too large; empty if none is, or too few data have been seen.

        Args:
            nis_factor: Factor of the variance from which on it is reported.
        """
        return self._sentences(lambda variance: variance * nis_factor < 1.0)

    def scaled(self, equation: LinearEquation) -> LinearEquation:
        """Return an equation with the noise in use, R = D R_0 D, instead of the stated one."""
        if self._scales is None:
            return equation
        return equation.with_noise(self._scales * equation.noise)

    def feed(self, update: FilterUpdate, equation: LinearEquation, dt: float, *, suspect: bool) -> None:
        """Learn from one innovation.

        Args:
            update: Innovation and its variance.
            equation: The measurement with the noise in use.
            dt: Time since the last one [s].
            suspect: Whether it may be that of a fault or of a new load.
        """
        self._waited += dt
        if self._waited < PERIOD:
            return
        dt, self._waited = self._waited, 0.0
        if suspect and self._excuse >= dt:
            self._excuse -= dt
            return
        self._excuse = min(MOST_EXCUSED, self._excuse + SHARE_EXCUSED * dt)
        self._seen = min(self._seen + dt, self.config.window)
        share = min(dt / self._seen, 1.0)
        variance = np.ascontiguousarray(update.variance)
        groups = self._group_of, self._used, self._estimate
        if not _learn(update.innovation, variance, equation.noise, *groups, share):
            return
        self._factors = None
        self._spread.feed(update.nis, share, starting=self._seen < YOUNG)
        if self.config.enabled:
            self._follow(dt)
        else:
            self._use_stated()

    def _follow(self, dt: float) -> None:
        """Let the noise in use rise to the estimate at once, and fall to it slowly."""
        release = self.config.release * self._seen / self.config.window
        groups, limit = (self._group_of, self._estimate, self._used), self.config.largest**2
        mean = _follow(*groups, min(dt / release, 1.0), limit, self._used_scales)
        self._scales = self._used_scales
        self.gate_factor = max(self._spread.gate_factor, min(1.0 / mean, LOOSEST))

    def _sentences(self, reported: Callable[[float], bool]) -> str:
        settled = self.factors() if self.is_settled else {}
        return "; ".join(
            noise_sentence(name, seen) for name, (seen, _) in settled.items() if reported(seen**2)
        )

    def _use_stated(self) -> None:
        self._used = np.ones(len(self._names))
        self._scales = None
        self._factors = None
        self.gate_factor = 1.0


@compiled
def _learn(
    innovation: Column,
    variance: Column,
    noise: Table,
    group_of: Column,
    used: Column,
    estimate: MutableColumn,
    share: float,
) -> bool:
    """Take one innovation into the estimates of all groups; return whether its numbers are finite.

    Args:
        innovation: Shape (m,).
        variance: Of its rows, shape (m,).
        noise: Covariance of the noise in use, shape (m, m).
        group_of: Number of the group of each row, shape (m,).
        used: Variances in use over the stated ones, shape (number of groups,).
        estimate: Those estimated, of the same shape; changed.
        share: Weight of this innovation in the estimate.
    """
    ratio, rows = np.zeros(len(used)), np.zeros(len(used))
    for i in range(len(innovation)):
        if not (variance[i] > 0.0 and abs(innovation[i]) >= 0.0):  # false for NaN
            return False
        group = int(group_of[i])
        known = min(noise[i, i] / variance[i], 1.0)
        largest = LARGEST * max(estimate[group] / used[group], 1.0)
        normalised = min(innovation[i] * innovation[i] / variance[i], largest)
        ratio[group] += 1.0 + known * (normalised - 1.0)
        rows[group] += 1.0
    if not math.isfinite(ratio.sum()):
        return False
    for group in range(len(used)):
        seen = used[group] * ratio[group] / rows[group]
        estimate[group] += share * (seen - estimate[group])
    return True


@compiled
def _follow(
    group_of: Column,
    estimate: Column,
    used: MutableColumn,
    share: float,
    limit: float,
    scales: MutableTable,
) -> float:
    """Let the variances in use rise to the estimates at once, and fall to them slowly.

    Args:
        group_of: Number of the group of each row, shape (m,).
        estimate: Variances estimated over the stated ones, shape (number of groups,).
        used: Those in use, of the same shape; changed.
        share: Of the difference, by which they fall.
        limit: Largest one, and the inverse of the smallest one.
        scales: Written: factors of the covariance of the noise, shape (m, m).

    Returns:
        Mean of the variances in use over all rows.
    """
    for group in range(len(used)):
        falling = used[group] + share * (estimate[group] - used[group])
        used[group] = min(max(estimate[group], falling, 1.0 / limit), limit)
    scale, total = np.empty(len(group_of)), 0.0
    for i in range(len(group_of)):
        variance = used[int(group_of[i])]
        scale[i] = math.sqrt(variance)
        total += variance
    scales[:] = scale.reshape(-1, 1) * scale
    return total / len(group_of)


def noise_sentence(parameter: str, seen: float) -> str:
    """Return how much too small or too large a stated standard deviation is.

    Args:
        parameter: Name of the parameter.
        seen: Standard deviation that the innovations show over the stated one.
    """
    if seen >= 1.0:
        return f"{parameter} is about {seen:.1f} times too small"
    return f"{parameter} is about {1.0 / seen:.1f} times too large"


def _groups(row_names: Sequence[str]) -> dict[str, list[int]]:
    """Return the positions of the rows by the parameter that determines most of their noise."""
    groups: dict[str, list[int]] = {}
    for position, name in enumerate(row_names):
        parameter = "noise.torque"
        if name in BASE_ROWS:
            parameter = "noise.base_force" if "force" in name else "noise.base_moment"
        elif name.startswith("projected_"):
            parameter = "noise"
        groups.setdefault(parameter, []).append(position)
    return groups
