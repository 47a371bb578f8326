"""Figures of one replay as files."""

from pathlib import Path
from typing import Any

from inertial_estimation.plots.base_figures import figure_of_base, figure_of_bias, figure_of_tilt
from inertial_estimation.plots.inertia_figures import (
    figure_of_coms,
    figure_of_inertias,
    figure_of_masses,
    figure_of_nis,
    figures_of_torques,
)
from inertial_estimation.plots.payload_figure import figure_of_trunk
from inertial_estimation.plots.style import save
from inertial_estimation.replay.replay_metrics import ReplayResults
from inertial_estimation.replay.result_files import (
    BASE_STATE_FIGURE,
    BIAS_FIGURE,
    COM_FIGURE,
    INERTIA_FIGURE,
    MASS_FIGURE,
    NIS_FIGURE,
    TILT_FIGURE,
    TORQUE_FIGURES,
    TRUNK_FIGURE,
)


def replay_figures(evaluation: ReplayResults) -> dict[str, Any]:
    """Return the figures for which there are estimates, by the names of their files.

    Args:
        evaluation: Series and metrics of the replay.
    """
    time, tilt, inertial = evaluation.time, evaluation.tilt, evaluation.inertial
    figures: dict[str, Any] = {}
    if len(tilt.stamps_ns):
        figures[TILT_FIGURE] = figure_of_tilt(tilt, evaluation.tilt_errors, time, evaluation.forces)
        figures[BASE_STATE_FIGURE] = figure_of_base(tilt, evaluation.base_errors, time)
        figures[BIAS_FIGURE] = figure_of_bias(tilt, time)
    if len(inertial.stamps_ns):
        figures[MASS_FIGURE] = figure_of_masses(inertial, time, evaluation.truth)
        figures[COM_FIGURE] = figure_of_coms(inertial, time, evaluation.truth)
        figures[INERTIA_FIGURE] = figure_of_inertias(inertial, time, evaluation.truth)
        figures[NIS_FIGURE] = figure_of_nis(inertial, time)
    if evaluation.torques is not None:
        drawn = figures_of_torques(evaluation.torques, time)
        figures |= dict(zip(TORQUE_FIGURES, drawn, strict=False))
    if evaluation.payload is not None:
        figures[TRUNK_FIGURE] = figure_of_trunk(evaluation.payload, time, evaluation.truth)
    return figures


def write_figures(folder: Path, figures: dict[str, Any]) -> list[Path]:
    """Write figures.

    Args:
        folder: Existing folder.
        figures: By the names of their files.

    Returns:
        The files written.
    """
    return [save(figure, folder / name) for name, figure in figures.items()]
