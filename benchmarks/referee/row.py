"""A row of the referee's table, and how rows of several seeds become one."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any

import numpy as np


class Better(str, Enum):
    """Which values of a row are good."""

    LOWER = "lower"
    HIGHER = "higher"
    INFO = "info"


@dataclass(frozen=True)
class Row:
    """One figure.

    Attributes:
        key: Its name, the same in every run.
        value: The figure; NaN where there is none, which `note` explains.
        unit: Its unit.
        better: Which values are good.
        spread: Difference that means nothing: the range over seeds or runs, or a stated tolerance.
        note: What has to be known of it; empty: nothing.
    """

    key: str
    value: float
    unit: str
    better: Better = Better.LOWER
    spread: float = 0.0
    note: str = ""

    @property
    def as_dict(self) -> dict[str, Any]:
        """What is stored."""
        return {**asdict(self), "better": self.better.value}

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> "Row":
        """Return a row as it was stored."""
        return cls(**{**stored, "better": Better(stored["better"])})


def exact(
    key: str, value: float, unit: str, better: Better = Better.LOWER, *, tolerance: float = 0.01
) -> Row:
    """Return a row without randomness."""
    return Row(key, float(value), unit, better, spread=tolerance * abs(float(value)))


def over_seeds(
    key: str, values: Sequence[float], unit: str, better: Better = Better.LOWER, *, least: float = 0.0
) -> Row:
    """Return the median over seeds or runs, with their range as its spread."""
    found = np.asarray(values, dtype=float)
    return Row(key, float(np.median(found)), unit, better, spread=max(float(np.ptp(found)), least))


def share(key: str, hits: Sequence[bool], better: Better = Better.HIGHER) -> Row:
    """Return a percentage of cases, with the standard deviation of a binomial share as its spread."""
    n = max(len(hits), 1)
    p = (sum(hits) + 1.0) / (n + 2.0)  # the share expected after them; never without doubt
    spread = 100.0 * float(np.sqrt(p * (1.0 - p) / n))
    return Row(key, 100.0 * sum(hits) / n, "%", better, spread, note=f"of {len(hits)}")
