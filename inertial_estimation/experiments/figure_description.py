"""What a figure shows, described without drawing it: panels of curves, spans and levels."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from inertial_estimation.errors import ConfigurationError, listing
from inertial_estimation.signals import Array, frozen_array

STYLES = ("line", "thin", "dashed", "dotted", "steps", "points", "reference")
MAX_POINTS = 4000  # per curve; more cannot be seen


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """One curve. Curves of one label have one colour in the whole figure, and one entry in its legend."""

    label: str  # empty for no entry in the legend
    x: Array  # shape (n,)
    y: Array  # shape (n,); NaN interrupts the curve
    style: str = "line"  # one of `STYLES`; "reference" is wide and grey, under the others
    low: Array | None = None  # lower edge of a band around it, shape (n,)
    high: Array | None = None  # upper edge, given together with `low`
    colour: int | None = None  # place in the palette; None takes the next one

    def __post_init__(self) -> None:
        if self.style not in STYLES:
            raise ConfigurationError(
                f"the style of the curve '{self.label}' is '{self.style}', expected one of: {listing(STYLES)}"
            )
        if (self.low is None) != (self.high is None):
            raise ConfigurationError(f"the band of the curve '{self.label}' has one edge, expected two")
        object.__setattr__(self, "x", frozen_array("x", self.x))
        for name in ("y", "low", "high"):
            values = getattr(self, name)
            if values is not None:
                object.__setattr__(
                    self, name, frozen_array(f"{name} of '{self.label}'", values, self.x.shape)
                )


class Span(NamedTuple):
    """A shaded interval of the abscissa, such as the time of a push; its label may be empty."""

    start: float
    end: float
    label: str = ""


class Level(NamedTuple):
    """A horizontal line, such as a bound; its label may be empty."""

    value: float
    label: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """One pair of axes."""

    title: str
    x_label: str  # with the unit; panels with the same one share their limits
    y_label: str  # with the unit
    series: Sequence[Series]
    spans: Sequence[Span] = ()
    levels: Sequence[Level] = ()
    y_limits: tuple[float, float] | None = None  # None fits them to the curves
    log: bool = False  # whether the ordinate is logarithmic


def thinned(label: str, x: ArrayLike, y: ArrayLike, style: str = "line", colour: int | None = None) -> Series:
    """Return a curve thinned to every n-th point, to the number that a figure can resolve."""
    xs, ys = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    step = -(-len(xs) // MAX_POINTS) or 1
    return Series(label, xs[::step], ys[::step], style, colour=colour)
