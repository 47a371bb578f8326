"""Page of a comparison of results, and its figures."""

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from inertial_estimation.comparison.comparison import FIGURES, Comparison
from inertial_estimation.comparison.result_values import value_text
from inertial_estimation.comparison.run_result import RunResult
from inertial_estimation.configuration.node_names import INERTIAL_NODE, TILT_NODE
from inertial_estimation.files.outputs import write_text
from inertial_estimation.plots.page import NO_NUMBER, page_environment, render
from inertial_estimation.plots.style import COLOURS, TIME_LABEL, draw_band, draw_line, new_figure, tidy
from inertial_estimation.replay.result_files import ERRORS_FILE, TELEMETRY_FILES
from inertial_estimation.signals import Array

MOST_LINKS = 8  # drawn over time: those whose masses differ most between the results
LINE_STYLES = ("-", "--", "-.", ":")
Tables = Sequence[dict[str, Array]]


def write_comparison_report(path: Path, comparison: Comparison, figures: Iterable[Path]) -> Path:
    """Write the page.

    Args:
        path: File to write.
        comparison: Results side by side.
        figures: Files of the figures, PNG, which the page contains.

    Raises:
        ConfigurationError: If the file cannot be written.
    """
    environment = page_environment()
    environment.filters["shown"] = partial(value_text, nothing=NO_NUMBER, plus_minus="±")
    title = f"{' and '.join(comparison.names[:3])} compared"
    images = [(FIGURES[figure.name], figure) for figure in figures]
    return write_text(
        path, render("comparison.html", environment, title=title, comparison=comparison, images=images)
    )


def comparison_figures(comparison: Comparison) -> dict[str, Any]:
    """Return the figures for which at least one result has data, by the names of their files.

    Args:
        comparison: Results side by side.

    Raises:
        ~inertial_estimation.errors.RecordingError: If a table of a result is damaged.
    """
    names = comparison.names
    errors, tilt, inertial = (
        [result.table(file) for result in comparison.results]
        for file in (ERRORS_FILE, TELEMETRY_FILES[TILT_NODE], TELEMETRY_FILES[INERTIAL_NODE])
    )
    figures: dict[str, Any] = {}
    if any(errors):
        figures["tilt_errors.png"] = _figure_of_errors(names, errors)
    if any(tilt):
        figures["base.png"] = _figure_of_base(names, tilt)
    if any(inertial):
        figures["masses_over_time.png"] = _figure_of_masses(names, inertial)
        figures["nis.png"] = _figure_of_nis(names, inertial)
    _share_time(figures.values(), [*errors, *tilt, *inertial])
    if any(value.mass_of for result in comparison.results for value in result.values.values()):
        figures["masses_at_the_end.png"] = _figure_of_final_masses(comparison.results)
    return figures


def _style(number: int) -> dict[str, Any]:
    return {"color": COLOURS[number % len(COLOURS)], "ls": LINE_STYLES[number // len(COLOURS) % 4], "lw": 1.0}


def _figure_of_errors(names: Sequence[str], tables: Tables) -> Any:
    figure, (axis,) = new_figure(1, row_height=3.0)
    for number, (name, table) in enumerate(zip(names, tables, strict=True)):
        if table:
            values = np.where(table["trusted"] > 0.0, table["tilt_error_deg"], np.nan)
            rms = float(np.sqrt(np.nanmean(values**2)))
            draw_line(axis, table["time_s"], values, label=f"{name}, rms {rms:.3f}", **_style(number))
    axis.set_ylim(bottom=0.0)
    tidy(axis, ylabel="error [deg]", title="Tilt error against the reference")
    return figure


def _figure_of_base(names: Sequence[str], tables: Tables) -> Any:
    figure, axes = new_figure(3, row_height=2.0)
    drawn = (
        ("tilt/roll [rad]", np.degrees(1.0), "roll [deg]", "Roll"),
        ("tilt/pitch [rad]", np.degrees(1.0), "pitch [deg]", "Pitch"),
        ("gyro_bias", 1e3, "bias [mrad/s]", "Gyroscope bias, norm"),
    )
    for axis, (column, scale, ylabel, title) in zip(axes, drawn, strict=True):
        for number, (name, table) in enumerate(zip(names, tables, strict=True)):
            if table:
                values = table[column] if column in table else _bias(table)
                draw_line(axis, table["time_s"], scale * values, label=name, **_style(number))
        tidy(axis, ylabel=ylabel, title=title)
    return figure


def _bias(table: dict[str, Array]) -> Array:
    parts = [table[f"gyro_bias/{axis} [rad s^-1]"] for axis in "xyz"]
    norm: Array = np.linalg.norm(parts, axis=0)
    return norm


def _figure_of_masses(names: Sequence[str], tables: Tables) -> Any:
    links = _most_different(tables)
    figure, axes = new_figure(len(links), row_height=2.4 if len(links) < 3 else 1.8)
    for axis, link in zip(axes, links, strict=True):
        for number, (name, table) in enumerate(zip(names, tables, strict=True)):
            mass, sigma = table.get(f"mass/{link} [kg]"), table.get(f"mass_sigma/{link} [kg]")
            if mass is None or sigma is None:
                continue
            t, style = table["time_s"], _style(number)
            draw_band(axis, t, mass, 2.0 * sigma, style["color"], alpha=0.12)
            draw_line(axis, t, mass, label=f"{name}: {mass[-1]:.3f}", **style)
        _limit_to_masses(axis)
        tidy(axis, ylabel="mass [kg]", title=f"{link}, with two sigma")
    return figure


def _limit_to_masses(axis: Any) -> None:
    """Let the lines decide the range, not the bands, which begin wide."""
    values = np.concatenate([np.asarray(line.get_ydata()) for line in axis.get_lines()])
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    margin = max(0.15 * (high - low), 0.02 * abs(high), 1e-3)
    axis.set_ylim(low - margin, high + margin)


def _figure_of_nis(names: Sequence[str], tables: Tables) -> Any:
    figure, (axis,) = new_figure(1, row_height=2.8)
    for number, (name, table) in enumerate(zip(names, tables, strict=True)):
        if table:
            median = float(np.nanmedian(table["nis"]))
            label = f"{name}, median {median:.3g}"
            nis = np.maximum(table["nis"], 1e-3)
            draw_line(axis, table["time_s"], nis, label=label, alpha=0.7, **_style(number))
    axis.set_yscale("log")
    tidy(axis, ylabel="NIS [-]", title="Normalised innovation squared")
    return figure


def _figure_of_final_masses(results: Sequence[RunResult]) -> Any:
    """Draw the masses at the end as points with two sigma, one row a link."""
    masses = [[value for value in result.values.values() if value.mass_of] for result in results]
    links = list(dict.fromkeys(value.mass_of for values in masses for value in values))
    figure, (axis,) = new_figure(1, row_height=0.32 * len(links) + 0.6)
    for number, (result, values) in enumerate(zip(results, masses, strict=True)):
        shift = 0.6 * (number / max(len(results) - 1, 1) - 0.5)
        places = [links.index(value.mass_of) + shift for value in values]
        sigmas = [2.0 * (value.sigma or 0.0) for value in values]
        numbers, colour = [float(value.value) for value in values], COLOURS[number % len(COLOURS)]
        axis.errorbar(numbers, places, xerr=sigmas, fmt="o", ms=4, color=colour, label=result.name)
    axis.set_yticks(range(len(links)), links, fontsize=8)
    axis.set_ylim(len(links) - 0.4, -0.6)
    axis.set_xlabel("mass [kg]")
    tidy(axis, ylabel="", title="Masses at the end, with two sigma")
    return figure


def _links(table: dict[str, Array]) -> list[str]:
    return [name[len("mass/") : -len(" [kg]")] for name in table if name.startswith("mass/")]


def _most_different(tables: Tables) -> list[str]:
    """Return the links whose masses at the end differ most, in their order."""
    every = list(dict.fromkeys(link for table in tables for link in _links(table)))
    spread = {}
    for link in every:
        ends = [table[f"mass/{link} [kg]"][-1] for table in tables if f"mass/{link} [kg]" in table]
        spread[link] = float(np.ptp(ends))
    chosen = sorted(every, key=lambda link: -spread[link])[:MOST_LINKS]
    return [link for link in every if link in chosen]


def _share_time(figures: Iterable[Any], tables: Tables) -> None:
    """Give all figures one time axis."""
    ends = [(table["time_s"][0], table["time_s"][-1]) for table in tables if len(table.get("time_s", ()))]
    for figure in figures:
        for axis in figure.axes:
            axis.set_xlim(min(begin for begin, _end in ends), max(end for _begin, end in ends))
        figure.axes[-1].set_xlabel(TIME_LABEL)
