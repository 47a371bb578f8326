"""Content of a figure, independent of a drawing library: panels of curves, spans and levels."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from inertial_estimation.errors import ConfigurationError, listing
from inertial_estimation.signals import Array, frozen_array

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")  # Okabe and Ito 2008
INK, GREY = -1, -2  # colours beside the palette: of the text, and of quantities that are not measured
INK_COLOUR, GREY_COLOUR = "#222222", "#9a9a9a"
MOST_ROWS = 12  # rows, links or torques of a recording that are drawn: the worst ones, or the best determined
MAX_POINTS = 2500  # per curve; more cannot be seen


class Style(NamedTuple):
    """Style of a curve: width of the line or size of the markers [pixel], dashes, marker, opacity."""

    width: float
    dash: str = "solid"
    marker: str = ""
    opacity: float = 1.0


STYLES = {
    "line": Style(1.6),
    "thin": Style(1.0),
    "dashed": Style(1.6, "dash"),
    "dotted": Style(1.6, "dot"),
    "steps": Style(1.6),
    "points": Style(4.0, marker="circle"),
    "crosses": Style(7.0, marker="x"),
    "circles": Style(8.0, marker="circle-open"),
    "bars": Style(9.0),
    "reference": Style(4.0, opacity=0.45),  # wide and pale, under the others
}


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """One curve. Curves of one label have one colour in the whole figure, and one entry in its legend."""

    label: str  # empty for no entry in the legend
    x: Array  # shape (n,)
    y: Array  # shape (n,); NaN interrupts the curve
    style: str = "line"  # one of `STYLES`
    low: Array | None = None  # lower edge of a band around y, shape (n,); around x in a panel with `rows`
    high: Array | None = None  # upper edge, given together with `low`
    colour: int | None = None  # place in the palette, `INK` or `GREY`; None takes the next one

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

    def colour_in(self, colours: dict[str, str]) -> str:
        """Return the colour of the curve; where it states none, that of its label or the next free one.

        Args:
            colours: Those of the labels of the figure until now, to which a new one is added.
        """
        if self.colour == GREY:
            return GREY_COLOUR
        if self.colour == INK or (self.colour is None and self.style == "reference"):
            return INK_COLOUR
        if self.colour is not None:
            return PALETTE[self.colour % len(PALETTE)]
        return colours.setdefault(self.label or f"{id(self)}", PALETTE[len(colours) % len(PALETTE)])


class Span(NamedTuple):
    """A shaded interval of the abscissa, such as the time of a push; its label may be empty."""

    start: float
    end: float
    label: str = ""


class Level(NamedTuple):
    """A horizontal line, such as a bound; its label may be empty."""

    value: float
    label: str = ""


class Mark(NamedTuple):
    """A vertical line, such as the time of an event."""

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
    marks: Sequence[Mark] = ()
    x_limits: tuple[float, float] | None = None  # None fits them to the curves
    y_limits: tuple[float, float] | None = None  # None fits them to the curves
    log: bool = False  # whether the ordinate is logarithmic
    log_x: bool = False  # whether the abscissa is
    rows: Sequence[str] = ()  # names of the places 0, 1, ... on the ordinate, from the top

    def visible(self) -> tuple[float, float] | None:
        """Return limits of the ordinate that include curves, levels, and bands but for their widest part.

        None (a logarithmic axis, or no finite value) leaves the limits to the drawing library.
        """
        if self.y_limits is not None or self.log:
            return self.y_limits
        shown = [np.array([level.value for level in self.levels])]
        for one in self.series:
            shown.append(one.y)
            if one.low is not None and one.high is not None and not self.rows:
                half = 0.5 * (one.high - one.low)
                known = half[np.isfinite(half)]
                half = np.minimum(half, np.quantile(known, 0.8) if len(known) else np.nan)
                shown += [one.y - half, one.y + half]
        values = np.concatenate(shown)
        values = values[np.isfinite(values)]
        if not len(values):
            return None
        low, high = float(values.min()), float(values.max())
        margin = max(0.06 * (high - low), 1e-3 * abs(high), 1e-9)
        return low - margin, high + margin


@dataclass(frozen=True, slots=True, eq=False)
class Figure:
    """Panels of one subject, one below the other."""

    title: str
    panels: Sequence[Panel]
    note: str = ""


def thinned(label: str, x: ArrayLike, y: ArrayLike, style: str = "line", colour: int | None = None) -> Series:
    """Return a curve of at most `MAX_POINTS` points of many; see `decimated`."""
    xs, ys = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    return decimated(Series(label, xs, ys, style, colour=colour))


def decimated(one: Series, points: int = MAX_POINTS) -> Series:
    """Return a curve of at most a number of points, of which every peak is visible.

    The smallest and the largest value of every interval that cannot be resolved are kept, in their order; a
    curve with a band keeps every n-th point.
    """
    size = -(-len(one.x) // points)
    if size < 2:
        return one
    if one.low is not None and one.high is not None:
        low, high = one.low[::size], one.high[::size]
        return replace(one, x=one.x[::size], y=one.y[::size], low=low, high=high)
    intervals = np.arange(0, len(one.x) - len(one.x) % (2 * size)).reshape(-1, 2 * size)
    pieces = one.y[intervals]
    known = np.isfinite(pieces)
    lowest = np.argmin(np.where(known, pieces, np.inf), axis=1)
    highest = np.argmax(np.where(known, pieces, -np.inf), axis=1)
    kept = (np.sort(np.stack([lowest, highest], axis=1), axis=1) + intervals[:, :1]).ravel()
    return replace(one, x=one.x[kept], y=one.y[kept])


def spans_of(x: Array, flags: NDArray[np.bool_], label: str = "") -> list[Span]:
    """Return an interval for each run of set flags; the first alone carries the label.

    Args:
        x: Abscissa of the flags, shape (n,).
        flags: The flags, shape (n,).
        label: Label of the first interval, for the legend.
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(int)))
    last = len(x) - 1
    pairs = [(float(x[i]), float(x[min(j, last)])) for i, j in zip(edges[::2], edges[1::2], strict=True)]
    return [Span(*pair, "" if number else label) for number, pair in enumerate(pairs)]
