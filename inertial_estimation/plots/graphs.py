"""Panels as interactive graphs of a page, which Plotly draws in the browser."""

import base64
import gzip
import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from plotly.offline import get_plotlyjs

from inertial_estimation.figures import (
    GREY_COLOUR,
    MAX_POINTS,
    PALETTE,
    STYLES,
    Figure,
    Panel,
    Series,
    decimated,
)
from inertial_estimation.signals import Array

HEIGHT, ROW_HEIGHT = 210, 20  # height of a graph, and of a named row [pixel]
MOST_BYTES = 2_500_000  # largest size of all curves together before compression: a page is below 6 MB
BYTES = 11  # size of a point: two numbers of four bytes, in base64


def packed(text: str) -> str:
    """Return a text as compressed base64, which the script of the page unpacks."""
    return base64.b64encode(gzip.compress(text.encode("utf-8"), mtime=0)).decode("ascii")


def packed_library() -> str:
    """Return the script of Plotly, packed."""
    return packed(get_plotlyjs())


def packed_graphs(figures: Sequence[Figure]) -> str:
    """Return the graphs of all panels in order, packed: traces and layout of each."""
    curves = sum(3 if one.low is not None else 1 for f in figures for p in f.panels for one in p.series)
    points = int(np.clip(MOST_BYTES // (BYTES * max(curves, 1)), MAX_POINTS // 10, MAX_POINTS))
    graphs = []
    for figure in figures:
        colours: dict[str, str] = {}
        graphs += [_graph(panel, colours, points) for panel in figure.panels]
    return packed(json.dumps(graphs, separators=(",", ":")))


def _graph(panel: Panel, colours: dict[str, str], points: int) -> dict[str, Any]:
    traces = [trace for one in panel.series for trace in _traces(panel, decimated(one, points), colours)]
    return {"data": traces, "layout": _layout(panel)}


def _traces(panel: Panel, one: Series, colours: dict[str, str]) -> Iterator[dict[str, Any]]:
    """Yield the edges of the band of a curve, filled between them, and the curve."""
    colour = one.colour_in(colours)
    trace: dict[str, Any] = {"x": _numbers(one.x), "y": _numbers(one.y), "name": one.label}
    trace |= {"showlegend": bool(one.label), "legendgroup": one.label or None}
    style = STYLES[one.style]
    if style.marker:
        symbol = {"size": style.width, "symbol": style.marker, "color": colour}
        trace |= {"mode": "markers", "marker": symbol}
    else:
        shape = "hv" if one.style == "steps" else "linear"
        line = {"width": style.width, "dash": style.dash, "shape": shape, "color": colour}
        trace |= {"mode": "lines", "line": line, "opacity": style.opacity}
    if one.low is not None and one.high is not None:
        if panel.rows:
            above, below = _numbers(one.high - one.x), _numbers(one.x - one.low)
            width = {"type": "data", "array": above, "arrayminus": below, "width": 3}
            trace["error_x"] = {**width, "symmetric": False, "color": colour}
        else:
            yield from _band(one, colour)
    yield trace


def _band(one: Series, colour: str) -> Iterator[dict[str, Any]]:
    assert one.low is not None
    assert one.high is not None
    known = np.isfinite(one.low) & np.isfinite(one.high)
    edge = {"mode": "lines", "line": {"width": 0}, "showlegend": False, "hoverinfo": "skip"}
    edge |= {"legendgroup": one.label or None, "x": _numbers(one.x[known])}
    yield {**edge, "y": _numbers(one.low[known])}
    channels = ",".join(str(int(colour[i : i + 2], 16)) for i in (1, 3, 5))
    yield {**edge, "y": _numbers(one.high[known]), "fill": "tonexty", "fillcolor": f"rgba({channels},0.2)"}


def _layout(panel: Panel) -> dict[str, Any]:
    limits = panel.visible()
    y_axis: dict[str, Any] = {"title": {"text": panel.y_label}, "automargin": True, "zeroline": False}
    x_axis: dict[str, Any] = {"title": {"text": panel.x_label, "standoff": 6}, "zeroline": False}
    height = HEIGHT
    if panel.rows:
        count = len(panel.rows)
        y_axis |= {"tickvals": list(range(count)), "ticktext": list(panel.rows), "range": [count - 0.4, -0.6]}
        height = HEIGHT // 3 + ROW_HEIGHT * count
    elif panel.log:
        y_axis |= {"type": "log", "exponentformat": "power", "dtick": 1}
        if limits is not None:
            y_axis["range"] = np.log10(limits).tolist()
    elif limits is not None:
        y_axis["range"] = list(limits)
    if panel.log_x:
        x_axis |= {"type": "log", "exponentformat": "power"}
    if panel.x_limits is not None:
        x_axis["range"] = list(panel.x_limits)
    return {
        "height": height,
        "xaxis": x_axis,
        "yaxis": y_axis,
        "shapes": list(_shapes(panel)),
        "hovermode": "closest" if panel.rows else "x unified",
    }


def _shapes(panel: Panel) -> Iterator[dict[str, Any]]:
    for span in panel.spans:
        area = {"type": "rect", "x0": span.start, "x1": span.end, "yref": "paper", "y0": 0, "y1": 1}
        fill = {"fillcolor": "rgba(154,154,154,0.28)", "line": {"width": 0}, "layer": "below"}
        yield {**area, **fill, **_named(span.label)}
    for level in panel.levels:
        line = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": level.value, "y1": level.value}
        yield {**line, "line": {"color": GREY_COLOUR, "width": 1, "dash": "dot"}, **_named(level.label)}
    colours: dict[str, str] = {}
    for mark in panel.marks:  # of marks with the same label, only the first has an entry in the legend
        line = {"type": "line", "yref": "paper", "y0": 0, "y1": 1, "x0": mark.value, "x1": mark.value}
        named = _named("" if mark.label in colours else mark.label)
        colour = colours.setdefault(mark.label, PALETTE[(1 + len(colours)) % len(PALETTE)])
        yield {**line, "line": {"color": colour, "width": 1, "dash": "dash"}, **named}


def _named(label: str) -> dict[str, Any]:
    """Return an entry in the legend; none without a label."""
    return {"name": label, "showlegend": True} if label else {}


def _numbers(values: Array) -> dict[str, str]:
    """Return an array in Plotly's format: single precision, in base64."""
    return {"dtype": "f4", "bdata": base64.b64encode(values.astype("<f4").tobytes()).decode("ascii")}
