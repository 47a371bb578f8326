"""Mean normalised innovation of groups of rows against its expectation: whether the noise parameters fit."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from inertial_estimation.models.measurement_rows import BASE_ROWS
from inertial_estimation.signals import Array

__all__ = ["InnovationMonitor", "NoiseReport"]

LARGEST = 100.0  # a single normalised innovation squared counts at most this much: an outlier is no noise


@dataclass(frozen=True, slots=True)
class NoiseReport:
    """Mean normalised innovation squared of a group of rows, expected to be 1.

    Attributes:
        parameter: Parameter that determines most of the group's noise.
        ratio: Mean of y_i^2 / S_ii over rows and time.
    """

    parameter: str
    ratio: float

    @property
    def sentence(self) -> str:
        """How much too small or too large the standard deviation is."""
        if self.ratio >= 1.0:
            return f"{self.parameter} is about {math.sqrt(self.ratio):.1f} times too small"
        return f"{self.parameter} is about {1.0 / math.sqrt(max(self.ratio, 1e-12)):.1f} times too large"


class InnovationMonitor:
    """Averages the normalised innovation squared of every row, y_i^2 / S_ii, with a slow time constant.

    It is 1 where noise and prior are as configured. The mean of a group of rows that share a noise parameter
    is the factor by which that variance is too small.

    Attributes:
        window: Time constant of the mean [s].
        mean: Mean of each row, shape (m,).
    """

    def __init__(self, row_names: Sequence[str], window: float) -> None:
        """Start without data.

        Args:
            row_names: Names of the measurement rows.
            window: Time constant of the mean [s].
        """
        self.window = window
        self._groups = _groups(row_names)
        self._rows = len(row_names)
        self.reset()

    def reset(self) -> None:
        """Discard all data."""
        self.mean: Array = np.ones(self._rows)
        self._seen = 0.0

    def feed(self, innovation: Array, variance: Array, dt: float) -> None:
        """Add one innovation.

        Args:
            innovation: Measured minus predicted, shape (m,).
            variance: Its variances S_ii, shape (m,).
            dt: Time since the last one [s].
        """
        self._seen = min(self._seen + dt, self.window)
        share = dt / (self._seen + dt) if self._seen < self.window else min(dt / self.window, 1.0)
        normalised = np.minimum(innovation * innovation / variance, LARGEST)
        self.mean = self.mean + share * (normalised - self.mean)

    @property
    def is_settled(self) -> bool:
        """Whether a whole window has been averaged."""
        return self._seen >= self.window

    def reports(self) -> tuple[NoiseReport, ...]:
        """Return the mean of every group of rows, in the order of the rows."""
        return tuple(NoiseReport(name, float(self.mean[rows].mean())) for name, rows in self._groups.items())


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
