"""Files that the command replay writes."""

import sys
from pathlib import Path

import numpy as np

from inertial_estimation.configuration.node_names import INERTIAL_NODE, PAYLOAD_NODE, TILT_NODE
from inertial_estimation.configuration.pipelines import Pipelines
from inertial_estimation.estimators.payload.payload_telemetry import PayloadTelemetry
from inertial_estimation.estimators.telemetry import InertialTelemetry, TiltTelemetry
from inertial_estimation.files.outputs import write_text
from inertial_estimation.models.estimated_model import POSTERIOR_FILE
from inertial_estimation.replay.replay_metrics import ReplayResults
from inertial_estimation.replay.replay_run import ReplayRun
from inertial_estimation.replay.result_files import (
    BASE_FILE,
    ERRORS_FILE,
    ESTIMATES_BAG,
    FIGURES,
    LINK_FILE,
    METRICS_FILE,
    REPORT_FILE,
    STATE_FILE,
    TABLES,
    TELEMETRY_FILES,
    TRUNK_FILE,
    write_base_orientation,
    write_link_inertias,
    write_metrics,
    write_trunk_inertia,
)
from inertial_estimation.replay.result_tables import write_base_errors, write_base_state, write_telemetry

OWN_FILES = (*TABLES, ESTIMATES_BAG, METRICS_FILE, REPORT_FILE, *FIGURES)


def write_results(folder: Path, evaluation: ReplayResults, *, figures: bool) -> None:
    """Write metrics, figures and report of a replay.

    Args:
        folder: Existing folder.
        evaluation: Series and metrics.
        figures: Whether figures and the report are written.
    """
    write_metrics(folder / METRICS_FILE, evaluation.metrics)
    if figures:
        _write_figures(folder, evaluation)


def write_tables(folder: Path, run: ReplayRun, evaluation: ReplayResults, pipelines: Pipelines) -> None:
    """Write the estimates as tables.

    Args:
        folder: Existing folder.
        run: The replay.
        evaluation: Series and metrics.
        pipelines: What was replayed.
    """
    time, tilt, inertial = evaluation.time, evaluation.tilt, evaluation.inertial
    if len(tilt.stamps_ns) and pipelines.tilt is not None:
        write_base_orientation(folder / BASE_FILE, tilt)
        write_base_state(folder / STATE_FILE, tilt, time)
        figures = TiltTelemetry(pipelines.tilt.contacts)
        write_telemetry(folder / TELEMETRY_FILES[TILT_NODE], figures, run.base, tilt.stamps_ns, time)
    if evaluation.tilt_errors is not None:
        write_base_errors(folder / ERRORS_FILE, evaluation.tilt_errors, evaluation.base_errors, time)
    if len(inertial.stamps_ns) and pipelines.inertial is not None:
        write_link_inertias(folder / LINK_FILE, inertial)
        model, noise = pipelines.inertial.model, pipelines.inertial.noise_parameters
        names = [link.link for link in inertial.links]
        links = InertialTelemetry(names, model.friction_names, noise, model.error_names)
        path = folder / TELEMETRY_FILES[INERTIAL_NODE]
        write_telemetry(path, links, run.inertial, inertial.stamps_ns, time)
        write_text(folder / POSTERIOR_FILE, pipelines.inertial.estimated_model().json_text())
    if evaluation.payload is not None and pipelines.payload is not None:
        write_trunk_inertia(folder / TRUNK_FILE, evaluation.payload)
        stamps = np.array([estimate.stamp_ns for estimate in run.payload], dtype=np.int64)
        trunk = PayloadTelemetry(pipelines.payload.trunk)
        write_telemetry(folder / TELEMETRY_FILES[PAYLOAD_NODE], trunk, run.payload, stamps, time)


def _write_figures(folder: Path, evaluation: ReplayResults) -> None:
    try:
        from inertial_estimation.plots.replay_figures import replay_figures, write_figures
        from inertial_estimation.plots.replay_report import write_replay_report
    except ImportError as error:
        print(f"no figures and no report: {error} (pip install matplotlib jinja2)", file=sys.stderr)
        return
    figures = write_figures(folder, replay_figures(evaluation))
    write_replay_report(folder / REPORT_FILE, evaluation, figures)
