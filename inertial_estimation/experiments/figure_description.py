"""What a figure shows, described without drawing it: panels of curves, spans and levels."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from inertial_estimation.errors import ConfigurationError, listing
from inertial_estimation.signals import Array, frozen_array

STYLES = ("line", "thin", "dashed", "dotted", "steps", "points", "reference")
MAX_POINTS = 4000  # per curve; more cannot be seen


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """One curve. Curves of one label have one colour in the whole figure, and one entry in its legend.

    Attributes:
        label: What it is; empty for no entry in the legend.
        x: Abscissae, shape (n,).
        y: Ordinates, shape (n,); NaN interrupts the curve.
        style: One of `STYLES`; "reference" is wide and grey, under the others.
        low: Lower edge of a band around it, shape (n,); None for none.
        high: Upper edge, given together with `low`.
        colour: Place in the palette; None takes the next one.
    """

    label: str
    x: Array
    y: Array
    style: str = "line"
    low: Array | None = None
    high: Array | None = None
    colour: int | None = None

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


@dataclass(frozen=True, slots=True)
class Span:
    """A shaded interval of the abscissa, such as the time of a push.

    Attributes:
        start: Where it begins.
        end: Where it ends.
        label: What it is; empty for no entry in the legend.
    """

    start: float
    end: float
    label: str = ""


@dataclass(frozen=True, slots=True)
class Level:
    """A horizontal line, such as a bound.

    Attributes:
        value: Its ordinate.
        label: What it is; empty for no entry in the legend.
    """

    value: float
    label: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """One pair of axes.

    Attributes:
        title: What it shows.
        x_label: Abscissa with unit; panels with the same one share their limits.
        y_label: Ordinate with unit.
        series: Curves.
        spans: Shaded intervals.
        levels: Horizontal lines.
        y_limits: Limits of the ordinate; None fits them to the curves.
        log: Whether the ordinate is logarithmic.
    """

    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    spans: tuple[Span, ...] = ()
    levels: tuple[Level, ...] = ()
    y_limits: tuple[float, float] | None = None
    log: bool = False


def thinned(label: str, x: ArrayLike, y: ArrayLike, style: str = "line", colour: int | None = None) -> Series:
    """Return a curve thinned to every n-th point, to the number that a figure can resolve.

    Args:
        label: What it is.
        x: Abscissae, shape (n,).
        y: Ordinates, shape (n,).
        style: One of `STYLES`.
        colour: Place in the palette; None takes the next one.

    Returns:
        The curve.
    """
    xs, ys = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    step = -(-len(xs) // MAX_POINTS) or 1
    return Series(label, xs[::step], ys[::step], style, colour=colour)
