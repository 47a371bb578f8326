"""Time shift between two series by the best agreement, with its standard deviation from parts of the data.

Sums over each part of the data and each lag are kept, from which the agreement of all data and of all but one
part follows: the jackknife, which needs no model of how the noise is correlated.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from inertial_estimation.bring_up.uniform_signals import STEP_S
from inertial_estimation.signals import Array

PARTS = 6  # of the data, left out one after the other
MOST_S = 0.3  # longest shift that is looked for
MOST = round(MOST_S / STEP_S)
LAGS = np.arange(-MOST, MOST + 1)


@dataclass(frozen=True, eq=False)
class Lag:
    """How much later a series is than another one.

    Attributes:
        seconds: The shift; positive where the second series comes later.
        sigma: Its standard deviation [s].
        score: Agreement after the shift, at most 1.
        unshifted: Agreement as recorded.
        curve: Agreement at `LAGS`, shape (len(LAGS),).
    """

    seconds: float
    sigma: float
    score: float
    unshifted: float
    curve: Array

    @property
    def words(self) -> str:
        """The shift with its standard deviation, to be read."""
        sigma_ms = float(f"{1e3 * self.sigma:.1g}")  # one digit, and 10, not 1e+01
        return f"{1e3 * self.seconds:+.0f} ms (sigma {sigma_ms:g})"

    @property
    def at_edge(self) -> bool:
        """Whether the best agreement is at the longest shift looked for."""
        return abs(self.seconds) > MOST_S - 1.5 * STEP_S


def lagged(values: Array, lag: int) -> Array:
    """Return values[i + lag] at i, NaN where there is none, shape as values."""
    moved = np.full_like(values, np.nan)
    n = len(values)
    if abs(lag) < n:
        moved[max(0, -lag) : n - max(0, lag)] = values[max(0, lag) : n - max(0, -lag)]
    return moved


def best_lag(sums: Array, score: Callable[[Array], Array]) -> Lag:
    """Find the lag of best agreement.

    Args:
        sums: Sums of products over each part of the data at each lag, shape (PARTS, len(LAGS), ...).
        score: From sums over parts, shape (len(LAGS), ...), to the agreement, shape (len(LAGS),).

    Returns:
        The lag; its deviation is infinite where leaving out a part changes it to one at the edge.
    """
    total = sums.sum(axis=0)
    curve = np.nan_to_num(score(total), nan=-1.0)
    best = _peak(curve)
    without = np.array([_peak(np.nan_to_num(score(total - part), nan=-1.0)) for part in sums])
    spread = float(np.sum((without - without.mean()) ** 2)) * (PARTS - 1) / PARTS
    return Lag(best * STEP_S, math.sqrt(spread) * STEP_S, float(curve.max()), float(curve[MOST]), curve)


def _peak(curve: Array) -> float:
    """Return the lag of the maximum in steps, by a parabola through its neighbours."""
    i = int(np.argmax(curve))
    if not 0 < i < len(curve) - 1:
        return float(LAGS[i])
    before, at, after = curve[i - 1 : i + 2].tolist()
    bend = before - 2.0 * at + after
    return float(LAGS[i]) + (0.5 * (before - after) / bend if bend < 0.0 else 0.0)
